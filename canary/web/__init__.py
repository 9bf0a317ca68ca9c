"""What the daemon shows over HTTP: metrics, health, actions, the state as JSON and one page."""
