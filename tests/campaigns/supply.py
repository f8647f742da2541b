"""Wheel and sdist of a commit: what is in them, the same bytes twice, and whether they work.

    python tests/campaigns/supply.py
    python tests/campaigns/supply.py --commit v0.1.0 --tests tests

Both are built from two clean clones, in folders, time zones, file modes and file times that differ;
the wheel a third time, without the sdist between. Then the wheel is installed in a new environment,
and tests of the unpacked sdist, without its package, run against it. Everything lies in a temporary
folder; build tools and dependencies come from the package registry that pip knows.
"""

import argparse
import hashlib
import os
import shutil
import subprocess
import sys
import tarfile
import tempfile
import zipfile
from pathlib import Path

from runs import record

_ROOT = Path(__file__).resolve().parents[2]
_CENTRAL = ["kernels", "inputs", "selection", "spec", "errors", "evaluator", "public", "readme"]
_WHERE = "import recmetrics; print(recmetrics.__file__)"


def run(*command, **options):
    """What a command prints; ends the script where it fails."""
    done = subprocess.run(command, capture_output=True, text=True, **options)
    if done.returncode != 0:
        sys.exit(f"{' '.join(map(str, command))} failed:\n{done.stdout}{done.stderr}")
    return done.stdout


def environment(folder, *requirements):
    """A new environment with these requirements; its Python."""
    run(sys.executable, "-m", "venv", folder)
    python = str(folder / "bin" / "python")
    run(python, "-m", "pip", "install", "--disable-pip-version-check", *requirements)
    return python


def built(python, commit, folder, *arguments, umask, when, zone):
    """Build a clean clone that differs in what must not show; the files built, by their ends."""
    clone = folder / "clone"
    run("git", "clone", "--quiet", _ROOT, clone, umask=umask)
    run("git", "-C", clone, "checkout", "--quiet", commit)
    for file in clone.rglob("*"):
        os.utime(file, (when, when))
    command = [python, "-m", "build", "--outdir", folder / "dist", *arguments, clone]
    variables = {
        k: v for k, v in os.environ.items() if k not in ("PYTHONPATH", "SOURCE_DATE_EPOCH")
    }
    run(*command, env=variables | {"TZ": zone, "PYTHONHASHSEED": str(umask)}, umask=umask)
    return {file.suffix: file for file in (folder / "dist").iterdir()}


def expect_files(what, found, expected):
    """End the script where a file is missing or one too many."""
    if found != expected or len(set(found)) != len(found):
        missing, more = set(expected) - set(found), set(found) - set(expected)
        sys.exit(f"{what} lacks {sorted(missing)} and has {sorted(more)} beyond what belongs in it")


def check_contents(wheel, sdist, tracked):
    """Wheel: the package and its metadata. Sdist: all that is tracked, and PKG-INFO."""
    name = "-".join(wheel.name.split("-")[:2])
    metadata = ("METADATA", "RECORD", "WHEEL", "entry_points.txt", "licenses/LICENSE")
    package = [file for file in tracked if file.startswith("recmetrics/")]
    if "recmetrics/py.typed" not in package:
        sys.exit("recmetrics/py.typed is not tracked")
    with zipfile.ZipFile(wheel) as archive:
        in_wheel = archive.namelist()
    of_wheel = package + [f"{name}.dist-info/{file}" for file in metadata]
    expect_files("the wheel", sorted(in_wheel), sorted(of_wheel))
    with tarfile.open(sdist) as archive:
        in_sdist = [member.name for member in archive if not member.isdir()]
    of_sdist = [f"{name}/{file}" for file in [*tracked, "PKG-INFO"]]
    expect_files("the sdist", sorted(in_sdist), sorted(of_sdist))
    print(f"{wheel.name}: {len(in_wheel)} files; {sdist.name}: {len(in_sdist)} files")


def check_bytes(builds):
    """Every file of the same kind has the same digest."""
    for kind in (".whl", ".gz"):
        files = [files[kind] for files in builds if kind in files]
        digests = {hashlib.sha256(file.read_bytes()).hexdigest() for file in files}
        print(f"{files[0].name}: built {len(files)} times, sha256 {' and '.join(sorted(digests))}")
        if len(digests) != 1:
            sys.exit("the same commit gave other bytes")


def tested(wheel, sdist, tests, folder):
    """Run tests of the sdist against the installed wheel; pytest's closing line."""
    python = environment(folder / "venv", f"{wheel}[test]")
    with tarfile.open(sdist) as archive:
        archive.extractall(folder, filter="data")
    unpacked = folder / sdist.name.removesuffix(".tar.gz")
    shutil.rmtree(unpacked / "recmetrics")  # so that nothing but the wheel can be imported
    variables = {k: v for k, v in os.environ.items() if k != "PYTHONPATH"}
    where = run(python, "-c", _WHERE, cwd=unpacked, env=variables).strip()
    if not Path(where).is_relative_to(folder / "venv"):
        sys.exit(f"the tests would read {where}, not the wheel")
    command = [python, "-m", "pytest", "-q", "-p", "no:cacheprovider", "--color=no", *tests]
    return run(*command, cwd=unpacked, env=variables).splitlines()[-1]


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--commit", default="HEAD", help="or a tag")
    found = (path for name in _CENTRAL for path in _ROOT.glob(f"tests/**/test_{name}.py"))
    central = [str(path.relative_to(_ROOT)) for path in found]
    parser.add_argument("--tests", nargs="+", default=central, help="to run against the wheel")
    asked = parser.parse_args()
    commit = run("git", "-C", _ROOT, "rev-parse", asked.commit).strip()
    tracked = run("git", "-C", _ROOT, "ls-tree", "-r", "--name-only", commit).splitlines()
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        tools = environment(folder / "tools", "build", "twine")
        one, two, three = (folder / each for each in ("one", "another/two", "three"))
        builds = [
            built(tools, commit, one, umask=0o022, when=1e9, zone="UTC"),
            built(tools, commit, two, umask=0o077, when=1.5e9, zone="Asia/Tokyo"),
            built(tools, commit, three, "--wheel", umask=0o002, when=1.7e9, zone="UTC"),
        ]
        wheel, sdist = builds[0][".whl"], builds[0][".gz"]
        check_bytes(builds)
        check_contents(wheel, sdist, tracked)
        run(tools, "-m", "twine", "check", "--strict", wheel, sdist)
        line = tested(wheel, sdist, asked.tests, folder)
    line = f"{commit[:12]}: the same bytes, no file too many, metadata right; installed: {line}"
    print(line)
    record("Supply chain", line)
    return 0


if __name__ == "__main__":
    sys.exit(main())
