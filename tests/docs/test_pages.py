"""Every page reads in a repository as on the site, and is as short as it may be."""

import importlib
import re
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
DOCS = ROOT / "docs"
README = ROOT / "README.md"
FOLDERS = [DOCS, ROOT / "benchmarks", ROOT / "examples", ROOT / "tests"]
PAGES = [*ROOT.glob("*.md"), *(page for folder in FOLDERS for page in folder.rglob("*.md"))]
GENERATED = [DOCS / "conventions.md", DOCS / "supply.md", *(DOCS / "metrics").iterdir()]
CODE = re.compile(r"^( *)(```+).*?^\1\2$|`[^`\n]+`", re.DOTALL | re.MULTILINE)
LINK = re.compile(r"\]\(([^)\s]+)\)")
EXTERNAL = re.compile(r"https?:|mailto:")
# Tabs and admonitions of the site; a mark that a build fills in; marks with nothing between them.
UNREADABLE = re.compile(
    r'^ *(?:=== "|!!! |\?\?\?\+? ).*|^<!-- (?:picture|differences).*|<!-- [^>]*begin -->\s*<!-- .*',
    re.MULTILINE,
)

sys.path.insert(0, str(DOCS / "site"))
catalogue = importlib.import_module("catalogue")


def page_id(page):
    return str(page.relative_to(ROOT))


def anchors(page):
    """The anchors of the headings, as a repository and the site write them."""
    headings = re.findall(
        r"^#+ (.*)", re.sub(r"^```.*?^```", "", page.read_text(), flags=re.S | re.M), re.M
    )
    return {re.sub(r"[^\w\- ]", "", heading).lower().replace(" ", "-") for heading in headings}


def dead_links(page, text):
    """The relative links of a text that lead to no file or to no heading."""
    dead = []
    for link in LINK.findall(CODE.sub("", text)):
        path, _, anchor = link.partition("#")
        target = page.parent / path if path else page
        if not EXTERNAL.match(link) and (
            not target.exists() or (anchor and anchor not in anchors(target))
        ):
            dead.append(link)
    return dead


@pytest.mark.parametrize("page", PAGES, ids=page_id)
def test_a_page_reads_where_it_is(page):
    text = page.read_text()
    assert dead_links(page, text) == []
    assert UNREADABLE.findall(CODE.sub("", text)) == []


@pytest.mark.parametrize(
    "text",
    [
        "[a page](docs/absent.md)",
        "[a heading](docs/inputs.md#absent)",
        "![a picture](absent.png)",
        '=== "LensKit"\n\n    text',
        '!!! note "A note"\n    text',
        '??? quote "Folded"\n    text',
        "<!-- differences: ranx -->",
        "<!-- a: begin -->\n<!-- a: end -->",
    ],
)
def test_what_cannot_be_read_is_found(text):
    assert dead_links(README, text) or UNREADABLE.search(text)


def test_the_pages_of_the_metrics_are_current():
    written = catalogue.files()
    assert {str(path): path.read_text() for path in written if path.exists()} == {
        str(path): text for path, text in written.items()
    }
    assert {*(DOCS / "metrics").iterdir(), *(DOCS / "pictures").iterdir()} < set(written)


def test_the_navigation_has_the_titles_of_the_pages():
    titled = re.findall(r"^ +- (.+): \S+\.md$", (ROOT / "mkdocs.yml").read_text(), re.MULTILINE)
    assert titled == []


def words(*pages):
    return sum(len(page.read_text().split()) for page in pages)


def test_the_pages_are_short():
    assert words(README) <= 1_100
    assert words(*(set(DOCS.rglob("*.md")) - set(GENERATED))) <= 17_000
