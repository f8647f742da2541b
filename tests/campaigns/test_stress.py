"""What tests/campaigns/stress.py does for minutes, for seconds."""

import sys

import pytest
import stress

pytestmark = [
    pytest.mark.thorough,
    pytest.mark.skipif(sys.platform == "win32", reason="needs signals and pipes of Unix"),
]


@pytest.mark.skipif(sys.platform != "linux", reason="memory is read where Linux shows it")
def test_memory_does_not_grow_with_calls():
    faults, _ = stress.memory(500)
    assert faults == []


@pytest.mark.needs_jit  # about long calls, which are sized for machine code
def test_ctrl_c_at_random_moments():
    faults, line = stress.interruptions(10, seed=0, longest=0.5)
    assert faults == []
    assert "10 Ctrl-C" in line


@pytest.mark.needs_jit
def test_processes_that_fill_one_cold_cache_at_once():
    faults, _ = stress.cold(rounds=1, processes=2)
    assert faults == []
