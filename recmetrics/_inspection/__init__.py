"""Questions beside the values: about the inputs, about a metric string, about a printed number.

    findings    ``audit``, ``audit_ranked``: what misleads in scores, truth and lists
    formulas    ``explain``: the formula of a metric string, and the systems that share it
    matches     ``identify``: the definitions of a metric that give a number

Each answer is an object that prints.
"""

from recmetrics._inspection.findings import Audit, Finding, audit, audit_ranked
from recmetrics._inspection.formulas import explain, formula_of, interval
from recmetrics._inspection.matches import Identification, identify, identify_by
