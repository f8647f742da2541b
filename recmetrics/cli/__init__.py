"""The command ``recmetrics``: ``demo``, ``evaluate`` and ``metrics``."""

from recmetrics.cli._command import main

__all__ = ["main"]
