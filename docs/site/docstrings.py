"""Docstrings as the pages of the reference want them: examples as code, one entry a name."""

import re
from typing import Any

import griffe

_EXAMPLE = re.compile(r"(?:^|(?<=\n))>>> .*?(?=\n\n|\Z)", re.DOTALL)

# Names that share one description, as in "exclude, candidates" over "As in ``compute``."
_SHARED = re.compile(r"^(\w+(?:, \w+)+)\n((?: {4}[^\n]*(?:\n|\Z))+)", re.MULTILINE)


def _apart(entry: re.Match[str]) -> str:
    names, text = entry.groups()
    return "".join(f"{name}\n{text.rstrip()}\n" for name in names.split(", "))


class Docstrings(griffe.Extension):
    """Puts a fence around each example, and names apart, whose types may differ."""

    def on_object(self, *, obj: Any, **_: Any) -> None:
        """Change the docstring of an object that was read."""
        if obj.docstring:
            value = _EXAMPLE.sub(r"```pycon\n\g<0>\n```", obj.docstring.value)
            obj.docstring.value = _SHARED.sub(_apart, value)
