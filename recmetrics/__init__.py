"""Ranking metrics for recommender systems, one value per user, close to memory speed."""

import importlib
import typing

from recmetrics._core.errors import (
    ArgumentError,
    DeviceMemoryError,
    InputError,
    InputTypeError,
    MetricSpecError,
    NaNScoreError,
    RecmetricsError,
    RecmetricsWarning,
    ShapeError,
    UndefinedMetricError,
    UnknownMetricError,
    UnknownOptionError,
)
from recmetrics._core.evaluator import Evaluator, NotUpdatedWarning, UserCounts
from recmetrics._core.inputs import (
    InvalidItems,
    popularity_from,
    popularity_strata,
    propensity_from,
)
from recmetrics._core.metrics import MeasuresList, OneUser, metric
from recmetrics._core.spec import MetricsList
from recmetrics._core.stream import EventCounts, StreamEvaluator
from recmetrics._core.types import (
    Candidates,
    Convention,
    Factors,
    Invalid,
    ItemValues,
    Matrix,
    NaNPolicy,
    Progress,
    Ranking,
    Scores,
    Strata,
    TiePolicy,
    Ties,
    Truth,
    Undefined,
    UserValues,
    WhichUsers,
)
from recmetrics._core.warmup import warmup
from recmetrics._inspection import (
    Audit,
    Explanation,
    Finding,
    Identification,
    Match,
    audit,
    audit_ranked,
    explain,
    identify,
    overlap,
    overlap_ranked,
)
from recmetrics._metrics import Metrics
from recmetrics._report import (
    CompactTable,
    Comparison,
    Correction,
    Difference,
    Evaluation,
    EvaluationCounts,
    Gate,
    Mean,
    Mover,
    Movers,
    PairedTest,
    Summary,
    UsersNeeded,
    Verdict,
    compare,
    summary,
)

if typing.TYPE_CHECKING:
    from recmetrics import dask as dask
    from recmetrics import spark as spark
    from recmetrics import tables as tables
else:

    def __getattr__(name):
        """Import a part that needs other packages when it is first named."""
        if name in ("dask", "spark", "tables"):
            return importlib.import_module(f"recmetrics.{name}")
        msg = f"module 'recmetrics' has no attribute {name!r}"
        raise AttributeError(msg)


__version__ = "0.1.0"

__all__ = [
    "ArgumentError",
    "Audit",
    "Candidates",
    "CompactTable",
    "Comparison",
    "Convention",
    "Correction",
    "DeviceMemoryError",
    "Difference",
    "Evaluation",
    "EvaluationCounts",
    "Evaluator",
    "EventCounts",
    "Explanation",
    "Factors",
    "Finding",
    "Gate",
    "Identification",
    "InputError",
    "InputTypeError",
    "Invalid",
    "InvalidItems",
    "ItemValues",
    "Match",
    "Matrix",
    "Mean",
    "MeasuresList",
    "MetricSpecError",
    "Metrics",
    "MetricsList",
    "Mover",
    "Movers",
    "NaNPolicy",
    "NaNScoreError",
    "NotUpdatedWarning",
    "OneUser",
    "PairedTest",
    "Progress",
    "Ranking",
    "RecmetricsError",
    "RecmetricsWarning",
    "Scores",
    "ShapeError",
    "Strata",
    "StreamEvaluator",
    "Summary",
    "TiePolicy",
    "Ties",
    "Truth",
    "Undefined",
    "UndefinedMetricError",
    "UnknownMetricError",
    "UnknownOptionError",
    "UserCounts",
    "UserValues",
    "UsersNeeded",
    "Verdict",
    "WhichUsers",
    "audit",
    "audit_ranked",
    "compare",
    "explain",
    "identify",
    "metric",
    "overlap",
    "overlap_ranked",
    "popularity_from",
    "popularity_strata",
    "propensity_from",
    "summary",
    "warmup",
]
