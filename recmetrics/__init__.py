"""Ranking metrics for recommender systems, per user, at the speed of reading the scores once."""

from recmetrics._compute import Metrics
from recmetrics._errors import (
    ArgumentError,
    InputError,
    InputTypeError,
    MetricSpecError,
    NaNScoreError,
    RecmetricsError,
    ShapeError,
    UndefinedMetricError,
    UnknownMetricError,
    UnknownOptionError,
)
from recmetrics._side import popularity_from
from recmetrics._warmup import warmup
from recmetrics.comparison import Comparison, compare

__version__ = "0.1.0"

__all__ = [
    "ArgumentError",
    "Comparison",
    "InputError",
    "InputTypeError",
    "MetricSpecError",
    "Metrics",
    "NaNScoreError",
    "RecmetricsError",
    "ShapeError",
    "UndefinedMetricError",
    "UnknownMetricError",
    "UnknownOptionError",
    "compare",
    "popularity_from",
    "warmup",
]
