"""The page of what is installed names what pyproject.toml asks for."""

import subprocess
import sys
from pathlib import Path

import pytest

PAGE = Path(__file__).parents[2] / "docs" / "supply.md"


def checked(folder):
    command = [sys.executable, folder / "docs" / "supply.py", "--check"]
    return subprocess.run(command, capture_output=True, text=True, check=False)


def test_the_page_is_of_this_project():
    done = checked(PAGE.parents[1])
    assert (done.returncode, done.stderr) == (0, "")


@pytest.mark.parametrize(
    "file, text, instead, told",
    [
        ("pyproject.toml", '"numba>=0.60"', '"numba>=0.60", "attrs"', ": attrs"),
        ("docs/supply.md", "| narwhals |", "| ibis, narwhals |", "tables: ibis"),
        ("docs/supply.md", "| `dask` |", "| `dusk` |", "extra 'dusk'"),
    ],
)
def test_a_difference_is_told(tmp_path, file, text, instead, told):
    for name in ("pyproject.toml", "docs/supply.py", "docs/supply.md"):
        content = (PAGE.parents[1] / name).read_text()
        if name == file:
            assert text in content
            content = content.replace(text, instead)
        (tmp_path / name).parent.mkdir(exist_ok=True)
        (tmp_path / name).write_text(content)
    done = checked(tmp_path)
    assert done.returncode == 1
    assert told in done.stderr
