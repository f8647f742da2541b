"""The command ``recmetrics``: ``demo``, ``evaluate``, ``compare`` and ``metrics``."""

from recmetrics.cli._command import main

__all__ = ["main"]
