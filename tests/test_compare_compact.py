"""The compact table of a comparison: what it shows, in each form."""

import re
import shutil
import subprocess

import numpy as np
import pytest

from recmetrics import ArgumentError, compare

OLD = [0.1, 0.4, 0.2, 0.3, 0.0, 0.5]
NEW = [0.3, 0.5, 0.2, 0.6, 0.1, 0.7]
WORST = [0.0, 0.3, 0.1, 0.2, 0.0, 0.4]
RESULTS = {
    "a_b": {"ndcg@10": OLD, "gini@5": NEW, "coverage@5": np.array(0.25)},
    "new": {"ndcg@10": NEW, "gini@5": OLD, "coverage@5": np.array(0.5)},
    "95%": {"ndcg@10": WORST, "gini@5": NEW, "coverage@5": np.array(0.5)},
}
SIGNIFICANT = (
    "significant: p < 0.05 by paired t test, corrected by Holm over 2 metrics x 3 pairs"
)


def significant(found):
    """The pairs of each metric, the better model first."""
    return {
        (each.metric, *pair)
        for each in found.differences
        if each.significant
        for pair in [(each.model, each.against)]
    }


def test_the_compact_table_as_text():
    found = compare(RESULTS, rng=0)
    assert significant(found) == {
        ("ndcg@10", "95%", "a_b"),
        ("ndcg@10", "95%", "new"),
    }
    assert str(found.compact()).splitlines() == [
        "   model    ndcg@10    gini@5  coverage@5",
        "-  -----  ---------  --------  ----------",
        "a  a_b     0.2500 c   0.4000      0.2500",
        "b  new    [0.4000]c  [0.2500]    [0.5000]",
        "c  95%     0.1667     0.4000     [0.5000]",
        "",
        "[ ]: the best mean of a metric",
        "lower is better: gini@5",
        "letters: significantly better than the model of that letter",
        SIGNIFICANT,
    ]
    assert repr(found.compact()) == str(found.compact())
