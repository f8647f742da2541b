"""The faults that ``mutate.py`` plants are still in the code to be planted."""

from pathlib import Path

import mutate
import pytest

import recmetrics


@pytest.mark.parametrize("fault", mutate.FAULTS, ids=lambda fault: fault.what)
def test_every_fault_has_its_place(fault):
    text = (Path(recmetrics.__file__).parent / fault.file).read_text()
    assert text.count(fault.text) == 1
