"""The forms that hold a table -> frames of one library: files, and dicts of each user's items."""

from __future__ import annotations

import re
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Set
from contextlib import nullcontext, suppress
from importlib.util import find_spec
from itertools import chain, repeat
from pathlib import Path
from typing import Any, NamedTuple, NoReturn, Protocol, TypeAlias

import narwhals.stable.v2 as nw
import numpy as np
from narwhals.stable.v2.typing import IntoLazyFrame

from recmetrics._core.errors import (
    InputError,
    InputTypeError,
    RecmetricsError,
    at_fault,
    install,
    warn,
)
from recmetrics._core.inputs import MOST_NUMBERS, look_like_grades
from recmetrics._core.spec import SIDE
from recmetrics._files import Columns as FileColumns
from recmetrics._files import Source, as_frame, read_any, read_table
from recmetrics.tables._columns import GRADES, OTHER_GRADES
from recmetrics.tables._conversions import (
    conversion_of,
    conversion_of_entries,
    conversion_of_keys,
    conversion_of_pairs,
)
from recmetrics.tables._frames import PANDAS, POLARS, PYARROW, AnyTable, as_names, read_frame


class ArrowStream(Protocol):
    """A dataset or a reader of record batches of pyarrow."""

    @property
    def schema(self) -> Any: ...


AnyForm: TypeAlias = (
    AnyTable | IntoLazyFrame | ArrowStream | Mapping[Any, Any] | str | Path | Source
)
"""Whatever holds a table: a frame, a dict of the items of each user, or the path of a file."""

FILES = (str, Path, Source)  # the types of a table that is the path of a file
_OF_TRAIN = [name for name, side in SIDE.items() if side.of_train is not None]
_OF_USERS = ("recs", "truth", "exclude", *_OF_TRAIN)  # these may be dicts
_WITH_KEYS = ("recs", "truth", "exclude")  # these may have columns of ``by``
WITHOUT_ITEMS = "without_items"  # the option that is the table of users without items

_SAMPLE_ROWS = 1000  # the rows of a lazy frame that say whether its ids are integers


class Names(NamedTuple):
    """The names of the columns of a table that is a dict."""

    user: str
    item: str
    number: str  # of scores or relevances


def in_frames(tables: Mapping[str, Any], options: Mapping[str, Any]) -> tuple[Any, Any, Any]:
    """Make frames of the files and dicts that a call of ``evaluate_table`` was given.

    ``tables`` are those that the call looks at, strata each under its own name. Gives recs, truth
    and the options with the frames, which are of one library, and with what
    ``users_without_items`` gives.
    """
    recs = tables["recs"]
    truth = tables["truth"]
    frames = dict(tables)
    files = [label for label, table in frames.items() if isinstance(table, FILES)]
    dicts = [label for label in _OF_USERS if isinstance(frames.get(label), Mapping)]
    if not (files or dicts):
        return recs, truth, options
    data_frames = {label: frames[label] for label in frames if label not in (*files, *dicts)}
    library = _library(data_frames, has_files=bool(files))
    for label in files:
        frames[label] = from_file(frames[label], label, options)
    for label in dicts:
        frames[label] = from_dict(frames[label], label, options, library)
    frames |= users_without_items(recs, truth, options, library)
    if {"recs", "truth"} <= {*dicts}:
        _warn_if_exchanged(frames, options)
    frames = with_integer_ids(frames, files, options)
    for label in files:
        frames[label] = _in_library(frames[label], library)
    frames["strata"] = {}  # those that the call looks at
    for name in options.get("strata") or {}:
        label = f"strata[{name!r}]"
        if label in frames:
            frames["strata"][name] = frames.pop(label)
    return frames.pop("recs"), frames.pop("truth"), {**options, **frames}


def _library(frames: Mapping[str, Any], *, has_files: bool) -> Any:
    """Choose the library of the first frame, that of files, or one that is installed."""
    if frames:
        label, table = next(iter(frames.items()))
        return read_frame(table, label).implementation
    if has_files:
        return POLARS
    for library in (PANDAS, POLARS, PYARROW):
        if find_spec(library.value) is not None:
            return library
    msg = f"a dict becomes a table of polars, which is not installed; type: {install('cli')}"
    raise InputTypeError(msg)


def _names(label: str, options: Mapping[str, Any]) -> Names:
    """Name the columns of the table ``label`` where it is a dict."""
    number = options.get("relevance") or "relevance"
    if label == "recs":
        number = options.get("rank") or options.get("score") or "score"
    return Names(options["user"], options["item"], number)


def say_how_to_read(error: RecmetricsError, tables: Mapping[str, Any]) -> None:
    """Put what makes a frame of a table before advice that changes a frame of polars."""
    table = tables.get(error.argument or "")
    if table is None or not re.search(r"\.(with_columns|drop_nulls)\(", str(error)):
        return
    code = f"polars.DataFrame({error.argument})"
    if isinstance(table, str | Path):
        code = as_frame(Path(table))
        if code in str(error):  # the advice reads the file itself
            return
    elif hasattr(table, "collect"):
        code = f"{error.argument}.collect()"
    elif hasattr(table, "lazy") or isinstance(table, Mapping | Source):  # the command has its own
        return
    error.args = (f"{error} (before this, type {error.argument} = {code})",)


# --- Files ---------------------------------------------------------------------------------------


def from_file(
    file: str | Path | Source,
    label: str,
    options: Mapping[str, Any],
    read: Callable[[Source, FileColumns], Any] = read_table,
) -> Any:
    """Read a table by polars."""
    source = source_of(file, label)
    # A command names the file, and its option with it.
    with nullcontext() if source.in_shell else at_fault(label):
        if label == "similarity":
            frame = read_any(source, n_labels=2)
            frame = frame.cast(dict.fromkeys(frame.columns[:2], str))
        else:
            frame = read(source, _columns_in_file(source, label, options))
    return frame


def _in_library(frame: Any, library: Any) -> Any:
    """Make a frame of polars one of a library."""
    if library is POLARS:
        return frame
    columns = {
        name: series.to_numpy() if series.dtype.is_numeric() else series.to_list()
        for name, series in frame.to_dict().items()
    }
    return nw.from_dict(columns, backend=library).to_native()


def with_integer_ids(
    tables: Mapping[str, Any], files: Collection[str], options: Mapping[str, Any]
) -> dict[str, Any]:
    """Read the ids of files as integers where the tables beside them have integers.

    ``files`` are the labels of tables that were files, whose ids are text. A column of ids that are
    no integers stays text, or is an error of a lazy frame that is read if its first rows are
    integers.
    """
    with_integers = dict(tables)
    if not files:
        return with_integers
    frames = {}
    for label, table in tables.items():
        frame = nw.from_native(table, pass_through=True)
        if isinstance(frame, nw.DataFrame | nw.LazyFrame):  # others are refused where they are read
            frames[label] = frame
    ids = {options["user"], options["item"]}
    keys = ids.union(as_names(options.get("by")))
    integers = set()
    for label in frames.keys() - files:
        schema = frames[label].collect_schema()
        names = (keys if label in _WITH_KEYS else ids) & schema.keys()
        integers |= {name for name in names if schema[name].is_integer()}
    for label in files:
        names = integers & set(frames[label].collect_schema())
        if label == "similarity" and options["item"] in names:
            names |= set(frames[label].collect_schema().names()[:2])
        for name in sorted(names):
            with suppress(Exception):  # of any type, by the library
                frame = frames[label].with_columns(nw.col(name).cast(nw.Int64))
                if isinstance(frame, nw.LazyFrame):
                    frame.head(_SAMPLE_ROWS).collect()
                frames[label] = frame
                with_integers[label] = frame.to_native()
    return with_integers


def source_of(file: str | Path | Source, label: str) -> Source:
    """Give a file with the argument that names it."""
    return file if isinstance(file, Source) else Source(label, Path(file), in_shell=False)


def _columns_in_file(source: Source, label: str, options: Mapping[str, Any]) -> FileColumns:
    """Say which columns of a file are ids, and which are numbers."""
    user = options["user"]
    item = options["item"]
    ids = {"user": user, "item": item}
    pairs = FileColumns(
        [user, item],
        (),
        ids,
        is_first=False,
        maybe_ids=as_names(options.get("by")),
        score=options.get("score") or "score",
        relevance=options.get("relevance") or "relevance",
    )
    if label == "recs":
        return _columns_of_recs(source, pairs, options)
    if label == "truth":
        if options.get("relevance") is not None:
            grades = [options["relevance"]]
            return pairs._replace(numbers=grades, bools=grades, required=True)
        bools = (*GRADES, *OTHER_GRADES)
        return pairs._replace(numbers=GRADES, bools=bools, maybe=("rank", *OTHER_GRADES))
    if label == "exclude" or (label in _OF_TRAIN and source.in_shell):
        return pairs
    of_items = pairs._replace(ids=[item], maybe_ids=[user])
    if label == "profile":
        return pairs._replace(ids=[user], maybe_ids=(), maybe=None)
    if label.startswith("strata"):
        return of_items._replace(may_be_empty=True)
    if label == "catalogue":
        return of_items
    return of_items._replace(maybe=None)


def _columns_of_recs(source: Source, pairs: FileColumns, options: Mapping[str, Any]) -> FileColumns:
    """Add to the columns of users and items those that order the lists of a file."""
    order = [options[name] for name in ("score", "rank") if options.get(name) is not None]
    advice = (
        "for a table of groups type "
        "Metrics.compute_groups(scores, relevance, metrics_list, ids=ids)"
    )
    if source.in_shell:
        advice = "a table of groups needs no TRUTH"
    recs = pairs._replace(
        ids=[*pairs.ids, *pairs.maybe_ids],
        maybe_ids=(),
        numbers=order,
        required=True,
        is_first=True,
        shared=["user", "item"],
        instead=(("group", "qid"), advice),
    )
    if not order and not options["in_order"]:
        recs = recs._replace(numbers=("rank", "score"), required=False, maybe=None)
    return recs


# --- Dicts ---------------------------------------------------------------------------------------


def from_dict(
    dictionary: Mapping[Any, Any], label: str, options: Mapping[str, Any], library: Any
) -> Any:
    """Make a table of a library of the items of each user."""
    names = _names(label, options)
    if any(map(_method_of_column, set(map(type, dictionary.values())))):
        dictionary = {user: _as_list(items) for user, items in dictionary.items()}
    if {names.user, names.item} <= dictionary.keys():
        constructor = "table" if library is PYARROW else "DataFrame"
        advice = f"; type {library.value}.{constructor}({label})"
        msg = (
            f"{label} is a dict of columns, expected a table or a dict with the items of each user"
            f"{conversion_of(dictionary, label) or advice}"
        )
        raise InputTypeError(msg, argument=label)
    columns = _columns_of(dictionary, label, names)
    frame = _frame_of(columns, label, library)
    items = frame.get_column(names.item)
    is_padded = names.number not in columns and items.dtype.is_integer() and (items == -1).any()
    if is_padded:  # lists that are padded would have it in common
        user = next(user for user, entries in dictionary.items() if -1 in entries)
        msg = (
            f"{label} of user {user!r} holds the item -1, which pads lists; type {{user: [item "
            f"for item in items if item != -1] for user, items in {label}.items()}}; in a table, "
            "-1 is an id like any other"
        )
        raise InputError(msg, argument=label)
    return frame.to_native()


def _method_of_column(kind: type) -> str:
    """Name the method that makes a list of a column of polars or pyarrow; "" for another type.

    A column of pandas may have its items in its index or in its values.
    """
    if _is_table_or_series(kind):
        return ""
    return next((name for name in ("to_list", "to_pylist") if hasattr(kind, name)), "")


def _is_table_or_series(kind: type) -> bool:
    """Say whether a type is that of a table or a dataset, or of a column of pandas."""
    return any(hasattr(kind, name) for name in ("columns", "column_names", "reset_index"))


def _as_list(items: Any) -> Any:
    """Make a list of a column of polars or pyarrow; leave what is none."""
    method = _method_of_column(type(items))
    return getattr(items, method)() if method else items


def users_without_items(
    recs: Any, truth: Any, options: Mapping[str, Any], library: Any
) -> dict[str, Any]:
    """Make a table, by its label, of the users whose items in a dict are none; {} without any.

    They have no row in the tables that ``from_dict`` makes.
    """
    users: list[Any] = []
    for table in (recs, truth):
        if isinstance(table, Mapping):
            users += [user for user, items in table.items() if not len(items)]
    if not users:
        return {}
    columns = {options["user"]: _as_ids(users)}
    return {WITHOUT_ITEMS: _frame_of(columns, "recs", library).to_native()}


def _frame_of(columns: Mapping[str, Any], label: str, library: Any) -> nw.DataFrame[Any]:
    """Make a frame of a library of the columns of a dict."""
    try:
        return nw.from_dict(columns, backend=library)
    except Exception as error:  # of any type, by the library
        msg = (
            f"{label} cannot be a table of {library.value}, expected ids of one type, such as "
            "strings, in each place of the dict"
        )
        raise InputTypeError(msg, argument=label) from error


def _warn_if_exchanged(tables: Mapping[str, Any], options: Mapping[str, Any]) -> None:
    """Warn if the scores of a dict are grades, and the relevances of the other fractions.

    Unlike frames, dicts have no names of columns that say what the numbers are.
    """
    numbers = {}
    for label in ("recs", "truth"):
        frame = nw.from_native(tables[label], eager_only=True)
        name = _names(label, options).number
        if name not in frame.columns or not len(frame):
            return
        numbers[label] = frame.get_column(name).to_numpy()
    scores = numbers["recs"]
    are_grades = scores.any() and look_like_grades(scores)
    if are_grades and np.mean(numbers["truth"] % 1 != 0) >= MOST_NUMBERS:
        msg = (
            "the scores of recs look like grades, and the relevances of truth are fractions; are "
            "recs and truth exchanged? expected the recommendations first, then the truth"
        )
        warn(msg, argument="recs")


def _columns_of(dictionary: Mapping[Any, Any], label: str, names: Names) -> dict[str, Any]:
    """Write the items of each user one below another, with their numbers where they have any."""
    _refuse_keys(dictionary, label, names)
    have_numbers = _have_numbers(dictionary, label, names.user)
    _refuse_nested(dictionary, label)
    # Python's own numbers and times, of which frames make the same columns as of lists.
    lists_or_dicts = [
        entries.tolist() if hasattr(entries, "tolist") else entries
        for entries in dictionary.values()
    ]
    users = list(chain.from_iterable(map(repeat, dictionary, map(len, lists_or_dicts))))
    items = list(chain.from_iterable(lists_or_dicts))
    columns: dict[str, Any] = {names.user: _as_ids(users), names.item: _as_ids(items)}
    if have_numbers:
        numbers = list(chain.from_iterable(numbers.values() for numbers in lists_or_dicts))
        columns[names.number] = _as_numbers(numbers, items, users, label)
    return columns


def _user_of_type(values: Iterable[Any], users: Iterable[Any]) -> dict[type, Any]:
    """Give the first user who has a value of each type, in the order of these users.

    The types of many values are few: to check each type, not each value, took a dict of 100,000
    lists from 1.1 to 0.3 s.
    """
    first_users: dict[type, Any] = {}
    for value, user in zip(values, users, strict=True):
        first_users.setdefault(type(value), user)
    return first_users


def _refuse_keys(dictionary: Mapping[Any, Any], label: str, names: Names) -> None:
    """Refuse tuples where the ids of users are expected."""
    for kind, user in _user_of_type(dictionary, dictionary).items():
        if issubclass(kind, tuple):
            msg = (
                f"{label} has the key {user!r:.60}, expected the id of a user"
                f"{conversion_of_keys(user, dictionary[user], label, names)}"
            )
            raise InputTypeError(msg, argument=label)


def _have_numbers(dictionary: Mapping[Any, Any], label: str, column: str) -> bool:
    """Say whether the items of each user have numbers; refuse what holds no items.

    ``column`` is the name of that of users.
    """
    user_of_kind = _user_of_type(dictionary.values(), dictionary)
    for kind, user in user_of_kind.items():
        if issubclass(kind, Set) and label == "recs":
            msg = f"recs of user {user!r} is a set, which has no order; expected a list"
            raise InputTypeError(msg, argument=label)
        is_array = hasattr(kind, "__array__") and not _is_table_or_series(kind)
        if not is_array and not issubclass(kind, Mapping | Set | list | tuple):
            _refuse_entries(dictionary, label, user, column)
    if any(hasattr(kind, "ndim") for kind in user_of_kind):
        for user, entries_of_user in dictionary.items():
            if getattr(entries_of_user, "ndim", 1) != 1:
                _refuse_entries(dictionary, label, user, column)
    with_numbers = [kind for kind in user_of_kind if issubclass(kind, Mapping)]
    without_numbers = [kind for kind in user_of_kind if kind not in with_numbers]
    if with_numbers and without_numbers:
        msg = (
            f"{label} of user {user_of_kind[with_numbers[0]]!r} is a {with_numbers[0].__name__}, "
            f"and that of user {user_of_kind[without_numbers[0]]!r} a "
            f"{without_numbers[0].__name__}; expected the same for every user"
        )
        raise InputTypeError(msg, argument=label)
    return bool(with_numbers)


def _refuse_entries(dictionary: Mapping[Any, Any], label: str, user: Any, column: str) -> NoReturn:
    """Refuse what a user has, which is no list or dict of items; ``column`` is that of users."""
    entries = dictionary[user]
    shown = f"{entries!r:.40}"
    kind = type(entries)
    if _is_table_or_series(kind):  # whose text has several lines
        shown = f"a {kind.__name__}"
    msg = (
        f"{label} of user {user!r} is {shown}; expected a list or a set of items, or a dict from "
        f"items to numbers{conversion_of_entries(dictionary, user, label, column)}"
    )
    raise InputTypeError(msg, argument=label)


def _refuse_nested(dictionary: Mapping[Any, Any], label: str) -> None:
    """Refuse tuples, pairs and hits in place of the id of the first item of a user."""
    first_items: Iterator[Any] = map(next, map(iter, dictionary.values()), repeat(None))
    for kind, user in _user_of_type(first_items, dictionary).items():
        item: Any = next(iter(dictionary[user]), None)
        if issubclass(kind, tuple) and isinstance(dictionary[user], Mapping):
            msg = (
                f"{label} of user {user!r} has the key {item!r:.60}, expected the id of an item; "
                "type {user: {'/'.join(map(str, key)): number for key, number in items.items()} "
                f"for user, items in {label}.items()}}"
            )
            raise InputTypeError(msg, argument=label)
        is_list = hasattr(kind, "detach") or issubclass(kind, list | tuple | np.ndarray)
        if is_list and getattr(item, "ndim", 1) > 0:
            msg = (
                f"{label} of user {user!r} holds {item!r:.40}, expected the id of an item"
                f"{conversion_of_pairs(dictionary[user], label)}"
            )
            raise InputTypeError(msg, argument=label)
        if issubclass(kind, Mapping):
            _refuse_hits(item, label, user)


def _as_ids(ids: list[Any]) -> Any:
    """Make an array of integers, which frames take over as they are; leave other ids.

    Tensors and arrays of one id each are the id.
    """
    kinds = set(map(type, ids))  # few, of many ids
    arrays: Any = tuple(kind for kind in kinds if hasattr(kind, "detach") or kind is np.ndarray)
    if arrays:
        ids = [item_id.tolist() if isinstance(item_id, arrays) else item_id for item_id in ids]
        kinds = set(map(type, ids))
    if kinds == {int}:
        with suppress(OverflowError):  # a table says of integers above 2^63 what it can hold
            return np.asarray(ids, np.int64)
    return ids


def _refuse_hits(hit: Mapping[Any, Any], label: str, user: Any) -> NoReturn:
    """Refuse dicts of an item and its score, as a search gives them, where items are expected."""
    msg = f"{label} of user {user!r} holds {dict(hit)!r:.60}, expected the id of an item"
    score = next(
        (key for key, value in hit.items() if isinstance(value, float | np.floating)), None
    )
    item = next((key for key in hit if key != score), None)
    if score is not None and item is not None:
        msg += (
            f"; for the id {item!r} and the number {score!r} type {{user: {{hit[{item!r}]: "
            f"hit[{score!r}] for hit in hits}} for user, hits in {label}.items()}}"
        )
    raise InputTypeError(msg, argument=label)


def _as_numbers(numbers: list[Any], items: list[Any], users: list[Any], label: str) -> Any:
    """Make one array of numbers, integers or floats."""
    with suppress(ValueError):  # values of several lengths
        array = np.asarray(numbers)
        if array.dtype.kind in "biuf" and array.ndim == 1:
            return array
    for number, item, user in zip(numbers, items, users, strict=True):
        if not _is_number(number):
            advice = ""
            if label == "recs" and isinstance(number, Collection) and not isinstance(number, str):
                advice = (
                    "; if recs has a dict for each model, type "
                    "{model: evaluate_table(lists, truth, ...) for model, lists in recs.items()}"
                )
            msg = (
                f"{label} of user {user!r} holds {number!r:.40} for item {item!r}, expected a "
                f"number{advice}"
            )
            raise InputError(msg, argument=label)
    return np.asarray(numbers, np.float64)


def _is_number(value: Any) -> bool:
    """Say whether a value is an integer or a float that float64 can hold."""
    if not isinstance(value, int | float | np.integer | np.floating):
        return False
    try:
        float(value)
    except OverflowError:
        return False
    return True
