"""Evaluators in two processes of torch.distributed give the bits of one call in each of them."""

import numpy as np
import pytest
from asserts import assert_identical, message_of, python

import recmetrics
from recmetrics import ArgumentError, Evaluator, Metrics, UserCounts

torch = pytest.importorskip("torch", reason="torch is not installed")
distributed = pytest.importorskip("torch.distributed", reason="torch has no distributed package")
if not (distributed.is_available() and distributed.is_gloo_available()):
    pytest.skip("torch has no gloo", allow_module_level=True)

import processes  # noqa: E402  it imports torch

NOT_INITIALISED = (
    "all_gather needs the processes of torch.distributed, which is not initialised; call "
    "torch.distributed.init_process_group(...) first, or use merge()"
)


def whole():
    scores, truth, options = processes.problem()
    return Metrics.compute(scores, truth, processes.ALL, **options)


def test_a_padded_sampler_gives_the_bits_of_one_call_in_every_process():
    expected = whole()
    missing = []
    for values, means, counts, not_updated in processes.in_two_processes(processes.gather_padded):
        assert_identical(values, expected)
        assert means == {f"val/{m}": pytest.approx(np.nanmean(v)) for m, v in expected.items()}
        assert {count.not_updated for count in counts.values()} == {0}
        missing.append(not_updated)
    # 37 users are 19 for each process: one of them came to both.
    assert missing == [37 - 19, 37 - 19]


def test_the_process_of_higher_rank_stands():
    for values in processes.in_two_processes(processes.gather_overlapping):
        assert_identical(values, whole())


def test_every_process_decides_from_the_sums_of_all():
    parts = np.array_split(np.arange(processes.N_USERS), processes.WORLD)
    first, *others = map(processes.stream_of_models, parts)
    for other in others:
        first.merge(other)
    for state, records in processes.in_two_processes(processes.gather_models):
        assert {name: array.tolist() for name, array in state.items()} == {
            name: array.tolist() for name, array in first.state().items()
        }
        assert records == recmetrics.compare(first).to_records()


def test_a_process_may_have_no_users():
    for values in processes.in_two_processes(processes.gather_one_side):
        assert_identical(values, whole())


def test_processes_that_measure_different_things_are_told():
    for kind, message in processes.in_two_processes(processes.gather_different):
        assert kind == "ArgumentError"
        assert message.startswith("evaluators with different metrics cannot be merged: ")


def test_a_group_of_some_processes():
    outside, inside = processes.in_two_processes(processes.gather_in_group)
    assert outside == (
        "ArgumentError",
        "all_gather was called by a process outside the group; expected only members of the group",
    )
    assert_identical(inside, whole())


def test_without_processes_there_is_nothing_to_gather():
    evaluator = Evaluator(np.eye(2), "hit@1")
    evaluator.update(np.eye(2))
    assert message_of(ArgumentError, evaluator.all_gather) == NOT_INITIALISED
    assert evaluator.counts() == {"hit@1": UserCounts(2, 0, 0)}


def test_torch_is_not_imported_to_find_that_out():
    code = f"""
import sys
import recmetrics
from recmetrics import ArgumentError, Evaluator
try:
    Evaluator([[1, 0, 0]], "hit@1").all_gather()
except ArgumentError as error:
    assert str(error) == {NOT_INITIALISED!r}
    assert "torch" not in sys.modules
    print("told")
"""
    done = python("-W", "error", "-c", code)
    assert (done.stdout, done.stderr) == ("told\n", "")
