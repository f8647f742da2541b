"""The site has the whole of its pages, and its search works from a folder, without a server."""

import html
import os
import re
import shutil
import subprocess
import sys
from importlib.util import find_spec
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
CHROMIUM = next(filter(None, map(shutil.which, ["chromium", "chromium-browser"])), None)
FOUND = re.compile(r'<a href="([^"]*)" class="md-search-result__link"')


@pytest.fixture(scope="module")
def site(tmp_path_factory):
    """The folder of the site: a new one, unless .ci/run has just built it."""
    if "RECMETRICS_SITE" in os.environ:
        return Path(os.environ["RECMETRICS_SITE"])
    if find_spec("material") is None or find_spec("latex2mathml") is None:
        pytest.skip("the group docs is not installed")
    folder = tmp_path_factory.mktemp("site")
    command = [sys.executable, "-m", "mkdocs", "build", "--quiet", "--site-dir", folder]
    quiet = os.environ | {"NO_MKDOCS_2_WARNING": "1"}
    subprocess.run(command, cwd=ROOT, check=True, env=quiet)
    return folder


@pytest.mark.thorough
def test_a_page_has_the_headings_of_its_source(site):
    for page in (ROOT / "docs").rglob("*.md"):
        built = (site / page.relative_to(ROOT / "docs")).with_suffix(".html").read_text()
        source = re.sub(r"^```.*?^```", "", page.read_text(), flags=re.DOTALL | re.MULTILINE)
        assert len(re.findall(r"<h[1-6][ >]", built.partition("<article")[2])) >= len(
            re.findall(r"^#+ ", source, re.MULTILINE)
        ), page


@pytest.mark.thorough
@pytest.mark.skipif(CHROMIUM is None, reason="chromium is not installed")
@pytest.mark.parametrize(
    "words, page",
    [
        ("jupyter", "guides/batch.html"),
        ("leave one out", "inputs.html"),
        ("confidence", "guides/batch.html"),
        ("ndcg@10", "metrics/ndcg.html"),
    ],
)
def test_words_find_their_page(site, tmp_path, words, page):
    """The first result in a browser that has the site from a folder."""
    address = f"{(site / 'index.html').as_uri()}?q={words.replace(' ', '+')}"
    command = [CHROMIUM, "--headless", "--no-sandbox", "--disable-gpu", "--dump-dom"]
    command += ["--virtual-time-budget=20000", f"--user-data-dir={tmp_path}", address]
    done = subprocess.run(command, capture_output=True, text=True, check=True, timeout=120)
    first, *_ = FOUND.findall(done.stdout)
    assert html.unescape(first).partition("?")[0].partition("#")[0].endswith(page)
