"""The reference: a page for each public module, a page of types, and what may not be wrong in them.

The modules are read, not imported: optional packages need not be installed.
"""

import collections
import functools
import itertools
import re
import textwrap
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import docstrings
import griffe

from recmetrics._core.spec.registry import METRICS

ROOT = Path(__file__).parents[2]
PACKAGE = "recmetrics"
COMMAND = "cli"  # which says itself what it takes
TYPES = "reference/types.md"
LATER = ("dask",)  # few need these pages

# The names of the package in the order in which users need them. Exceptions and warnings follow.
SECTIONS = {
    "Metrics of a model": [
        "Metrics",
        "Evaluation",
        "Evaluator",
        "StreamEvaluator",
        "EvaluationCounts",
        "UserCounts",
        "EventCounts",
    ],
    "Comparison of models": [
        "compare",
        "Comparison",
        "summary",
        "Summary",
        "overlap",
        "overlap_ranked",
        "Mean",
        "Difference",
        "Gate",
        "Verdict",
        "Movers",
        "Mover",
        "UsersNeeded",
        "CompactTable",
    ],
    "Side information": ["popularity_from", "propensity_from", "popularity_strata"],
    "Questions before and after": [
        "explain",
        "Explanation",
        "identify",
        "Identification",
        "Match",
        "audit",
        "audit_ranked",
        "Audit",
        "Finding",
        "InvalidItems",
        "warmup",
    ],
    "A metric of your own": ["metric", "OneUser"],
}
# Tags that end a sentence of a page, signatures and examples included; the names of a list entry.
_BLOCK = re.compile(r"<pre.*?</pre>|</?(?:p|li|td|h\d|div)\b[^>]*>", re.DOTALL)
_NAMES = re.compile(r"^(?:\w+ ?, )*\w+ ?: ")
FIRST = "compute"  # of the methods of Metrics: what most people look up


@functools.cache
def _package() -> Any:
    extensions = griffe.load_extensions(docstrings.Docstrings)
    return griffe.load(
        PACKAGE, search_paths=[str(ROOT)], extensions=extensions, resolve_aliases=True
    )


def _public_modules() -> list[Any]:
    """The modules with an ``__all__`` whose path has no private part."""

    def walk(module: Any) -> list[Any]:
        found = [module] if module.exports else []
        for name, member in sorted(module.members.items()):
            public = name != COMMAND and not name.startswith("_")
            if public and not member.is_alias and member.is_module:
                found += walk(member)
        return found

    return sorted(walk(_package()), key=lambda module: module.name in LATER)


def _page(module: Any) -> str:
    return f"reference/{module.path.replace('.', '-')}.md"


def navigation() -> list[Any]:
    """The entries of the reference in the navigation."""
    return [*({module.path: _page(module)} for module in _public_modules()), {"Types": TYPES}]


def listed() -> dict[str, list[str]]:
    """The public names that each page must show."""
    return {_page(m): [f"{m.path}.{name}" for name in _own_names(m)] for m in _public_modules()}


def _own_names(module: Any) -> list[str]:
    """The public names of a module; types, and those of the package, have their entries there."""
    names = [str(name) for name in module.exports if not module[name].is_attribute]
    return names if module is _package() else [n for n in names if n not in _package().exports]


def pages() -> dict[str, str]:
    """Each page, for mkdocstrings to fill."""
    return {_page(module): _written(module) for module in _public_modules()} | {
        TYPES: "# Types\n\n"
        "The names of types in the signatures of the reference.\n\n" + "".join(map(_type, _types()))
    }


def _written(module: Any) -> str:
    summary = module.docstring.value.partition("\n")[0] if module.docstring else ""
    parts = [f"# {module.path}\n", f"{summary}\n"]
    if module is _package():
        for title, names in _sections().items():
            parts += [f"## {title}\n", *map(_entry, names)]
        return "\n".join(parts)
    for name in _own_names(module):
        options, links = _of_inherited(f"{module.path}.{name}")
        parts.append(f"::: {module.path}.{name}\n{_options_of(options)}{links}")
    elsewhere = [str(name) for name in module.exports if name in _package().exports]
    if elsewhere:
        links = ", ".join(f"[`{name}`][{PACKAGE}.{name}]" for name in elsewhere)
        parts.append(f"The entries of {links} are on the page of `{PACKAGE}`.\n")
    return "\n".join(parts)


def _sections() -> dict[str, list[str]]:
    """The names of the package by section."""
    errors = [n for n in _own_names(_package()) if n.endswith(("Error", "Warning"))]
    return SECTIONS | {"Exceptions and warnings": errors}


def _entry(name: str) -> str:
    """Write what mkdocstrings turns into the entry of a name of the package."""
    if name != "Metrics":
        options, links = _of_inherited(f"{PACKAGE}.{name}")
        return _filled(name, *options) + links
    return (
        _filled(f"{name}.{FIRST}", f"toc_label: {name}.{FIRST}")
        + _filled(name, f'filters: ["!^_", "!^{FIRST}$"]')
        + f"#### Methods of one metric\n\n{_methods()}\n"
    )


def _of_inherited(path: str) -> tuple[list[str], str]:
    """The option that hides methods with an entry elsewhere, and links to these entries."""
    inherited = _inherited().get(path)
    if not inherited:
        return [], ""
    links = ", ".join(f"[`{each}`][{other}.{each}]" for each, other in inherited.items())
    hidden = f'filters: ["!^_", "!^({"|".join(inherited)})$"]'
    return [hidden], f"Inherited: {links}\n\n"


@functools.cache
def _inherited() -> dict[str, dict[str, str]]:
    """The methods that a class inherits as an earlier one does, with the path of that one."""
    first: dict[str, str] = {}
    found: dict[str, dict[str, str]] = {}
    names = itertools.chain.from_iterable(_sections().values())
    paths = [f"{PACKAGE}.{name}" for name in names]
    for module in _public_modules():
        paths += [f"{module.path}.{name}" for name in _own_names(module) if module != _package()]
    for path in paths:
        target = _package()[path.removeprefix(f"{PACKAGE}.")]
        target = target.final_target if target.is_alias else target
        for method, member in target.inherited_members.items() if target.is_class else ():
            if member.is_function and not method.startswith("_"):
                earlier = first.setdefault(member.canonical_path, path)
                if earlier != path:
                    found.setdefault(path, {})[method] = earlier
    return found


def _options_of(options: list[str]) -> str:
    return f"    options: {{{', '.join(options)}}}\n\n" if options else ""


def _filled(name: str, *options: str) -> str:
    return f"::: {PACKAGE}.{name}\n{_options_of(['heading_level: 3', *options])}"


def _methods() -> str:
    rows = "".join(
        f"| [`{each.method}`](../metrics/{each.name}.md) | "
        f"{' '.join(f'`{option}`' for option in each.options)} |\n"
        for each in METRICS.values()
    )
    return f"| method | options as keywords |\n| --- | --- |\n{rows}"


def _type(target: Any) -> str:
    """The entry of a type, under its path if it is public."""
    if target.is_class:
        options = "{members: false, show_root_full_path: false}"
        return f"::: {target.path}\n    options: {options}\n\n"
    about = target.docstring.value if target.docstring else ""
    path = next((m.path for m in _public_modules() if target.name in m.exports), "")
    name = f"{path}.{target.name}".lstrip(".")
    code = textwrap.fill(str(target.value), 90, subsequent_indent="    ", break_on_hyphens=False)
    heading = f"## {name} {{ #{target.path} }}"
    return f"{heading}\n\n```py\n{code}\n```\n\n{about}\n\n"


def _types() -> list[Any]:
    """The types that the signatures of public functions name, and those that these name."""
    found: dict[str, Any] = {}

    def add(type_: Any) -> None:
        for name in type_.iterate() if isinstance(type_, griffe.Expr) else ():
            if not isinstance(name, griffe.ExprName):
                continue
            if not name.canonical_path.startswith(f"{PACKAGE}."):
                continue
            target = _package()[name.canonical_path.removeprefix(f"{PACKAGE}.")]
            if target.name not in public and target.canonical_path not in found:
                found[target.canonical_path] = target
                add(target.value if target.is_attribute else None)

    public = {name for module in _public_modules() for name in _own_names(module)}
    for function in _functions():
        for type_ in (function.returns, *(each.annotation for each in function.parameters)):
            add(type_)
    return sorted(found.values(), key=lambda target: target.name.lower())


def _functions() -> Iterator[Any]:
    """The public functions, and the public methods of public classes."""
    for module in _public_modules():
        for name in module.exports:
            target = module[name]
            if target.is_function:
                yield target
            elif target.is_class:
                for method, member in target.all_members.items():
                    is_made = method == "__init__" and "dataclass" not in target.labels
                    if member.is_function and (is_made or not method.startswith("_")):
                        yield member


def repeated(site: Path) -> list[str]:
    """The sentences that the built reference says twice, but for "As in ``compute``."."""
    count: collections.Counter[str] = collections.Counter()
    for page in (*listed(), TYPES):
        html = (site / page.replace(".md", ".html")).read_text()
        article = html.partition("<article")[2].partition("</article>")[0]
        for block in _BLOCK.split(article):
            text = _NAMES.sub("", " ".join(re.sub(r"<[^>]+>", "", block).split()))
            count.update(s for s in re.split(r"(?<=[.;]) ", text) if s.endswith("."))
    return [
        f"the reference says twice: {sentence}"
        for sentence, n in count.items()
        if n > 1 and not sentence.startswith("As ") and " " in sentence
    ]


def undocumented() -> list[str]:
    """Public names, and public methods of public classes, without a docstring."""
    found = []
    for module in _public_modules():
        if not module.docstring:
            found.append(f"{module.path} has no docstring")
        for name in _own_names(module):
            target = module[name]
            if target.is_alias:
                target = target.final_target
            if target.is_attribute:
                continue
            if not target.docstring:
                found.append(f"{module.path}.{name} has no docstring")
            if target.is_class:
                found += [
                    f"{module.path}.{name}.{method} has no docstring"
                    for method, member in target.all_members.items()
                    if not method.startswith("_") and member.is_function and not member.docstring
                ]
    return found
