"""The part that talks to targets: one request, one observation."""
