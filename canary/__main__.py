"""`python -m canary`."""

import sys

from canary.cli import console

sys.exit(console())
