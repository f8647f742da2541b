"""A number that a system printed leads back to the definition of that system."""

import json

import numpy as np
import peers
import pytest
from peers_run import Given

from recmetrics import identify
from recmetrics._core.spec.registry import METRICS
from recmetrics._core.spec.systems import CONVENTIONS

K = 5


@pytest.fixture(scope="module")
def given():
    """Grades, some users without truth, no equal scores, no relevant item excluded."""
    rng = np.random.default_rng(3)
    scores = rng.permuted(np.tile(np.arange(1.0, 31.0), (40, 1)), axis=1) / 32
    truth = (rng.random(scores.shape) < 0.15) * rng.integers(1, 5, scores.shape)
    truth[::6] = 0
    exclude = (rng.random(scores.shape) < 0.3) & (truth == 0)
    return Given(scores, truth, exclude, K, np.zeros(scores.shape, np.int64))


def lines_of(convention):
    """The lines that compute one number exactly, with True where they are a variant."""
    return [
        (line, variant)
        for line, variant in peers.calls_of(convention)
        if not line.gap and METRICS[line.metric.partition("@")[0]].reads == "hits"
    ]


def check(given, convention, line, values):
    """The line is among the first three matches of the mean, and departs from nothing."""
    mean = np.nanmean(values)
    if line.weight != "1":
        n_relevant = (given.truth > 0).sum(axis=1)
        weights = {"R": n_relevant, "min(k, R)": np.minimum(n_relevant, K)}[line.weight]
        mean = np.average(np.nan_to_num(values), weights=weights)
    printed = f"{mean:.4f}"
    metric = line.metric.replace("@k", f"@{K}")
    found = identify(given.scores, given.truth, printed, metric, exclude=given.exclude)
    own = f"{CONVENTIONS[convention].name}: {line.call.format(k=K)}"
    first = [each.systems for each in found.matches[:3] if not each.departures]
    assert any(own in systems for systems in first), (own, printed, str(found))


@pytest.mark.parametrize("convention", CONVENTIONS)
def test_the_number_of_every_line_leads_back_to_it(given, convention):
    known, recorded = peers.facts(convention) if convention in peers.RUNNABLE else None, {}
    if known is not None:
        recorded = json.loads(peers.AGREEMENT.read_text())[convention]["calls"]
    for line, variant in lines_of(convention):
        assert recorded.get(line.call, [0, 0])[1] == 0  # the system printed the same
        values = peers.ours(convention, line, given, known or peers.FACTS, variant=variant)
        check(given, convention, line, values)


@pytest.mark.parametrize("convention", [each for each in peers.RUNNABLE if each in CONVENTIONS])
def test_a_number_that_the_installed_system_prints(given, convention):
    module = peers.installed(convention)
    if module is None:
        pytest.skip(f"{CONVENTIONS[convention].name} is not installed")
    for line, _ in lines_of(convention):
        check(given, convention, line, peers.theirs(module, line.call, given))
