"""Questions beside the values: about the inputs, about a metric string, about a printed number.

    audits           ``audit``, ``audit_ranked``: what misleads in scores, truth and lists
    definitions      the definitions that ``identify`` tries, ring by ring
    explanations     ``explain``: the formula of a metric string, and the systems that share it
    identification   ``identify``: the definitions of a metric that give a number
    overlaps         ``overlap``: what the lists of two models have in common

Each answer is an object that prints.
"""

from recmetrics._inspection.audits import Audit, Finding, audit, audit_ranked
from recmetrics._inspection.definitions import Measured, Problem
from recmetrics._inspection.explanations import Explanation, explain, formula_of, interval
from recmetrics._inspection.identification import (
    Identification,
    Match,
    identify,
    identify_by,
    read_metric,
)
from recmetrics._inspection.overlaps import overlap, overlap_ranked
