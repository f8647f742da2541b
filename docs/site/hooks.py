"""What the site is made of beside the pages in this folder, and what may not be missing from it.

The reference of the public names and the examples are written at build; the README and the pages
of other folders are copied. A build fails where a link leads nowhere, a public name has no
docstring, or a page would load something from the network.
"""

import html
import logging
import posixpath
import re
import sys
from pathlib import Path
from typing import Any

from latex2mathml.converter import convert
from mkdocs.exceptions import PluginError
from mkdocs.structure.files import File, Files

HERE = Path(__file__).parent
ROOT = HERE.parents[1]
sys.path[:0] = [str(ROOT), str(HERE), str(HERE.parent)]

import addresses  # noqa: E402 (in the folder above)
import catalogue  # noqa: E402 (beside this file)
import reference  # noqa: E402

log = logging.getLogger("mkdocs.hooks.recmetrics")

# Files of the repository that the site shows as pages; links to them lead there.
COPIED = {
    str(file.relative_to(ROOT)): f"benchmarks/{file.name.replace('README', 'index')}"
    for pattern in ("*.md", "*.png")
    for file in sorted((ROOT / "benchmarks").glob(pattern))
} | {
    "README.md": "index.md",
    "CHANGELOG.md": "changelog.md",
    "CONTRIBUTING.md": "contributing.md",
    "examples/tour.ipynb": "examples/tour.ipynb",
}
# The page that a search for these words must lead to: docs/site/search.js tries each of them.
SEARCHED = {
    "guides/batch.md": ["confidence", "Jupyter"],
    "guides/tables.md": ["significance", "p-value"],
    "guides/training.md": ["TensorBoard", "MLflow", "wandb"],
    "inputs.md": ["exclude", "leave one out"],
    "recipes.md": ["implicit"],
} | catalogue.searched()
# Pages that come after those about the use of the library.
_BEHIND = re.compile(r"benchmarks/|(changelog|contributing|reference/types|supply)\.md")
_LINK = re.compile(r"(\]\()([^)#\s:]+)((?:#[^)\s]*)?\))")
_FORMULA = re.compile(r"^```math\n(.*)\n```\n\n((?:- \$`.*\n)*)", re.MULTILINE)
_LETTER = re.compile(r"- \$`(.*)`\$: (.*)")
_CALL = re.compile(r"<td><code>[^<]+")
_BREAK = re.compile(r"\)(?=\.)|\((?=[^\s<]{30})")
_LOADED = re.compile(
    r"""<(?:script|img|iframe|source)[^>]+src=["']?(?:https?:)?//|"""
    r"""<link[^>]+rel=["']?(?:stylesheet|preconnect|icon)[^>]+href=["']?(?:https?:)?//|"""
    r"""@import\s+(?:url\()?["']?(?:https?:)?//|url\(["']?(?:https?:)?//"""
)


def on_config(config: Any) -> Any:
    """Fill in the parts of the navigation that depend on the code."""
    if config.strict:  # which counts warnings, and --quiet would silence them before that
        mkdocs_log = logging.getLogger("mkdocs")
        mkdocs_log.setLevel(min(mkdocs_log.level, logging.WARNING))
    filled = {
        "Metrics": catalogue.navigation(),
        "Reference": reference.navigation(),
        "Examples": [path for path, _, _ in examples()],
        "Benchmarks": [path for path in COPIED.values() if re.match(r"benchmarks/.*\.md", path)],
    }
    config.nav = _fill(config.nav, filled)
    urls = addresses.addresses()
    config.repo_url, config.site_url = urls.get("Repository"), urls.get("Documentation")
    return config


def _fill(nav: list[Any], filled: dict[str, list[Any]]) -> list[Any]:
    entries = []
    for entry in nav:
        if isinstance(entry, dict):
            [(title, inside)] = entry.items()
            entry = {title: _fill(inside, filled) if inside else filled[title]}
        entries.append(entry)
    return entries


def on_files(files: Files, config: Any) -> Files:
    """Add the generated pages."""
    pages = reference.pages()
    for path, title, code in examples():
        pages[path] = f'# {title}\n\n```py title="{path[:-3]}.py"\n{code}```\n'
    for source, path in COPIED.items():
        content = (ROOT / source).read_bytes()
        files.append(File.generated(config, path, content=content))
    for path, text in pages.items():
        files.append(File.generated(config, path, content=text))
    return files


def examples() -> list[tuple[str, str, str]]:
    """The page, the first line and the code of each example."""
    found = []
    for file in sorted((ROOT / "examples").glob("*.py")):
        code = file.read_text()
        title = code.partition('"""')[2].partition("\n")[0].rstrip('."')
        found.append((f"examples/{file.stem}.md", title, code))
    return found


def on_page_markdown(markdown: str, page: Any, **_: Any) -> str:
    """Lead links to files of the repository to their pages; write formulas as MathML."""
    page.meta["tags"] = SEARCHED.get(page.file.src_uri, [])  # the search reads these two
    page.meta["search"] = {"boost": 0.01 if _BEHIND.match(page.file.src_uri) else 1}
    folder = posixpath.join("docs", posixpath.dirname(page.file.src_uri))
    if page.file.src_uri in COPIED.values():
        [source] = [s for s, path in COPIED.items() if path == page.file.src_uri]
        folder = posixpath.dirname(source)

    def lead(match: re.Match[str]) -> str:
        before, target, after = match.groups()
        path = posixpath.normpath(posixpath.join(folder, target))
        shown = COPIED.get(path)
        if path.startswith("examples/") and path.endswith(".py"):
            shown = path.removesuffix(".py") + ".md"
        elif path.startswith("docs/") and folder != "docs":
            shown = path.removeprefix("docs/")
        if shown is None:
            return match[0]
        return before + posixpath.relpath(shown, posixpath.dirname(page.file.src_uri)) + after

    return _LINK.sub(lead, _FORMULA.sub(_mathml, markdown))


def on_page_content(html: str, **_: Any) -> str:
    """Let a long call in a table break where it has no space."""
    return _CALL.sub(lambda call: _BREAK.sub(r"\g<0><wbr>", call[0]), html)


def _mathml(found: re.Match[str]) -> str:
    latex, legend = found.groups()
    terms = "".join(
        f"<dt>{convert(letter, display='inline')}</dt><dd>{html.escape(meaning)}</dd>"
        for letter, meaning in _LETTER.findall(legend)
    )
    return (
        f'<div class="formula"><div data-search-exclude>{convert(latex, display="block")}</div>'
        f"<dl data-search-exclude>{terms}</dl></div>\n\n"
    )


def on_post_build(config: Any) -> None:
    """Refuse a site that leaves out a public name, repeats itself or loads from elsewhere."""
    site = Path(config.site_dir)
    missing = reference.undocumented() + reference.repeated(site)
    for page, names in reference.listed().items():
        html = (site / page.replace(".md", ".html")).read_text()
        missing += [f"{name} is not on {page}" for name in names if f'id="{name}"' not in html]
    loads = [
        f"{file.relative_to(site)} loads from the network: {match[0]}"
        for file in sorted(site.rglob("*"))
        if file.suffix in (".html", ".css", ".svg")
        for match in [_LOADED.search(file.read_text())]
        if match
    ]
    if missing or loads:
        raise PluginError("\n".join([*missing, *loads]))
    log.info("every public name has its entry, and nothing is loaded from the network")
