"""A seeded run of the fuzzer, and what its runs have found."""

from dataclasses import replace

import fuzz
import fuzz_entries
import pytest
from fuzz_problems import SLOW, Problem

SEED = 20_240_517


@pytest.mark.parametrize("name", fuzz_entries.available())
def test_random_problems(name):
    n_problems = 25 if name in SLOW else 100
    met, number, code = fuzz.run(SEED, range(n_problems), [name])
    assert number is None, code
    assert met == {name: n_problems}


# --- The fuzzer itself ---------------------------------------------------------------------------

FAULTY = Problem(
    metrics=("hit@1", "recall@1"),
    scores=((3.0, 2.0, 1.0, 0.0), (0.0, 1.0, 2.0, 3.0)),
    truth=((0.0, 1.0, 0.0, 1.0), (1.0, 0.0, 0.0, 0.0)),
    exclude=((0,), ()),
    truth_form="csr",
    seed=7,
)


@pytest.fixture
def forgetful(monkeypatch):
    """An entry point that forgets what is excluded."""

    def forget(problem):
        return fuzz_entries.compute(replace(problem, exclude=None))

    monkeypatch.setitem(fuzz_entries.ENTRIES, "compute", forget)


@pytest.mark.usefixtures("forgetful")
def test_a_failure_is_found_and_shrunk():
    assert isinstance(fuzz.failure(FAULTY), AssertionError)
    small = fuzz.shrunk(FAULTY)
    assert isinstance(fuzz.failure(small), AssertionError)
    assert small.shape == (1, 2)
    assert len(small.metrics) == 1
    assert small.exclude == ((0,),)
    assert (small.truth_form, small.seed) == ("dense", 0)


@pytest.mark.usefixtures("forgetful")
def test_a_failure_prints_as_code_that_runs():
    code = fuzz.as_code(FAULTY, fuzz.failure(FAULTY))
    with pytest.raises(AssertionError, match="hit@1"):
        exec(code, {})


def test_an_error_that_nobody_expects_is_a_failure():
    error = fuzz.failure(replace(FAULTY, metrics=("novelty@2",), entry="chance"))
    assert type(error).__name__ == "ArgumentError"
