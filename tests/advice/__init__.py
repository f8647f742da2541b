"""Advice of messages ("type ..."): where it stands in the code, and how it is followed.

Each room has a table of cases, in a file of this folder. ``tests/test_advice.py`` runs them.
"""

import ast
import contextlib
import inspect
import io
import json
import re
import shlex
import warnings
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import scipy.sparse as sp

import recmetrics
from recmetrics.cli import main

PACKAGE = Path(recmetrics.__file__).parent
# The verb: "type truth.T". Behind these words it is a noun: "of type int". What installs a package
# is typed in a shell, and the value comes after it: it is left out.
VERB = r"(?<!\bof )(?<!\bany )(?<!\bthe )(?<!\bone )(?<!\bno )\btype:? (?=\S)(?!{install}|pip )"
# From the verb to the end of its clause; "for item in items" is code.
CLAUSE = VERB + r"(.+?)(?:;| if |,? or | for (?!\w+ in )| \(|$)"


# --- Where advice stands -------------------------------------------------------------------------


@dataclass(frozen=True)
class Message:
    """A text of the code that says what to type; ``{}`` stands for what a call fills in."""

    file: str
    line: int
    text: str

    def matches(self, told: str) -> bool:
        """Say whether a message that was told has this text."""
        pieces = [re.escape(piece) for piece in re.split(r"\{[^{}]*\}", self.text)]
        return re.search(".*".join(pieces), told, re.DOTALL) is not None


def messages(package: Path = PACKAGE) -> list[Message]:
    """Find the strings with advice, except docstrings: constants and f-strings."""
    found = []
    for path in sorted(package.rglob("*.py")):
        for node, text in _strings(ast.parse(path.read_text())):
            if re.search(VERB, text):
                file = path.relative_to(package).as_posix()
                found.append(Message(file, node.lineno, text))
    return found


def said_by(case: "Case", texts: list[Message]) -> Message:
    """Find the message of a case: the one whose text is what it says, or has it in it.

    A text that stands in several files has the name of its file before it.
    """
    file, is_named, text = case.says.partition(".py: ")
    if is_named:
        texts = [message for message in texts if message.file.endswith(f"{file}.py")]
    else:
        text = case.says
    whole = [message for message in texts if message.text == text]
    [message] = whole or [message for message in texts if text in message.text]
    return message


def _strings(tree: ast.AST) -> list[tuple[Any, str]]:
    """Give each string of a module with its text; an f-string as one, with {} in its places."""
    strings = []
    skipped = set()
    for node in ast.walk(tree):
        if isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant):
            skipped.add(node.value)  # a docstring
        elif isinstance(node, ast.JoinedStr):
            strings.append((node, "".join(map(_piece, node.values))))
            skipped.update(node.values)
        elif isinstance(node, ast.Constant) and isinstance(node.value, str) and node not in skipped:
            strings.append((node, node.value))
    return strings


def _piece(part: Any) -> str:
    """Write a part of an f-string; the command that installs a package is named."""
    if isinstance(part, ast.Constant):
        return str(part.value)
    name = getattr(part.value, "func", part.value)
    return "{install}" if getattr(name, "id", "").lower() == "install" else "{}"


# --- Cases ---------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Case:
    """A message with advice that is followed, in code of a person.

    ``says`` is a part of the text in the code, which no other message has. ``given`` are
    statements that make the inputs, and ``call`` is the expression that is refused or warns. In the
    message, the groups of ``advice`` are what the person types. Followed, it has ``value``, worked
    by hand. ``altered`` stands in the place of the last of them, and must not have the value;
    without it, the input stays as it is.
    """

    says: str
    given: str
    call: str
    value: Any
    advice: str = CLAUSE
    altered: str = ""
    blank: str = ""  # what a person puts in the place of "...", or behind "n_items="
    to: str = (
        ""  # the inputs that the advice replaces; else the first one that it names, or metrics
    )
    quoted: bool = False  # the input is a text, which the advice writes without quotes
    option: bool = False  # the advice is an option of the metric string in the call
    whole: str | None = None  # the advice is another call, in which "..." stands for this text
    then: str = "answer"  # the expression of the value, of the answer of the call and the inputs
    into: str = ""  # the call that the advice goes into, if that is another one
    told: str = ""  # the expression of the message where it is in the answer


def scope_of(case: Case) -> dict[str, Any]:
    """Make the inputs of a case anew, among the names that a program has imported."""
    scope: dict[str, Any] = {"np": np, "sp": sp, "recmetrics": recmetrics, "Path": Path}
    scope |= {name: getattr(recmetrics, name) for name in recmetrics.__all__}
    scope["run"] = run
    usual = set(scope)
    exec(case.given, scope)
    scope["inputs"] = {name for name in set(scope) - usual if not inspect.ismodule(scope[name])}
    return scope


def run(command: str) -> Any:
    """Run a command line; give its JSON, or else what it printed; raise the error that it tells.

    Like a shell, it writes the output into the file behind ">".
    """
    command, _, file = command.partition(" > ")
    out = io.StringIO()
    err = io.StringIO()
    with contextlib.redirect_stdout(out), contextlib.redirect_stderr(err):
        code = main(shlex.split(command)[1:])
    if code == 2:
        raise recmetrics.RecmetricsError(err.getvalue().strip())
    if file:
        Path(file).write_text(out.getvalue())
    if "--json" not in command:
        return out.getvalue()
    answer = json.loads(out.getvalue())
    if command.startswith("recmetrics evaluate "):
        return {each["metric"]: each["mean"] for each in answer["means"]}
    return answer


def told_by(case: Case) -> str:
    """Run a case; give the message that its person reads."""
    scope = scope_of(case)
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always", recmetrics.RecmetricsWarning)
        try:
            scope["answer"] = eval(case.call, scope)
        except (recmetrics.RecmetricsError, TypeError, AttributeError) as error:
            return str(error)
    if case.told:
        return str(eval(case.told, scope))
    [warning] = caught
    return str(warning.message)


def advice_in(case: Case, message: str) -> list[str]:
    """Take what to type out of a message."""
    match = re.search(case.advice, message, re.DOTALL)
    assert match is not None, f"{message!r} does not say {case.advice!r}"
    return [*match.groups()]


def followed(case: Case, advice: list[str]) -> Any:
    """Give the value of a case whose person types the advice."""
    scope = scope_of(case)
    call = case.into or case.call
    names = case.to.split() or [""] * len(advice)
    for name, text in zip(names, advice, strict=True):
        typed = text
        if case.whole is not None:
            typed = re.sub(r"(?<=\()\.\.\.", case.whole, typed)
        typed = _filled(typed, case.blank)
        if case.quoted:
            typed = repr(typed)
        if case.whole is not None:
            call = typed
        elif case.option:
            call = _with_option(call, typed)
        elif _is_statement(typed):
            exec(typed, scope)
        elif call.startswith("run(") and not name:
            call = _at_the_prompt(call, typed)
        elif _keywords(typed):
            call = _with_keywords(call, typed)
        elif name and not name.isidentifier():
            exec(f"{name} = {typed}", scope)
        else:
            name = name or _first_input(typed, scope["inputs"])
            call = _with_input(call, name, f"{name}{typed}" if typed.startswith(".") else typed)
    with warnings.catch_warnings():
        warnings.simplefilter("error", recmetrics.RecmetricsWarning)
        scope["answer"] = eval(call, scope)
        return plain(eval(case.then, scope))


def altered(case: Case, advice: list[str]) -> list[str]:
    """Give other advice of the same kind."""
    last = _filled(advice[-1], case.blank)
    other = case.altered
    if not other and _is_statement(last):
        other = "_ = None"
    elif not other and _keywords(last):
        other = ", ".join(f"{keyword.arg}=None" for keyword in _keywords(last))
    elif not other and not last.startswith("."):
        needs_other = case.quoted or case.option or case.whole is not None
        assert not needs_other, f"{case.says} needs other advice"
        other = case.to.rpartition(" ")[2] or _first_input(last, scope_of(case)["inputs"])
    return [*advice[:-1], other]


def _is_statement(advice: str) -> bool:
    """Say whether advice changes an input where it is, such as "recs['user'] = ..."."""
    try:
        return isinstance(ast.parse(advice).body[0], ast.Assign) and " = " in advice
    except SyntaxError:
        return False


def _filled(advice: str, blank: str) -> str:
    """Write into advice what only the person knows."""
    if not blank:
        return advice
    advice = re.sub(r"\b(TRUTH|RULE|COLUMN)\b|(?<=[,:] )\.\.\.(?=[,)}])", blank, advice)
    return re.sub(r"(?<==)\.\.\.|(?<==)$|(?<=\()\.\.\.", blank, advice)


def _first_input(advice: str, inputs: set[str]) -> str:
    names = [
        node for node in ast.walk(ast.parse(advice, mode="eval")) if isinstance(node, ast.Name)
    ]
    names.sort(key=lambda name: name.col_offset)
    return next((name.id for name in names if name.id in inputs), "metrics")


def _with_input(call: str, name: str, typed: str) -> str:
    """Write a call in which an expression stands in the place of an input."""

    class Replace(ast.NodeTransformer):
        def visit_Name(self, node: ast.Name) -> ast.expr:
            return ast.parse(typed, mode="eval").body if node.id == name else node

    changed = Replace().visit(ast.parse(call, mode="eval"))
    return ast.unparse(ast.fix_missing_locations(changed))


def _keywords(advice: str) -> list[ast.keyword]:
    """Read text such as "repeats='drop'"; of other text, nothing."""
    try:
        call = ast.parse(f"f({advice})", mode="eval").body
    except SyntaxError:
        return []
    assert isinstance(call, ast.Call)
    return call.keywords if not call.args else []


def _with_keywords(call: str, advice: str) -> str:
    """Write a call with other keywords."""
    node = ast.parse(call, mode="eval").body
    assert isinstance(node, ast.Call)
    merged = {keyword.arg: keyword for keyword in [*node.keywords, *_keywords(advice)]}
    node.keywords = [*merged.values()]
    return ast.unparse(ast.fix_missing_locations(node))


def _with_option(call: str, advice: str) -> str:
    """Write a call whose metric string, "name(option=value)@k", has another option or value."""
    string = re.search(r"'(\w+)(?:\(([^)]*)\))?(@\d+)?'", call)
    assert string is not None
    name, options, cutoff = string.groups(default="")
    key = advice.partition("=")[0]
    kept = [option for option in options.split(",") if option and not option.startswith(f"{key}=")]
    return call.replace(string[0], f"'{name}({','.join([*kept, advice])}){cutoff}'")


def _at_the_prompt(call: str, advice: str) -> str:
    """Write a command line with the options of the advice, or with its files."""
    words = ast.literal_eval(call[len("run(") : -1])
    command = f"{words} {advice}"
    if advice.startswith("recmetrics "):
        command = advice + "".join(f" {word}" for word in re.findall(r"-.*", words))
    return f"run({command!r})"


def plain(value: Any) -> Any:
    """Write a value in numbers, lists and dicts."""
    if isinstance(value, Mapping):
        return {str(key): plain(item) for key, item in value.items()}
    if hasattr(value, "to_dict") and hasattr(value, "columns"):
        return {str(name): value[name].tolist() for name in value.columns}
    if isinstance(value, list | tuple):
        return [plain(item) for item in value]
    return value.tolist() if hasattr(value, "tolist") else value


def check(got: Any, expected: Any) -> None:
    """Hold a value to the one worked by hand, but for rounding; NaN is equal to NaN."""
    if isinstance(expected, dict):
        assert list(got) == list(expected)
        for key in expected:
            check(got[key], expected[key])
    elif isinstance(expected, str | bool | None):
        assert got == expected
    elif isinstance(expected, list):
        assert len(got) == len(expected)
        for value, number in zip(got, expected, strict=True):
            check(value, number)
    else:
        np.testing.assert_allclose(got, expected, rtol=1e-9, atol=1e-12, equal_nan=True)
