"""A reasoning pipeline with faults on demand: five small HTTP servers on loopback, from the engine up to the UI."""
