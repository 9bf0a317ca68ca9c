"""From an observation to numbers. Pure: no clock, no I/O, no asyncio."""
