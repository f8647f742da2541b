"""``recmetrics compare``: models by their per-user files, or by one table of all models; gates."""

from __future__ import annotations

import os
import warnings
from argparse import Namespace
from collections.abc import Mapping, Sequence
from dataclasses import asdict
from pathlib import Path
from typing import Any, NamedTuple, Self, TypeAlias

import numpy as np
import numpy.typing as npt

from recmetrics import Comparison, RecmetricsWarning, compare
from recmetrics._core.errors import at_fault
from recmetrics._core.spec import expand_cutoffs
from recmetrics._files import Source, atomic, read_any, read_per_user, read_segments
from recmetrics._printing import Printed, plural
from recmetrics._report import Gate, Movers
from recmetrics.cli._output import check_plot
from recmetrics.cli._terminal import CommandError, show, tell, width, write, write_json

Inputs: TypeAlias = tuple[dict[str, Any], Sequence[str] | None]
"""Arguments of ``compare``, and the ids of the users, None where no file has them."""


class _UsersOfFile(NamedTuple):
    """The ids of the users of a file, in the order of its rows; each is there once."""

    source: Source
    ids: list[str]
    are_row_numbers: bool  # the file has no ids
    noun: str = "user"  # or "group"
    other_order_file: Source | None = None  # a file that has the users in another order, if any

    @classmethod
    def of(cls, source: Source, ids: list[str] | None, n_rows: int, noun: str = "user") -> Self:
        """The users of a file; without ids, they are the numbers of its rows."""
        if ids is None:
            return cls(source, list(map(str, range(n_rows))), True, noun)
        return cls(source, ids, False, noun)

    def rows_in(self, other: _UsersOfFile, has_values: bool = True) -> npt.NDArray[np.intp]:
        """Find the row of each of these users in another file; refuse a file that lacks one.

        ``has_values`` is True if the other file has values of metrics, and no groups.
        """
        row_of_user = {user: row for row, user in enumerate(other.ids)}
        missing = [user for user in self.ids if user not in row_of_user]
        if missing:
            nouns = plural(self.noun)
            msg = (
                f"{other.source} has no row for {len(missing):,} of the {len(self.ids):,} {nouns} "
                f"of {self.source}, the first {missing[0][:40]!r}; expected a row for each"
            )
            for users in (self, other):
                if users.are_row_numbers:
                    msg += f"; {users.source} has no ids: its {nouns} are the numbers of its rows"
            have_ids = not (self.are_row_numbers or other.are_row_numbers)
            if have_ids and len(missing) == len(self.ids) and other.ids:
                msg += f"; its first {self.noun} is {other.ids[0][:40]!r}"
            elif have_ids and has_values and self.noun == "user":
                msg += (
                    "; 'recmetrics evaluate --include-missing' adds users without recommendations"
                )
            raise CommandError(msg)
        return np.array([row_of_user[user] for user in self.ids], np.intp)


def compare_files(args: Namespace) -> int:
    """Compare models: means, paired differences with intervals, and tests.

    Give one file for each model, written by 'recmetrics evaluate --per-user'. The
    name of a model is that of its file, or NAME in NAME=FILE. Files with the same
    NAME are runs of one model, such as seeds. Or give one table of all models, with
    --model. Put the files first: -m takes all words after it, up to the next option.

    --gate gives a verdict by the exit status: 0 passed, 1 failed, 3 open; an error
    is 2. With several new models, the status is 0 if at least one passes.

    For example:
      recmetrics compare old.npz new.npz --plot new.png
      recmetrics compare old.csv new.csv --by segments.csv
      recmetrics compare pop.npz als=seed1.npz als=seed2.npz als=seed3.npz --compact
      recmetrics compare old.npz new.npz --baseline old --gate 'ndcg@10 >= -1%'
      recmetrics compare values.csv --model model --movers 5
    """
    read_inputs = _read_files if args.model is None else _read_table
    arguments, users = read_inputs(args)
    comparison = compare(
        **arguments,
        metrics=args.metrics,
        model=args.model,
        confidence=args.confidence,
        tests=args.tests or "t",
        correction=None if args.correction == "none" else args.correction,
        lower_is_better=args.lower_is_better,
        paired_runs=args.paired_runs,
        rng=args.seed,
    )
    reports: list[Printed] = [comparison]
    if args.compact:
        reports = [comparison.compact(groups=bool(comparison.groups), digits=args.digits)]
    json_extras: dict[str, Any] = {}
    status = 0
    if args.rules is not None:
        gate = _gate(args, comparison)
        status = _status(gate, args.open)
        json_extras["gate"] = gate.to_dict()
        reports.append(gate)
    if args.movers is not None:
        movers = _movers(args.movers, comparison, users)
        json_extras["movers"] = [asdict(table) for table in movers]
        reports += movers
    if args.plot is not None:
        with warnings.catch_warnings(record=True) as caught, atomic(args.plot) as file:
            warnings.simplefilter("always", RecmetricsWarning)
            comparison.plot().savefig(file, format=args.plot.suffix[1:].lower())
        for warning in caught:  # characters without a font
            tell(f"note: {warning.message}")

    if args.json:
        write_json(comparison.to_dict() | json_extras)
    elif args.markdown:
        write("\n".join(report.to_markdown() for report in reports))
    elif args.latex:
        write("\n".join(report.to_latex() for report in reports))
    else:
        show("\n\n".join(report.to_text(width()) for report in reports))
    return status


def _gate(args: Namespace, comparison: Comparison) -> Gate:
    """Judge the comparison by the rules of ``--gate``, with the settings that are typed."""
    settings = {}
    for name in ("min_users", "looks"):
        if (setting := getattr(args, name)) is not None:
            settings[name] = setting
    return comparison.gate(args.rules, **settings)


def _status(gate: Gate, when_open: str | None) -> int:
    """Give the exit status of a verdict; ``--open`` may take an open one as passed or failed."""
    if gate.passed is not None:
        return 0 if gate.passed else 1
    if when_open is None:
        return 3
    tell(f"note: the verdict is open, and --open {when_open} decides the exit status")
    return {"pass": 0, "fail": 1}[when_open]


def _movers(n: int, comparison: Comparison, users: Sequence[str] | None) -> list[Movers]:
    """Find the ``n`` users who gain and lose most, for each pair of models and user metric."""
    pairs = dict.fromkeys(
        (difference.model, difference.against) for difference in comparison.differences
    )
    return [
        comparison.movers(metric, n, model=model, against=against, users=users)
        for model, against in pairs
        for metric in comparison.metrics
        if metric not in comparison.samples.system
    ]


def _read_files(args: Namespace) -> Inputs:
    """Read per-user files, one or more of each model, and the groups of ``--by``.

    Rows are matched by the ids of their users. A file without ids has the numbers of its rows, if
    another has ids.
    """
    models = _models(args.files)
    names = list(models.values())
    if len(set(names)) < 2:
        files = "two files or more" if len(models) < 2 else "the files of two models or more"
        msg = (
            f"give {files} to compare, or one table of all models and --model COLUMN; "
            "see 'recmetrics compare --help'"
        )
        if args.by is not None:
            msg += "; the groups of one model are for recmetrics.summary(..., by=...) in Python"
        raise CommandError(msg)
    _check_options(args)

    # The baseline may be typed as its file.
    baseline = {str(path): name for path, name in models.items()}.get(args.baseline, args.baseline)
    if baseline is not None and baseline not in names:
        msg = f"--baseline {baseline!r} is not one of the models: {', '.join(dict.fromkeys(names))}"
        raise CommandError(msg)

    with at_fault("metrics"):
        metrics = [text for metric in args.metrics or () for text in expand_cutoffs(metric)]
    runs, users, noun = _read_runs(models, metrics)
    group_of_user = None
    if args.by is not None:
        segments = Source("--by", args.by)
        args.spellings["by"] = segments.spelling
        n_users = _n_rows(next(iter(runs.values()))[0])
        row_numbers = _UsersOfFile.of(Source("FILE", next(iter(models))), None, n_users)
        group_of_user = _read_groups(segments, users, row_numbers)
    arguments = {"results": runs, "by": group_of_user, "baseline": baseline, "noun": noun}
    return arguments, None if users is None else users.ids


def _read_groups(
    segments: Source, users: _UsersOfFile | None, row_numbers: _UsersOfFile
) -> npt.NDArray[Any]:
    """Read the group of each user of the runs, in their order.

    ``users`` are those of the runs, None without ids; ``row_numbers`` are the numbers of the rows.
    """
    group_of_user, ids = read_segments(segments)
    users_of_runs = users or row_numbers
    if ids is None:
        return _groups_without_ids(segments, group_of_user, users_of_runs)
    grouped_users = _UsersOfFile.of(segments, ids, len(group_of_user))
    return group_of_user[users_of_runs.rows_in(grouped_users, has_values=False)]


def _groups_without_ids(
    segments: Source, group_of_user: npt.NDArray[Any], users: _UsersOfFile
) -> npt.NDArray[Any]:
    """Give the groups of a file without ids in the order of ``users``, those of the runs."""
    grouped_users = _UsersOfFile.of(segments, None, len(group_of_user))
    other_file = users.other_order_file
    has_row_numbers = set(users.ids) == set(grouped_users.ids)
    if has_row_numbers and other_file is not None:  # then the numbers are ids
        return group_of_user[users.rows_in(grouped_users, has_values=False)]
    if has_row_numbers and users.ids != grouped_users.ids:
        msg = (
            f"{segments} has labels without ids, and the users of {users.source} are the "
            f"numbers 0 to {len(group_of_user) - 1:,} in another order; expected a .csv of user "
            "and group"
        )
        raise CommandError(msg)
    if not has_row_numbers and other_file is not None:
        msg = (
            f"{segments} has labels without ids, and {users.source} and {other_file} "
            "have the users in different orders; expected a .csv of user and group"
        )
        raise CommandError(msg)
    n_users = len(users.ids)
    if len(group_of_user) == n_users + 1:
        msg = (
            f"{segments} has {n_users + 1:,} labels for {n_users:,} users; expected one for "
            f"each: leave out the first, {str(group_of_user[0])[:40]!r}, if it is a header"
        )
        raise CommandError(msg)
    return group_of_user


def _read_runs(
    models: Mapping[Path, str], metrics: Sequence[str]
) -> tuple[dict[str, list[Any]], _UsersOfFile | None, str]:
    """Read the runs of each model, all in the order of the first file.

    ``metrics`` are those that are typed. Also gives the users of that file, None if no file has
    ids, and its word for a user.
    """
    sources = [Source("FILE", path) for path in models]
    files = [read_per_user(source) for source in sources]
    _leave_out_of_all_lists([file.values for file in files], metrics)
    runs: dict[str, list[Any]] = {name: [] for name in models.values()}
    has_ids = any(file.ids is not None for file in files)
    first_users: _UsersOfFile | None = None
    for source, name, (values, ids, noun) in zip(sources, models.values(), files, strict=True):
        runs[name].append(values)
        if not has_ids:
            continue
        users = _UsersOfFile.of(source, ids, _n_rows(values), noun)
        first_users = first_users or users
        if users.ids != first_users.ids:  # most files have one order
            rows = first_users.rows_in(users)
            first_users = first_users._replace(other_order_file=source)
            users.rows_in(first_users)  # refuses a user whom the first file lacks
            for metric, column in values.items():
                if column.ndim:  # no metric of all lists
                    values[metric] = column[rows]
    return runs, first_users, files[0].noun


def _leave_out_of_all_lists(
    values_of_files: Sequence[dict[str, Any]], metrics: Sequence[str]
) -> None:
    """Leave out metrics of all lists that a file lacks: a .csv cannot hold them.

    The typed ``metrics`` stay, so that a file that lacks one of them is refused.
    """
    metrics_of_all = set.intersection(*map(set, values_of_files))
    left_out = set()
    for values in values_of_files:
        for metric in values.keys() - metrics_of_all:
            if not values[metric].ndim and metric not in metrics:
                del values[metric]
                left_out.add(metric)
    if left_out and not metrics:  # else nobody asks for them
        tell(f"not compared, since a file lacks them: {', '.join(sorted(left_out))}")


def _n_rows(values: Mapping[str, Any]) -> int:
    """The number of users of a file; a metric of all lists has one value."""
    return max(int(column.size) for column in values.values())


def _read_table(args: Namespace) -> Inputs:
    """Read one table of all models, whose columns ``--model`` and ``--by`` name."""
    if len(args.files) != 1:
        msg = f"--model takes one table of all models, got {len(args.files)} files"
        raise CommandError(msg)
    source = Source("FILE", Path(args.files[0]))
    _check_options(args)
    by = None if args.by is None else str(args.by)
    labels = [*filter(None, (*args.model, by))]
    frame = read_any(source, labels, metrics=args.metrics or ())
    arguments = {"results": frame, "by": by, "baseline": args.baseline}
    args.spellings |= {"results": source.spelling, "by": "--by"}
    return arguments, None


def _check_options(args: Namespace) -> None:
    """Refuse options of an output that is not printed, and a picture that cannot be written."""
    gate = "--gate; type --gate RULE"
    for option, value, is_output_typed, output in (
        ("--digits", args.digits, args.compact, "the compact table; type --compact"),
        ("--min-users", args.min_users, args.rules, gate),
        ("--looks", args.looks, args.rules, gate),
        ("--open", args.open, args.rules, gate),
    ):
        if value is not None and not is_output_typed:
            msg = f"{option} applies to {output} as well"
            raise CommandError(msg)
    if args.compact and args.json:
        msg = "--json prints all numbers, not the compact table; leave out --compact"
        raise CommandError(msg)
    if args.plot is not None:
        check_plot(args.plot, (".png", ".pdf", ".svg"))


def _models(files: Sequence[str]) -> dict[Path, str]:
    """Give the model of each file: NAME in NAME=FILE, unless that is a file, or the file's name."""
    models: dict[Path, str] = {}
    full_paths = set()
    for word in files:
        if set(word) & {"<", ">"} and not Path(word).exists():
            msg = f"{word!r} is a rule, not a FILE; write --gate before each rule"
            raise CommandError(msg)
        name, _, file = word.partition("=")
        is_named = name.strip() and file and not set(name) & {"/", os.sep}
        if is_named and not Path(word).exists():
            path = Path(file)
        else:
            path = Path(word)
            name = ""
        full_path = os.path.realpath(path)
        if full_path in full_paths:
            msg = f"FILE {str(path)!r} is given twice; give every file once"
            raise CommandError(msg)
        full_paths.add(full_path)
        models[path] = name

    typed_names = set(models.values())
    unnamed = [path for path, name in models.items() if not name]
    for path, name in zip(unnamed, model_names(unnamed), strict=True):
        if name in typed_names:
            msg = (
                f"{name!r} is the name of FILE {str(path)!r} and of a FILE given as {name}=FILE; "
                f"type {name}={path} if it is a run of the same model, or another name"
            )
            raise CommandError(msg)
        models[path] = name
    return models


def model_names(paths: Sequence[Path]) -> list[str]:
    """Name each file by its stem, and by as much of its path as makes the names different."""
    full_paths = [Path(os.path.realpath(path)) for path in paths]
    paths_without_suffix = [
        path.parent / Path(path.name.removesuffix(".gz")).stem for path in full_paths
    ]
    n_path_parts = 0
    while True:  # full paths differ
        n_path_parts += 1
        # Two files may differ only in the suffix: the full paths name them then.
        for candidates in (paths_without_suffix, full_paths):
            names = ["/".join(path.parts[-n_path_parts:]) for path in candidates]
            if len(set(names)) == len(names):
                return names
