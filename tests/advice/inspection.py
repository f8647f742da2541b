"""Advice of ``identify`` and ``overlap``."""

from advice import Case
from advice.problem import BOTH

CASES = [
    Case(
        "overlaps.py: unknown={} needs the size",
        "a = [[0, 1]]; b = [[0, 7]]",
        "recmetrics.overlap_ranked(a, b, 'jaccard@2', unknown='drop')",
        {"jaccard@2": [1 / 2]},
        blank="3",
        altered="n_items=8",
    ),
    Case(
        "overlaps.py: a and b are read as scores of {}",
        "import numpy as np; a = np.array([[7, 2], [0, 1]]); b = np.array([[2, 7], [3, 4]]); "
        "measures = 'jaccard@2'",
        "recmetrics.overlap(a, b, measures)",
        {"jaccard@2": [1.0, 0.0]},
        advice="for lists type (.+), for scores",
        whole="-",
        altered="recmetrics.overlap_ranked(a, a, measures)",
    ),
    Case(
        "overlaps.py: a and b are read as scores of {}",
        "import numpy as np; a = np.array([[7, 2, 0]]); b = np.array([[9, 0, 2]]); "
        "measures = 'jaccard@2'",
        "recmetrics.overlap(a, b, measures)",
        {"jaccard@2": [1 / 3]},
        advice="for scores (.+)$",
        whole="-",
        altered="recmetrics.overlap_ranked(a, a, measures)",
    ),
    Case(
        "overlaps.py: ; it looks transposed",
        BOTH + "a = scores; b = scores.T.copy()",
        "recmetrics.overlap(a, b, 'jaccard@2')",
        {"jaccard@2": [1.0, 1.0]},
    ),
]
