"""A few seconds of tests/campaigns/decisions.py, which takes minutes."""

import decisions
import pytest

pytestmark = [pytest.mark.thorough, pytest.mark.needs_jit]


@pytest.mark.parametrize("row", [decisions.RARE[i] for i in (0, 1, 3)], ids=lambda row: row.name)
def test_30_users_do_not_pass_what_they_cannot_show(row):
    # Four standard errors of 400 samples: 4 sqrt(0.05 x 0.95 / 400) = 0.044.
    n_passed, n_failed = decisions.errors_of_gate(row, 30, 400)
    assert n_passed <= 0.05 + 0.044
    assert n_failed <= 0.05 + 0.044


def test_with_many_users_about_as_many_pass_as_promised():
    hits = decisions.RARE[2]
    assert 0 < decisions.false_passes(hits, 1_000, 400) <= 0.05 + 0.044


def test_looks_that_were_not_planned_pass_too_often():
    assert decisions.passes_at_a_look(200, looks=1) > 0.05 + 0.044  # what looks= prevents


def test_equal_models_pass_from_as_many_users_on_as_the_guide_says():
    assert decisions.users_of_equal_models(-0.03) == pytest.approx(107, abs=1)
    assert decisions.users_of_equal_models(-0.01) == pytest.approx(322, abs=1)
