"""Scores that select their own lists, factors and tensors of a device, give the metrics of scores.

Factors are small whole numbers, so that products are exact and many scores are equal. The device is
torch's CPU: see ``elsewhere``.
"""

import numpy as np
import pytest
import scipy.sparse as sp
from asserts import assert_identical
from inside import METRICS
from problems import JIT
from sizes import patched

from recmetrics import Evaluator, Metrics, NaNScoreError, ShapeError

N_USERS, N_ITEMS = 120 if JIT else 30, 2 * 1152 + 50  # more than two tiles of items
RNG = np.random.default_rng(0)
USERS = RNG.integers(-2, 3, (N_USERS, 4)).astype(np.float32)
ITEMS = RNG.integers(-2, 3, (N_ITEMS, 4)).astype(np.float32)
BIAS = RNG.integers(-1, 2, N_ITEMS).astype(np.float32)
SCORES = USERS @ ITEMS.T + BIAS
TRUTH = sp.random(N_USERS, N_ITEMS, 0.02, "csr", random_state=1)
SEEN = sp.random(N_USERS, N_ITEMS, 0.05, "csr", random_state=2)
POOL = sp.random(N_USERS, N_ITEMS, 0.1, "csr", random_state=3)
SIDE = {
    "popularity": RNG.random(N_ITEMS),
    "features": RNG.standard_normal((N_ITEMS, 3)),
    "genres": RNG.integers(0, 2, (N_ITEMS, 5)),
    "profile": RNG.random((N_USERS, 5)),
}
AT_10 = [f"{m.name}@10" for m in METRICS.values() if m.default_k]
WHOLE = list(METRICS)
CASES = {
    "all items": {},
    "exclude": {"exclude": SEEN},
    "shared candidates": {"candidates": np.arange(0, N_ITEMS, 3)},
    "own candidates": {"candidates": POOL},
    "candidates less exclude": {"candidates": POOL, "exclude": SEEN},
    "dense sets": {"exclude": SEEN.toarray(), "candidates": POOL.toarray() != 0},
}


@pytest.fixture
def sent():
    """Sends an array to a device."""
    pytest.importorskip("torch", reason="torch is not installed")
    from elsewhere import elsewhere

    return elsewhere


@pytest.mark.parametrize("short_rows", [0, 1 << 20], ids=["lists", "whole rows"])
@pytest.mark.parametrize("case", CASES)
@pytest.mark.parametrize("metrics", [AT_10, WHOLE], ids=["at 10", "whole lists"])
def test_factors_give_the_metrics_of_their_scores(case, metrics, short_rows):
    expected = Metrics.compute(SCORES, TRUTH, metrics, **CASES[case], **SIDE)
    options = {"item_bias": BIAS, **CASES[case], **SIDE}
    sizes = {"_CANDIDATES": 20_000}  # of a few users at once
    own = {"short_rows": short_rows}
    with patched({"_selection.factors": sizes, "_selection.factors:FactorScores": own}):
        found = Metrics.compute_factors(USERS, ITEMS, TRUTH, metrics, **options)
    assert_identical(found, expected)


@pytest.mark.parametrize("case", CASES)
@pytest.mark.parametrize("metrics", [AT_10, WHOLE], ids=["at 10", "whole lists"])
def test_a_device_gives_the_metrics_of_the_cpu(case, metrics, sent):
    expected = Metrics.compute(SCORES, TRUTH, metrics, **CASES[case], **SIDE)
    assert_identical(Metrics.compute(sent(SCORES), TRUTH, metrics, **CASES[case], **SIDE), expected)


@pytest.mark.parametrize("ties", ["expected", "worst", "best"])
def test_tie_policies_reach_factors_and_devices(ties, sent):
    metrics = ["ndcg@10", "map@5", "hit@1", "auc"]
    by_factors = Metrics.compute_factors(USERS, ITEMS, TRUTH, metrics, item_bias=BIAS, ties=ties)
    on_device = Metrics.compute(sent(SCORES), TRUTH, metrics, ties=ties)
    assert_identical(on_device, by_factors)
    by_index = Metrics.compute_factors(USERS, ITEMS, TRUTH, metrics, item_bias=BIAS)
    assert not np.array_equal(by_index["ndcg@10"], by_factors["ndcg@10"], equal_nan=True)


@pytest.mark.parametrize("n_threads", [1, 2])
def test_an_evaluator_takes_factors_in_batches(n_threads):
    expected = Metrics.compute(SCORES, TRUTH, AT_10, exclude=SEEN, **SIDE)
    evaluator = Evaluator(TRUTH, AT_10, exclude=SEEN, n_threads=n_threads, **SIDE)
    users = RNG.permutation(N_USERS)
    for batch in (users[:9], users[9:20], users[20:]):
        evaluator.update_factors(USERS[batch], ITEMS, batch, item_bias=BIAS)
    assert_identical(evaluator.compute(), expected)


def test_nan_is_named_by_its_user(sent):
    users = USERS.copy()
    users[17, 0] = np.nan
    message = f"scores hold {N_ITEMS} NaN, the first at \\(user 17, item 0\\)"
    with pytest.raises(NaNScoreError, match=message):
        Metrics.compute_factors(users, ITEMS, TRUTH, "ndcg@10")
    scores = sent(users[10:] @ ITEMS.T)
    evaluator = Evaluator(TRUTH, "ndcg@10")
    with pytest.raises(NaNScoreError, match=message):
        evaluator.update(scores, slice(10, None))
    found = Metrics.compute_factors(users, ITEMS, TRUTH, "hit@10", nan="exclude")["hit@10"]
    assert found[17] == 0.0


def test_factors_of_a_device_must_fit(sent):
    tensors = sent(np.zeros((3, 2))), sent(np.zeros((5, 4)))
    with pytest.raises(ShapeError, match=r"must have the same d, got \(3, 2\) and \(5, 4\)"):
        Metrics.compute_factors(*tensors, np.zeros((3, 5)), "hit@1")
    with pytest.raises(ShapeError, match="item_bias must hold one number for each of the 5 items"):
        Metrics.compute_factors(
            tensors[0], sent(np.zeros((5, 2))), np.zeros((3, 5)), "hit@1", item_bias=[0.0]
        )
