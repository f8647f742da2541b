"""The suite in clean environments: oldest and newest versions, one thread, no JIT, no extras.

    python tests/campaigns/environments.py
    python tests/campaigns/environments.py oldest core --tests tests/metrics tests/spec

Each environment is made anew in a temporary folder, from the package registry that pip knows, and
runs the suite of this checkout. Interpreters are looked for on the PATH and among pyenv's; one that
is not there is told. Each environment ends in pytest's closing line, and the run in one that says
how many failed; with --verbose pytest's reasons for skips are shown too.
"""

import argparse
import functools
import os
import re
import shutil
import subprocess
import sys
import tempfile
import tomllib
from pathlib import Path
from typing import NamedTuple

from runs import record

_ROOT = Path(__file__).resolve().parents[2]
_PROJECT = tomllib.loads((_ROOT / "pyproject.toml").read_text())["project"]
_OLDEST = _PROJECT["requires-python"].removeprefix(">=")
_VERSIONS = """
import platform
from importlib.metadata import version
core = [f"{name} {version(name)}" for name in ("numpy", "scipy", "numba")]
print("Python", platform.python_version(), *core)
"""


@functools.cache
def interpreter(version):
    """The path of a Python of this version that runs here, or None."""
    pyenv = Path(os.environ.get("PYENV_ROOT", Path.home() / ".pyenv")) / "versions"
    name = f"python{version}"
    for path in (shutil.which(name), *sorted(pyenv.glob(f"{version}.*/bin/{name}"), reverse=True)):
        if path is not None and subprocess.run([path, "-V"], capture_output=True).returncode == 0:
            return str(path)  # a shim of pyenv is on the PATH, but may refuse to run
    return None


def newest():
    """The highest version of Python that is here."""
    minor = int(_OLDEST.split(".")[1])
    return [v for v in (f"3.{m}" for m in range(minor, minor + 10)) if interpreter(v)][-1]


def lowest(requirements):
    """The release that each lower bound names, in its last correction: numpy>=1.26 is 1.26.*."""
    return tuple(re.sub(r">=([\d.]+)", r"==\1.*", each) for each in requirements)


def of_tests(*names):
    """These requirements of the extra ``test``, with their bounds."""
    found = _PROJECT["optional-dependencies"]["test"]
    return tuple(each for each in found if re.split(r"\W", each)[0] in names)


class Environment(NamedTuple):
    """What is installed beside the package, and how the suite is run there."""

    python: str
    extra: str = "[test]"
    requirements: tuple[str, ...] = ()
    variables: tuple[tuple[str, str], ...] = ()


def table():
    """Every environment, by name; those that are installed alike share one folder."""
    last = newest()
    known = re.findall(r"Python :: (3\.\d+)", "\n".join(_PROJECT["classifiers"]))
    return {
        # Newer pyarrow refuses NumPy 1 when it is imported, and does not tell pip.
        "oldest": Environment(
            _OLDEST, requirements=lowest((*_PROJECT["dependencies"], *of_tests("pyarrow")))
        ),
        **{f"python{v}": Environment(v) for v in known if v != last},
        "newest": Environment(last),
        "one-thread": Environment(last, variables=(("RECMETRICS_NUM_THREADS", "1"),)),
        "warnings": Environment(last, variables=(("PYTHONWARNINGS", "error"),)),
        "no-jit": Environment(last, variables=(("NUMBA_DISABLE_JIT", "1"),)),
        "core": Environment(last, extra="", requirements=of_tests("hypothesis", "pytest")),
    }


def made(environment, also, folder, done):
    """The Python of an environment's folder, made unless one that is alike was made before."""
    key = environment[:3]
    if key not in done:
        place = folder / str(len(done))
        subprocess.run([interpreter(environment.python), "-m", "venv", place], check=True)
        python = str(place / "bin" / "python")
        pip = [python, "-m", "pip", "install", "--quiet", "--disable-pip-version-check"]
        package = ["-e", f"{_ROOT}{environment.extra}"]
        subprocess.run([*pip, *package, *environment.requirements, *also], check=True)
        done[key] = python
    return done[key]


def tested(environment, python, tests, verbose):
    """Run the suite; returns whether it passed, and what it ended in."""
    arguments = [*["-q", "-rfEs", "-p", "no:cacheprovider", "--color=no"], *tests]
    variables = os.environ | dict(environment.variables) | {"PYTHONDONTWRITEBYTECODE": "1"}
    variables.pop("PYTHONPATH", None)
    command = [python, "-m", "pytest", *arguments]
    done = subprocess.run(command, cwd=_ROOT, env=variables, capture_output=True, text=True)
    lines = done.stdout.splitlines()
    if done.returncode != 0:
        failures = lines[-300:] if verbose else [x for x in lines if re.match("FAILED|ERROR", x)]
        print(*failures, sep="\n")
        print(*done.stderr.splitlines()[-20:], sep="\n")
    elif verbose:
        print(*(line for line in lines if line.startswith("SKIPPED")), sep="\n")
    return done.returncode == 0, lines[-1].strip("= ") if lines else "pytest said nothing"


def main():
    environments = table()
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("names", nargs="*", metavar="name", help=f"of {', '.join(environments)}")
    parser.add_argument("--tests", nargs="+", default=[], help="files, instead of the whole suite")
    parser.add_argument("--also", nargs="+", default=[], help="more to install, such as torch")
    parser.add_argument("--verbose", action="store_true", help="show skips, and whole failures")
    asked = parser.parse_args()
    unknown = set(asked.names) - set(environments)
    if unknown:
        parser.error(f"unknown: {', '.join(sorted(unknown))}; known: {', '.join(environments)}")
    failed, told, done = [], [], {}

    def tell(line):
        told.append(line)
        print(line, flush=True)

    names = asked.names or list(environments)
    with tempfile.TemporaryDirectory() as folder:
        for name in names:
            environment = environments[name]
            if interpreter(environment.python) is None:
                tell(f"{name}: no Python {environment.python} here")
                continue
            python = made(environment, asked.also, Path(folder), done)
            versions = subprocess.run([python, "-c", _VERSIONS], capture_output=True, text=True)
            passed, line = tested(environment, python, asked.tests, asked.verbose)
            tell(f"{name} ({versions.stdout.strip()}): {line}")
            failed += [name] * (not passed)
    tell(f"{len(names)} environments, {len(failed)} failed {' '.join(failed)}".strip())
    if not asked.names and not asked.tests:
        record("Environments", *told)
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
