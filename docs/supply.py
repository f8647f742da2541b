"""Write ``supply.md``: what each extra pulls in, and under which licences.

python docs/supply.py            asks pip what it would install for each extra; writes the page
python docs/supply.py --check    without a network: whether the page names what pyproject.toml asks
"""

import argparse
import datetime
import json
import platform
import re
import subprocess
import sys
import tempfile
import tomllib
from importlib.metadata import version
from pathlib import Path

HERE = Path(__file__).parent
ROOT = HERE.parent
PAGE = HERE / "supply.md"
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
EXTRAS = {"": PROJECT["dependencies"], **PROJECT["optional-dependencies"]}

# The build of torch without CUDA, where pip would find others: what it needs beside NVIDIA's.
CONSTRAINTS = "torch==2.13.0\n"

HEAD = """\
# Dependencies and licences

<!-- written by `python docs/supply.py` from what pip would install; do not edit -->

The library needs NumPy, SciPy and Numba. All other packages are optional. An extra installs
them, for example `pip install '.[tables]'` in a clone. They are imported only when they are used.
"""
TORCH = """\
The table lists the CPU build of `torch`. A GPU build also installs the libraries of the GPU's
maker, which have their own licences. Which build pip installs depends on the platform and the
package index.
"""


def canonical(requirement):
    """The name of a distribution as registries compare them."""
    name = re.match(r"[\w.-]+", requirement)[0]
    return re.sub(r"[-_.]+", "-", name).lower()


def direct(extra):
    """The packages that an extra asks for by name, those of extras within it as well."""
    found = set()
    for requirement in EXTRAS[extra]:
        if canonical(requirement) == PROJECT["name"]:
            inner = re.search(r"\[(.*)\]", requirement)[1].split(",")
            found.update(*map(direct, inner))
        else:
            found.add(canonical(requirement))
    return found


def resolved(extra):
    """The metadata of each package that pip would install, by name."""
    with tempfile.TemporaryDirectory() as folder:
        report, constraints = Path(folder) / "report.json", Path(folder) / "constraints.txt"
        constraints.write_text(CONSTRAINTS)
        pip = [sys.executable, "-m", "pip", "install", "--dry-run", "--ignore-installed"]
        options = ["--quiet", "--disable-pip-version-check", "--report", report, "-c", constraints]
        subprocess.run([*pip, *options, f"{ROOT}[{extra}]" if extra else ROOT], check=True)
        installs = json.loads(report.read_text())["install"]
    found = {canonical(each["metadata"]["name"]): each["metadata"] for each in installs}
    del found[PROJECT["name"]]
    return found


def licence(metadata):
    """The licence as the package declares it, shortly."""
    if metadata.get("license_expression"):
        return metadata["license_expression"]
    classifiers = [c for c in metadata.get("classifier", ()) if c.startswith("License :: ")]
    if classifiers:
        return ", ".join(c.split(" :: ")[-1] for c in classifiers)
    text = metadata.get("license", "").strip()
    return text.splitlines()[0] if text else "not declared"


def page(packages):
    """The whole page."""
    day = datetime.datetime.now(datetime.UTC).date()
    core = set(packages[""])
    lines = [
        HEAD,
        f"These lists were resolved on {day} with Python {platform.python_version()} on "
        f"{platform.system()} {platform.machine()}. They may differ for other versions and "
        "platforms.\n",
        "| extra | requires | also installs, in addition to what the library needs |",
        "| --- | --- | --- |",
    ]
    for extra, found in packages.items():
        asked = direct(extra) & set(found)
        rest = set(found) - asked - (core if extra else set())
        name = f"`{extra}`" if extra else "none"
        lines.append(f"| {name} | {', '.join(sorted(asked))} | {', '.join(sorted(rest)) or '-'} |")
    lines += [
        "",
        TORCH,
        "## Licences",
        "",
        "The table lists the licence that each package declares.",
        "",
    ]
    lines += ["| package | version | licence |", "| --- | --- | --- |"]
    every = {name: metadata for found in packages.values() for name, metadata in found.items()}
    for name, metadata in sorted(every.items()):
        lines.append(f"| {name} | {metadata['version']} | {licence(metadata)} |")
    return "\n".join(lines) + "\n"


def faults():
    """What pyproject.toml asks for and the page does not say, or the page says beyond that."""
    rows = re.findall(r"^\| (?:none|`(\w+)`) \| (.*?) \|", PAGE.read_text(), re.MULTILINE)
    written = {extra: set(names.split(", ")) for extra, names in rows}
    found = [f"extra {extra!r}" for extra in written.keys() ^ EXTRAS.keys()]
    for extra in written.keys() & EXTRAS.keys():
        # What a marker leaves out on the Python of the page may be missing there.
        certain = {canonical(each) for each in EXTRAS[extra] if ";" not in each}
        missing = certain - {PROJECT["name"]} - written[extra]
        found += [f"{extra}: {name}" for name in sorted(missing | written[extra] - direct(extra))]
    return found


def main():
    """Write the page, or check it."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--check", action="store_true", help="write nothing")
    if parser.parse_args().check:
        differing = faults()
        if differing:
            sys.exit(f"{PAGE.name} and pyproject.toml differ in {'; '.join(differing)}")
        return
    if int(version("pip").split(".")[0]) < 25:
        sys.exit("an older pip leaves licences out; type: python -m pip install 'pip>=25'")
    PAGE.write_text(page({extra: resolved(extra) for extra in EXTRAS}))


if __name__ == "__main__":
    main()
