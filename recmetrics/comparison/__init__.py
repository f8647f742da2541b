"""Statistics of one model, and comparison of models: means, paired differences and tests.

    _summarise    ``summary`` and ``Summary``: the means, intervals and quantiles of one model
    _compare      ``compare``: results -> samples -> means and differences, in this order
    _reading      one result in any form -> a table; groups and weights of users; ``Samples``
    _samples      tables of all models -> ``Samples``, users in one order
    _bounds       moments of values -> bounds of their mean: intervals, gates, users needed
    _statistics   of arrays: means, quantiles, the bootstrap, tests, corrections
    _records      the numbers: ``Mean`` and ``Difference``; as data frames, for JSON
    _comparison   ``Comparison``: printed, exported, drawn; its compact table, movers, users needed
    _gate         rules for the differences -> bounds -> hold, fail or open: ``Gate``
    _render       the tables of a comparison, and their legend
    _plot         pictures

The input is what ``Metrics``, an ``Evaluator`` or ``tables`` returned. No metric is computed here.
"""

from recmetrics.comparison._compare import compare
from recmetrics.comparison._comparison import CompactTable, Comparison, Mover, Movers
from recmetrics.comparison._gate import Gate, Verdict
from recmetrics.comparison._reading import read_weights
from recmetrics.comparison._records import Difference, Mean
from recmetrics.comparison._statistics import Correction, Test, mean_of
from recmetrics.comparison._summarise import Summary, summary

__all__ = [
    "CompactTable",
    "Comparison",
    "Difference",
    "Gate",
    "Mean",
    "Mover",
    "Movers",
    "Summary",
    "Verdict",
    "compare",
    "summary",
]
