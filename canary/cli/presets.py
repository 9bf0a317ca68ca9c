"""`canary presets`: what is known of the timers of nginx, ALB, httpx and the rest."""

from __future__ import annotations
