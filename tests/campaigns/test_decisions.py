"""A few seconds of tests/campaigns/decisions.py, which takes minutes."""

import decisions
import pytest

pytestmark = [pytest.mark.thorough, pytest.mark.needs_jit]


def test_as_many_err_as_the_guide_says():
    normal = decisions.distributions()["normal"]
    # Four standard errors of 400 samples: 4 sqrt(0.05 x 0.95 / 400) = 0.044.
    assert decisions.false_passes(normal, 50, 400) == pytest.approx(0.05, abs=0.044)
    assert 0 < decisions.false_fails(normal, 50, 400) <= 0.05 + 0.044
    assert decisions.looking(200, looks=1) > 0.05 + 0.044  # what looks= prevents
    # Four standard errors, 0.113, of 200 samples; that of the estimated spread is in it.
    for name, power in decisions.powers(50, 200, {"normal": normal}):
        assert power == pytest.approx(0.8, abs=0.113), name
