"""Synthetic monitoring for pipelines that serve reasoning models."""

from importlib.metadata import version

__version__ = version("reasoning-canary")
