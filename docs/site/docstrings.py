"""Signatures and docstrings as the pages of the reference want them.

A signature shows every keyword with its type, as ``help()`` does. The text below it repeats no
type, and says once what several parameters share.
"""

import ast
import importlib
import inspect
import re
import textwrap
from typing import Any

import griffe

from recmetrics._core import options as _options

_EXAMPLE = re.compile(r"(?:^|(?<=\n))>>> .*?(?=\n\n|\Z)", re.DOTALL)
_SECTION = re.compile(r"^(\w+)\n---+\n(.*?)(?=^\w+\n---+\n|\Z)", re.MULTILINE | re.DOTALL)
_ENTRY = re.compile(r"^(\w.*)\n((?: {4}.*(?:\n|\Z))+)", re.MULTILINE)
_TERM = re.compile(r"^(``.*``)\n((?: {4}.*(?:\n|\Z))+)", re.MULTILINE)
_NAME = re.compile(r"``([\w.]+)``")
_REST = griffe.ParameterKind.var_keyword


class Docstrings(griffe.Extension):
    """Spells signatures out, and writes docstrings as Markdown."""

    def on_function(self, *, func: Any, **_: Any) -> None:
        """Show the keywords that the decorator ``takes`` puts in place of ``**shared``."""
        for parameter in func.parameters:
            parameter.default = _value(parameter.default)
        for decorator in func.decorators:
            call = decorator.value
            if isinstance(call, griffe.ExprCall) and str(call.function) == "takes":
                keywords, *defaults = call.arguments
                given = {}
                if defaults:
                    module = importlib.import_module(func.module.path)
                    given = eval(f"dict({', '.join(map(str, defaults))})", vars(module))
                # From where they are defined: the module of the function may need torch.
                path, _, name = keywords.canonical_path.rpartition(".")
                _spell_out(func, getattr(importlib.import_module(path), name), given)

    def on_class(self, *, cls: Any, **_: Any) -> None:
        """Show the fields of a named tuple, as griffe does for a dataclass."""
        for field in cls.attributes.values():
            field.value = _value(field.value)
        if any(str(base) == "NamedTuple" for base in cls.bases):
            fields = [
                _parameter(field.name, field.annotation, field.value, keyword_only=False)
                for field in cls.attributes.values()
                if field.annotation and "property" not in field.labels
            ]
            itself = _parameter("self", None, None, keyword_only=False)
            parameters = griffe.Parameters(itself, *fields)
            cls.set_member("__init__", griffe.Function("__init__", parameters=parameters))

    def on_object(self, *, obj: Any, **_: Any) -> None:
        """Change the docstring of an object that was read."""
        if obj.is_class:
            _list_fields(obj)
        if obj.docstring:
            text = _EXAMPLE.sub(r"```pycon\n\g<0>\n```", inspect.cleandoc(obj.docstring.value))
            text = _SECTION.sub(_as_markdown, text)
            obj.docstring.value = _NAME.sub(lambda name: _linked(name[1], obj), text)


def _list_fields(cls: Any) -> None:
    """Move what is said of each field, whose type the signature has, to the text of the class."""
    about = ""
    for field in cls.attributes.values():
        if field.docstring and "property" not in field.labels:
            about += f"{field.name}\n{textwrap.indent(field.docstring.value, '    ')}\n"
            field.docstring = None
    if about:
        cls.docstring.value += f"\n\nAttributes\n----------\n{about}"


def _value(default: Any) -> Any:
    """The value of a constant of the package, where its name is a default."""
    is_constant = isinstance(default, griffe.ExprName) and default.name.isupper()
    return default.resolved.value if is_constant else default


def _spell_out(function: Any, keywords: Any, defaults: dict[str, Any]) -> None:
    rest = [each.name for each in function.parameters if each.kind is _REST]
    if not rest:
        return  # all are spelled out already
    del function.parameters[rest[0]]
    options = function.package[keywords.__module__.partition(".")[2]]
    for each in _options.spelled_out(lambda: None, keywords, **defaults).parameters.values():
        type_ = ast.parse(each.annotation, mode="eval").body
        annotation = griffe.safe_get_annotation(type_, parent=options)
        function.parameters.add(
            _parameter(each.name, annotation, repr(each.default), keyword_only=True)
        )


def _parameter(name: str, annotation: Any, default: Any, *, keyword_only: bool) -> Any:
    kinds = griffe.ParameterKind
    kind = kinds.keyword_only if keyword_only else kinds.positional_or_keyword
    return griffe.Parameter(name, annotation=annotation, kind=kind, default=default)


def _as_markdown(section: re.Match[str]) -> str:
    """Write a section as a list of names and descriptions."""
    title, text = section.groups()
    if title == "Notes":
        return _TERM.sub(lambda term: f"- {term[1]}: {_described(term)}", text)
    if title == "Returns":  # the signature has the type
        return "".join(f"**Returns:** {_described(entry)}\n" for entry in _ENTRY.finditer(text))
    return f"**{title}:**\n\n{_ENTRY.sub(_item, text)}\n"


def _item(entry: re.Match[str]) -> str:
    names = ", ".join(f"``{name}``" for name in entry[1].split(", "))
    return f"- {names}: {_described(entry)}"


def _described(entry: re.Match[str]) -> str:
    return textwrap.indent(inspect.cleandoc(entry[2]), "    ").lstrip() + "\n"


def _linked(name: str, obj: Any) -> str:
    """Lead the name of a method of the same class, or of what is public, to its entry."""
    package = obj.package
    scope = obj if obj.is_class else obj.parent
    if scope.is_class and name in scope.members:
        target = scope[name]
    elif name.partition(".")[0] in package.exports:
        target = package[name]
    else:
        return f"`{name}`"
    is_shown = target.has_docstring and target.canonical_path != obj.canonical_path
    return f"[`{name}`][{target.canonical_path}]" if is_shown else f"`{name}`"
