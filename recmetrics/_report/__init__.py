"""Statistics of one model, and comparison of models: means, paired differences and tests.

    summaries    ``summary`` and ``Summary``: the means, intervals and quantiles of one model
    differences      ``compare``: results -> samples -> means and differences, in this order
    result_tables      one result in any form -> a table; groups and weights of users; ``Samples``
    samples      tables of all models -> ``Samples``, users in one order
    bounds       moments of values -> bounds of their mean: intervals, gates, users needed
    statistics   of arrays: means, quantiles, the bootstrap, tests, corrections
    records      the numbers: ``Mean`` and ``Difference``; as data frames, for JSON
    comparison   ``Comparison``: printed, exported, drawn; its compact table, movers, users needed
    gate         rules for the differences -> bounds -> hold, fail or open: ``Gate``
    comparison_pages       the tables of a comparison, and their legend
    plots         pictures

The input is what ``Metrics``, an ``Evaluator`` or ``tables`` returned. No metric is computed here.
"""

from recmetrics._report.comparison import CompactTable, Comparison, Mover, Movers
from recmetrics._report.differences import compare
from recmetrics._report.gate import Gate, Verdict
from recmetrics._report.records import Difference, Mean
from recmetrics._report.result_tables import read_weights
from recmetrics._report.statistics import Correction, Test, mean_of
from recmetrics._report.summaries import Summary, summary

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
