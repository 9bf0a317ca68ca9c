"""Frozen types, enums and units. Standard library only; nothing here does I/O or reads a clock."""
