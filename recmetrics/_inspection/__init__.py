"""Beside the values: what is odd in the inputs, what a metric string means, who defines it so.

audit       ``audit``, ``audit_ranked``: findings about scores, truth and lists that mislead
explain     ``explain``: the formula of a metric string, and the systems that share it
identify    ``identify``: the definitions of a metric that give a number
"""

from recmetrics._inspection.audit import Audit, Finding, audit, audit_ranked
from recmetrics._inspection.explain import explain, formula_of, interval
from recmetrics._inspection.identify import Identification, identify, identify_by
