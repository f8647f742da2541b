"""Reports of values: means and intervals of one model, comparison of models, and their pages.

    evaluation         ``Evaluation``: the values of a call, with counts and notes
    summaries          ``summary`` and ``Summary``: means, intervals and quantiles of one model
    differences        ``compare``: results -> samples -> means and differences, with p-values
    comparison         ``Comparison``: printed, exported, drawn; how many users are needed
    comparison_pages   the tables of a comparison and their legend; ``CompactTable``
    legends            what the notes below these tables say of intervals and weights
    movers             the users with the largest gains and losses
    gate               rules for the differences -> bounds -> hold, fail or open: ``Gate``
    rules              text of rules -> ``Rule``; which margins there may be
    plots              pictures of summaries and comparisons
    records            the numbers: ``Mean`` and ``Difference``; as data frames, for JSON
    bounds             moments of values -> bounds of their mean: intervals, gates, users needed
    samples            tables of all models -> ``Samples``, users in one order
    merged             ``SummedSamples``: the same, of sums: a stream's, or those of many workers
    workers            ``ValueReader``: values of some users -> sums, on workers
    result_tables      one result in any form -> a table
    origins            ``Origin``: the definitions of values, where they are known
    groups             labels, groups and weights of users
    settings           single arguments: a seed, one name or several
    statistics         of arrays: means, quantiles, the bootstrap, tests, corrections

The input is what ``Metrics``, an ``Evaluator`` or ``tables`` returned. No metric is computed here.
"""

from recmetrics._report.comparison import Comparison, UsersNeeded
from recmetrics._report.comparison_pages import CompactTable
from recmetrics._report.differences import compare
from recmetrics._report.evaluation import Evaluation, EvaluationCounts
from recmetrics._report.gate import Gate, Verdict
from recmetrics._report.merged import ValueSums
from recmetrics._report.movers import Mover, Movers
from recmetrics._report.records import Difference, Mean
from recmetrics._report.statistics import Correction, PairedTest
from recmetrics._report.summaries import Summary, summary
from recmetrics._report.workers import ValueReader

__all__ = [
    "CompactTable",
    "Comparison",
    "Correction",
    "Difference",
    "Evaluation",
    "EvaluationCounts",
    "Gate",
    "Mean",
    "Mover",
    "Movers",
    "PairedTest",
    "Summary",
    "UsersNeeded",
    "ValueReader",
    "ValueSums",
    "Verdict",
    "compare",
    "summary",
]
