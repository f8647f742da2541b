"""Comparison of models: means, paired differences, and tests of the differences.

    _compare      ``compare``: reads the results, resamples, tests
    _samples      results in any form -> one array of values per model and metric
    _align        results in tables, matched by user
    _statistics   bootstrap, tests and corrections, from scipy.stats
    _records      the numbers: ``Mean``, ``Difference``, and ``Compared`` with all of them
    _comparison   ``Comparison``: ``Compared`` with methods that print, export and draw it
    _render       text, Markdown and LaTeX
    _plot         pictures

The input is what ``Metrics``, an ``Evaluator`` or ``tables`` returned. No metric is computed here.
"""

from recmetrics.comparison._compare import compare
from recmetrics.comparison._comparison import Comparison
from recmetrics.comparison._records import Difference, Mean
from recmetrics.comparison._render import grids, legend
from recmetrics.comparison._statistics import Correction, Test

__all__ = ["Comparison", "Difference", "Mean", "compare"]
