"""The reference: a page for each public module, with every public name; and what lacks a docstring.

The package is read, not imported: optional packages need not be installed.
"""

import functools
from pathlib import Path
from typing import Any

import griffe

ROOT = Path(__file__).parents[2]
PACKAGE = "recmetrics"
COMMAND = "cli"  # which says itself what it takes


@functools.cache
def _package() -> Any:
    return griffe.load(PACKAGE, search_paths=[str(ROOT)], resolve_aliases=True)


def _public_modules() -> list[Any]:
    """The modules with an ``__all__`` whose path has no private part."""

    def walk(module: Any) -> list[Any]:
        found = [module] if module.exports else []
        for name, member in sorted(module.members.items()):
            public = name != COMMAND and not name.startswith("_")
            if public and not member.is_alias and member.is_module:
                found += walk(member)
        return found

    return walk(_package())


def _names(module: Any) -> list[str]:
    return [str(name) for name in module.exports]


def _page(module: Any) -> str:
    return f"reference/{module.path.replace('.', '-')}.md"


def navigation() -> list[Any]:
    """The entries of the reference in the navigation."""
    return [{module.path: _page(module)} for module in _public_modules()]


def listed() -> dict[str, list[str]]:
    """The public names that each page must show."""
    return {_page(m): [f"{m.path}.{name}" for name in _names(m)] for m in _public_modules()}


def pages() -> dict[str, str]:
    """Each page, for mkdocstrings to fill."""
    written = {}
    for module in _public_modules():
        summary = module.docstring.value.partition("\n")[0] if module.docstring else ""
        entries = [f"::: {module.path}.{name}\n" for name in _in_order(module)]
        written[_page(module)] = "\n".join([f"# {module.path}\n", f"{summary}\n", *entries])
    return written


def _in_order(module: Any) -> list[str]:
    """What people call first, exceptions last."""
    names = _names(module)
    return sorted(names, key=lambda name: (name.endswith(("Error", "Warning")), names.index(name)))


def undocumented() -> list[str]:
    """Public names, and public methods of public classes, without a docstring."""
    found = []
    for module in _public_modules():
        if not module.docstring:
            found.append(f"{module.path} has no docstring")
        for name in _names(module):
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
