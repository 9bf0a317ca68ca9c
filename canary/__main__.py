"""`python -m canary`."""

from canary.cli import main

main()
