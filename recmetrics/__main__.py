"""``python -m recmetrics``: the command ``recmetrics``."""

import sys

from recmetrics.cli import main

sys.exit(main())
