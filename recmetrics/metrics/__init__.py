"""Metrics: each file declares some, and fills the registry when it is imported."""
