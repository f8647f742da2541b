"""Run the recipes of ``docs/recipes.md``, each in an environment with the library that it is for.

python tests/peers/recipes.py                         every recipe, each in its own environment
python tests/peers/recipes.py implicit lenskit        only these
python tests/peers/recipes.py --environments DIR      keeps the environments

A recipe runs after the data of the page and ends in ``values``, whose first metric must be better
than that of a random order.
"""

import argparse
import json
import os
import re
import subprocess
import sys
import tempfile
import textwrap
import venv
from pathlib import Path
from typing import NamedTuple

ROOT = Path(__file__).parents[2]
PAGE = ROOT / "docs" / "recipes.md"
BLOCK = re.compile(r"^```(?:py|python)\n(.*?)^```\n", re.S | re.M)
MARK = re.compile(r"<!-- recipe: (\w+)(?:; pip install (.*?))? -->")
END = """
import json, sys
json.dump({m: float(np.nanmean(values[m])) for m in values}, open(sys.argv[1], "w"))
"""


FLOORS = {"lightgbm": {"ndcg@10": 0.8}}  # a random order of its groups has 0.6


class Recipe(NamedTuple):
    """One section of the page."""

    package: str  # which must be importable
    requirements: str
    code: str


def read(page=PAGE):
    """Read the code of the data and the recipes."""
    _, *parts, data = re.split(r"^## ", page.read_text(encoding="utf-8"), flags=re.M)
    recipes = []
    for part in parts:
        ((package, requirements),) = MARK.findall(part)
        recipes.append(Recipe(package, requirements, "\n".join(BLOCK.findall(part))))
    return "\n".join(BLOCK.findall(data)), recipes


DATA, RECIPES = read()


def chance(recipe):
    """The mean of each metric for a random order: of the recipe's own data, or of the page's."""
    import numpy as np

    if recipe.package in FLOORS:
        return FLOORS[recipe.package]
    scope = {"__name__": "page"}
    exec(compile(DATA, "<data>", "exec"), scope)
    values = scope["Metrics"].chance(scope["test"], scope["metrics"], exclude=scope["train"])
    return {metric: float(np.nanmean(value)) for metric, value in values.items()}


def means_by(python, recipe):
    """Run a recipe by a Python that has its library; gives the mean of each metric."""
    with tempfile.TemporaryDirectory() as folder:
        file, means = Path(folder) / "page_of_recipe.py", Path(folder) / "means.json"
        file.write_text("\n".join([DATA, recipe.code, textwrap.dedent(END)]), encoding="utf-8")
        # Compiling takes longer than these data do without.
        environment = os.environ | {"PYTHONPATH": str(ROOT), "NUMBA_DISABLE_JIT": "1"}
        command = [python, "-W", "ignore", file, means]
        done = subprocess.run(
            command, cwd=folder, env=environment, capture_output=True, text=True, check=False
        )
        if done.returncode:
            raise RuntimeError(done.stderr[-3000:])
        return json.loads(means.read_text())


def make_environment(recipe, folder):
    """Install the library and what this one needs, unless it is there; gives its Python."""
    scripts = folder / ("Scripts" if os.name == "nt" else "bin")
    python = scripts / "python"
    if not python.exists():
        venv.create(folder, with_pip=True, clear=True)
        packages = [*recipe.requirements.split(), f"{ROOT}[tables]"]
        subprocess.run([python, "-m", "pip", "install", "-q", *packages], check=True)
    return python


def main():
    """Run the recipes, and print their means."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawTextHelpFormatter
    )
    parser.add_argument("packages", nargs="*", metavar="package")
    parser.add_argument("--environments", type=Path)
    given = parser.parse_args()
    folder = given.environments or Path(tempfile.mkdtemp())
    for recipe in RECIPES:
        if given.packages and recipe.package not in given.packages:
            continue
        found = means_by(make_environment(recipe, folder / recipe.package), recipe)
        random = chance(recipe)
        better = all(found[metric] > random[metric] for metric in found)
        sys.stdout.write(f"{recipe.package:12} {found}{'' if better else '  NOT above chance'}\n")


if __name__ == "__main__":
    main()
