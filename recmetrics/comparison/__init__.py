"""Whether a difference between models is real: means, paired differences and tests.

    _compare      ``compare``: reads the results, resamples, tests
    _samples      any form of results -> one array of values per model and metric
    _align        tables of results, matched by user
    _statistics   bootstrap, tests and corrections, from scipy.stats
    _records      ``Mean``, ``Difference`` and the record of a whole comparison
    _comparison   ``Comparison``: that record with the forms in which it is handed out
    _render       text, Markdown and LaTeX
    _plot         pictures

The input is what users were given by any entry point; nothing here computes a metric.
"""

from recmetrics.comparison._compare import compare
from recmetrics.comparison._comparison import Comparison
from recmetrics.comparison._records import Difference, Mean
from recmetrics.comparison._render import grids, legend
from recmetrics.comparison._statistics import Correction, Test

__all__ = ["Comparison", "Difference", "Mean", "compare"]
