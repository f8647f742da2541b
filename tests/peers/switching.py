"""Both calls of each section of ``docs/switching.md`` end in the same means.

python tests/peers/switching.py                       every system, each in its own environment
python tests/peers/switching.py ranx trec             only these
python tests/peers/switching.py --environments DIR    keeps the environments

A call ends in a dictionary, ``there`` or ``here``. It runs after the data of the page, and sees no
other call.
"""

import argparse
import json
import os
import re
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import NamedTuple

import peers

from recmetrics._core.spec.systems import CONVENTIONS

PAGE = Path(__file__).parents[2] / "docs" / "switching.md"
BLOCK = re.compile(r"^```(?:py|python)\n(.*?)^```\n", re.S | re.M)
SINGLE = 1e-6  # of systems that compute in float32
DUMP = "import json\njson.dump({m: float(v) for m, v in there.items()}, open('means', 'w'))"
DATA_NEEDS = ["pandas", "scipy"]  # of the page's data and calls, beside the system itself


class Section(NamedTuple):
    """One system on the page."""

    convention: str
    there: str
    here: str
    text: str


def read(page=PAGE):
    """Read the code of the page's data, and the sections."""
    _, data, *parts = re.split(r"^## ", page.read_text(), flags=re.M)
    conventions = {system.name: convention for convention, system in CONVENTIONS.items()}
    sections = []
    for part in parts:
        there, here = BLOCK.findall(part)
        sections.append(Section(conventions[part.partition("\n")[0]], there, here, part))
    return "\n".join(BLOCK.findall(data)), sections


DATA, SECTIONS = read()


def means(code, name):
    """Run a call after the data; gives the dictionary that it ends in."""
    scope = {"__name__": "page"}
    exec(compile(DATA, "<data>", "exec"), scope)
    exec(compile(code, f"<{name}>", "exec"), scope)
    return {metric: float(value) for metric, value in scope[name].items()}


def means_in(python, code):
    """Run the call of another system by the Python of its environment."""
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder) / "call.py"
        file.write_text("\n".join([DATA, code, DUMP]))
        environment = os.environ | {"NUMBA_DISABLE_JIT": "1"}  # ranx compiles for two minutes
        environment.pop("PYTHONPATH", None)
        command = [python, "-W", "ignore", file]
        subprocess.run(command, check=True, cwd=folder, env=environment, stdout=sys.stderr)
        return json.loads((Path(folder) / "means").read_text())


def different(section, there, here):
    """The metrics that only one call has, or whose means differ by more than rounding."""
    tolerance = SINGLE if peers.facts(section.convention)["SINGLE"] else peers.EXACT
    return {
        metric: (there.get(metric), here.get(metric))
        for metric in {**there, **here}
        if not (metric in there and metric in here)
        or not abs(there[metric] - here[metric]) <= tolerance
    }


def main():
    """Compare the sections of systems that can be installed."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawTextHelpFormatter
    )
    parser.add_argument("systems", nargs="*", metavar="system")
    parser.add_argument("--environments", type=Path)
    given = parser.parse_args()
    folder = given.environments or Path(tempfile.mkdtemp())
    failed = False
    for section in SECTIONS:
        convention = section.convention
        if convention not in (given.systems or peers.RUNNABLE):
            continue
        python = peers.make_environment(convention, folder / convention)
        subprocess.run([python, "-m", "pip", "install", "-q", *DATA_NEEDS], check=True)
        here = means(section.here, "here")
        found = different(section, means_in(python, section.there), here)
        failed |= bool(found)
        sys.stdout.write(f"{convention:22} {found or f'{len(here)} means agree'}\n")
    sys.exit(failed)


if __name__ == "__main__":
    main()
