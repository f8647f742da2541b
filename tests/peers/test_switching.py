"""Both calls of each section of the page on switching end in the same means."""

import numpy as np
import peers
import pytest
import switching
from inside import CONVENTIONS

RUNNABLE = [each for each in switching.SECTIONS if each.convention in peers.RUNNABLE]


def by_convention(section):
    return section.convention


@pytest.mark.parametrize("section", RUNNABLE, ids=by_convention)
def test_both_calls_end_in_the_same_means(section):
    here = switching.means(section.here, "here")
    assert np.isfinite(list(here.values())).all()
    if peers.installed(section.convention) is None:
        pytest.skip(f"{CONVENTIONS[section.convention].name} is not installed")
    with peers.quiet():
        there = switching.means(section.there, "there")
    assert switching.different(section, there, here) == {}


@pytest.mark.parametrize("section", switching.SECTIONS, ids=by_convention)
def test_a_section_says_where_its_call_is_not_run(section):
    assert ("no test runs its call" in " ".join(section.text.split())) == (section not in RUNNABLE)


def test_the_data_has_what_systems_disagree_on():
    scope = {}
    exec(switching.DATA, scope)
    scores, truth, train, tied = (scope[name] for name in ("scores", "truth", "train", "tied"))
    sizes = (~train).sum(axis=1)
    assert not truth.any(axis=1).all()
    assert 1 < sizes.min() < 10 < sizes.max()
    assert set(np.unique(truth)) == {0, 1, 2, 3, 4}
    assert all(len(np.unique(row)) == len(row) for row in scores)
    assert all(len(np.unique(row)) < len(row) for row in tied)
    assert not truth[train].any()


@pytest.mark.parametrize(
    "there, here, found",
    [
        ({"a": 0.5}, {"a": 0.5 + 1e-13}, {}),
        ({"a": 0.5}, {"a": 0.5 + 1e-9}, {"a": (0.5, 0.5 + 1e-9)}),
        ({"a": 0.5, "b": 1.0}, {"a": 0.5}, {"b": (1.0, None)}),
        ({"a": 0.5}, {"a": 0.5, "b": 1.0}, {"b": (None, 1.0)}),
    ],
)
def test_a_difference_is_found(there, here, found):
    (section,) = (each for each in RUNNABLE if each.convention == "ranx")
    assert switching.different(section, there, here) == found


def test_a_mean_that_is_not_a_number_is_a_difference():
    (section,) = (each for each in RUNNABLE if each.convention == "ranx")
    assert list(switching.different(section, {"a": np.nan}, {"a": np.nan})) == ["a"]
