"""Statistics of one model, and comparison of models: means, paired differences and tests.

    _summarise    ``summary``: the means, intervals and quantiles of one model
    _summaries    ``Summary``: its numbers, and the methods that print and export them
    _compare      ``compare``: reads the results, resamples, tests
    _samples      results in any form -> one array of values per model and metric; groups, weights
    _align        results in tables, matched by user
    _statistics   means, quantiles, bootstrap, tests and corrections
    _records      the numbers: ``Mean``, ``Difference``, and ``Compared`` with all of them
    _comparison   ``Comparison``: ``Compared`` with methods that print, export and draw it
    _compact      ``CompactTable``: models by metrics, with marks of significance
    _render       the tables of a comparison, and their legend
    _grids        tables of text: plain, Markdown, LaTeX, HTML
    _frame_of     records -> a data frame
    _plot         pictures

The input is what ``Metrics``, an ``Evaluator`` or ``tables`` returned. No metric is computed here.
"""

from recmetrics.comparison._compact import CompactTable
from recmetrics.comparison._compare import compare
from recmetrics.comparison._comparison import Comparison
from recmetrics.comparison._grids import Grid, Printed
from recmetrics.comparison._records import Difference, Mean, MetricSummary
from recmetrics.comparison._samples import read_weights
from recmetrics.comparison._statistics import Correction, Test, mean_of
from recmetrics.comparison._summaries import Summary
from recmetrics.comparison._summarise import summary

__all__ = [
    "CompactTable",
    "Comparison",
    "Difference",
    "Mean",
    "MetricSummary",
    "Summary",
    "compare",
    "summary",
]
