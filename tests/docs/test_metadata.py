"""What the files around the package say of it: addresses, installation, versions, workflows."""

import importlib.util
import json
import os
import re
import subprocess
import sys
import tomllib
from pathlib import Path

import pytest
from inside import install

import recmetrics
from recmetrics._core.errors import EXTRAS

ROOT = Path(__file__).parents[2]
PYPROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text())
PROJECT = PYPROJECT["project"]
NAME = PROJECT["name"]

sys.path.insert(0, str(ROOT / "docs"))
addresses = importlib.import_module("addresses")

PAGES = [
    *ROOT.glob("*.md"),
    *(ROOT / "docs").rglob("*.md"),
    *(ROOT / "docs").rglob("*.py"),
    *(ROOT / "benchmarks").glob("*.*"),
    *(ROOT / "examples").glob("*.py"),
    *(ROOT / "recmetrics").rglob("*.py"),
]
TEXTS = {
    str(path.relative_to(ROOT)): path.read_text(encoding="utf-8")
    for path in PAGES
    if path.suffix in (".md", ".py")
}
# Installs of this project from a registry, where it is not.
ASSUMED = re.compile(rf"pip install [^\n`#&]*({NAME}|(?<![/\w])recmetrics(?![/\w-]))")
GROUP = re.compile(r"--group (\w+)")
WARNED = re.compile(r"Do\s+not\s+run\s+`pip\s+install\s+recmetrics`")
URLS = {
    "Repository": "https://example.org/r",
    "Issues": "https://example.org/i",
    "Documentation": "https://example.org/d",
}


# --- Installation ---------------------------------------------------------------------------------


def test_no_install_line_assumes_a_registry():
    found = {
        name: match[0]
        for name, text in TEXTS.items()
        for match in ASSUMED.finditer(WARNED.sub("", text))
    }
    assert found == {}


@pytest.mark.parametrize(
    "line, assumes",
    [
        (f"pip install '{NAME}[dask]'", True),
        ("pip install recmetrics", True),
        ("pip install -U recmetrics pandas", True),
        ("pip install /path/to/recmetrics", False),
        ("pip install '.[dask]'", False),
        ('pip install "narwhals>=2.9"', False),
    ],
)
def test_an_install_line_that_assumes_a_registry_is_found(line, assumes):
    assert bool(ASSUMED.search(line)) == assumes


def test_the_extras_of_messages_are_those_of_the_project():
    optional = PROJECT["optional-dependencies"]
    assert {extra: list(packages) for extra, packages in EXTRAS.items()} == {
        extra: optional[extra] for extra in EXTRAS
    }


def test_the_extras_that_pages_install_exist():
    named = {
        extra
        for text in TEXTS.values()
        for found in re.findall(r"(?:/path/to/recmetrics|'\.|^\.)\[([\w,]+)\]", text)
        for extra in found.split(",")
    }
    assert {"cli", "dask", "tables"} <= named <= set(PROJECT["optional-dependencies"])


def test_the_groups_that_developers_install_exist():
    texts = {**TEXTS, ".ci/checks": (ROOT / ".ci" / "checks").read_text()}
    lines = [line for text in texts.values() for line in text.splitlines() if "--group" in line]
    named = {group for line in lines if "pip " in line for group in GROUP.findall(line)}
    assert {"bench", "dev", "docs"} <= named <= set(PYPROJECT["dependency-groups"])


def test_no_folder_of_tests_has_the_name_of_a_package():
    """Such a folder is found where the package is absent, since tests import from tests/."""
    extras = PROJECT["optional-dependencies"].values()
    requirements = PROJECT["dependencies"] + [package for extra in extras for package in extra]
    packages = {re.split(r"\W", requirement)[0] for requirement in requirements}
    assert "dask" in packages
    folders = {path.name for path in (ROOT / "tests").iterdir() if path.is_dir()}
    assert not folders & packages


def test_an_install_line_has_the_packages_that_are_named():
    assert install("tables") == 'pip install "narwhals>=2.9"'
    assert install("cli", "matplotlib") == 'pip install "matplotlib>=3.8"'
    assert install("cli") == ('pip install "matplotlib>=3.8" "narwhals>=2.9" "polars>=1.0"')


# --- Addresses ------------------------------------------------------------------------------------


def test_the_addresses_are_those_of_the_project():
    command = [sys.executable, ROOT / "docs" / "addresses.py", "--check"]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert (done.returncode, done.stderr) == (0, "")


def test_addresses_are_put_where_they_belong_and_taken_out_again():
    readme, citation = ((ROOT / name).read_text() for name in ("README.md", "CITATION.cff"))
    for put, text in ((addresses.readme, readme), (addresses.citation, citation)):
        with_urls = put(text, URLS)
        assert "https://example.org/r" in with_urls
        assert put(with_urls, URLS) == with_urls
        assert put(with_urls, {}) == put(text, {})
    assert "[Issues](https://example.org/i)" in addresses.readme(readme, URLS)
    assert addresses.citation(citation, URLS).endswith("url: https://example.org/d\n")


def test_the_links_of_the_readme_are_absolute_in_the_wheel():
    text = "[a](docs/a.md#b), [c\nd](#e), [f](https://example.org/f) and ![g](g.png)"
    there = "https://example.org/r/blob/v1.2/"
    assert addresses.absolute(text, URLS, "1.2") == (
        f"[a]({there}docs/a.md#b), [c\nd]({there}README.md#e), [f](https://example.org/f) and "
        "![g](https://example.org/r/raw/v1.2/g.png)"
    )
    assert addresses.absolute(text, {}, "1.2") == text
    readme = addresses.absolute((ROOT / "README.md").read_text(), URLS, "1.2")
    links = re.findall(r"\]\(([^)]*)", readme)
    assert len(links) > 40
    assert all(link.startswith("https://") for link in links)


def test_an_address_that_only_the_project_has_is_told(tmp_path):
    (tmp_path / "docs").mkdir()
    for name in ("docs/addresses.py", "README.md", "CITATION.cff", "pyproject.toml"):
        (tmp_path / name).write_text((ROOT / name).read_text())
    project = tmp_path / "pyproject.toml"
    text = re.sub(r"\[project.urls\]\n(#? ?\w+ = .*\n)*", "", project.read_text())
    project.write_text(text + '\n[project.urls]\nRepository = "https://example.org/r"\n')
    command = [sys.executable, tmp_path / "docs" / "addresses.py"]
    done = subprocess.run([*command, "--check"], capture_output=True, text=True, check=False)
    assert done.returncode == 1
    assert "README.md has other addresses than pyproject.toml" in done.stderr
    subprocess.run(command, check=True)
    assert subprocess.run([*command, "--check"], check=False).returncode == 0


# --- Citation and versions ------------------------------------------------------------------------


def test_the_citation_is_of_this_version():
    lines = (ROOT / "CITATION.cff").read_text().splitlines()
    facts = dict(line.split(": ", 1) for line in lines if re.match(r"[\w-]+: ", line))
    assert facts["version"] == recmetrics.__version__
    assert facts["license"] == PROJECT["license"]
    assert PROJECT["authors"][0]["name"] in (ROOT / "CITATION.cff").read_text()


def test_every_version_of_python_is_declared_and_run():
    declared = re.findall(r"Python :: (3\.\d+)", "\n".join(PROJECT["classifiers"]))
    assert declared[0] == PROJECT["requires-python"].removeprefix(">=")
    workflow = (ROOT / ".github" / "workflows" / "checks.yml").read_text()
    assert json.loads(re.search(r"python: (\[.*\])", workflow)[1]) == declared


# --- Workflows and hooks --------------------------------------------------------------------------

SCHEMAS = {
    ".github/dependabot.yml": "vendor.dependabot",
    ".github/workflows/checks.yml": "vendor.github-workflows",
    ".github/workflows/release.yml": "vendor.github-workflows",
    "CITATION.cff": "vendor.citation-file-format",
}


def checked(schema, path):
    command = [sys.executable, "-m", "check_jsonschema", "--builtin-schema", schema, path]
    return subprocess.run(command, capture_output=True, text=True, check=False)


@pytest.mark.skipif(
    importlib.util.find_spec("check_jsonschema") is None, reason="check-jsonschema is not installed"
)
@pytest.mark.parametrize("name", SCHEMAS)
def test_a_file_has_the_form_of_its_schema(name, tmp_path):
    done = checked(SCHEMAS[name], ROOT / name)
    assert done.returncode == 0, done.stdout
    wrong = tmp_path / Path(name).name
    text = (ROOT / name).read_text()
    wrong.write_text(re.sub(r"^(jobs|authors|updates):", r"\1s:", text, flags=re.MULTILINE))
    assert checked(SCHEMAS[name], wrong).returncode == 1


def test_the_hooks_run_what_the_checks_run():
    hooks = (ROOT / ".pre-commit-config.yaml").read_text()
    entries = re.findall(r"entry: (.*)", hooks)
    checks = (ROOT / ".ci" / "checks").read_text()
    assert entries == ["ruff format --check .", "ruff check .", "mypy"]
    for entry in entries:
        line = rf"^\.venv/bin/{re.escape(entry)}( & .*)?$"
        assert re.search(line, checks, re.MULTILINE), entry
    assert os.access(ROOT / ".ci" / "run", os.X_OK) or os.name == "nt"
