"""The faults of ``mutate.py`` are still in the code to be planted; runs are recorded."""

from datetime import date
from pathlib import Path

import mutate
import pytest
import runs

import recmetrics


@pytest.mark.parametrize("fault", mutate.FAULTS, ids=lambda fault: fault.what)
def test_every_fault_has_its_place(fault):
    text = (Path(recmetrics.__file__).parent / fault.file).read_text()
    assert text.count(fault.text) == 1


def test_a_run_takes_the_place_of_the_one_before(tmp_path):
    file = tmp_path / "RUNS.md"
    file.write_text("# Runs\n\n## Fuzzing, 2020-01-01, version 1\n\n- of then\n")
    runs.record("Mutation", "all died", file=file)
    runs.record("Fuzzing", "none failed", file=file)
    today = f"{date.today()}, version unknown\n\n"
    assert file.read_text() == (
        f"# Runs\n\n## Fuzzing, {today}- none failed\n\n## Mutation, {today}- all died\n"
    )
