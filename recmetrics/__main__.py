"""``python -m recmetrics``: the command ``recmetrics``."""

import sys

from recmetrics.cli import main

if __name__ == "__main__":
    sys.exit(main())
