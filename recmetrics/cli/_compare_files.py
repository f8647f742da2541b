"""``recmetrics compare``: models by their per-user files."""

from __future__ import annotations

import json
import os
from argparse import Namespace
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from recmetrics import compare
from recmetrics._io import Source, read_per_user
from recmetrics.cli import _picture
from recmetrics.cli._output import check_output
from recmetrics.cli._segments import read_segments
from recmetrics.cli._terminal import CommandError, naming, show, width, write


def compare_files(args: Namespace) -> None:
    """Read the files, compare, write the picture, then print."""
    files = _named(args.files)
    paths = [path for _, path in files]
    names = _names(files)
    if len(set(names)) < 2:
        what = "two files or more" if len(paths) < 2 else "the files of two models or more"
        msg = f"give {what} to compare; see 'recmetrics compare --help'"
        raise CommandError(msg)
    _check_options(args)
    if args.plot is not None:
        _picture.require()
        inputs = paths if args.by is None else [*paths, args.by]
        check_output("--plot", args.plot, _picture.SUFFIXES, inputs)
    baseline = dict(zip(map(str, paths), names, strict=True)).get(args.baseline, args.baseline)
    if baseline is not None and baseline not in names:
        msg = f"--baseline {baseline!r} is not one of the models: {', '.join(dict.fromkeys(names))}"
        raise CommandError(msg)
    read = {Source("FILE", path): read_per_user(Source("FILE", path)) for path in paths}
    users = [(source, ids) for source, (_, ids) in read.items()]
    by, labels = Source("--by", args.by), None
    if args.by is not None:
        labels, ids = read_segments(by)
        users.append((by, ids))
    _require_same_users(users)
    runs: dict[str, list[Any]] = {}
    for name, (values, _) in zip(names, read.values(), strict=True):
        runs.setdefault(name, []).append(values)
    with naming({"by": by}):
        found = compare(
            runs,
            metrics=None if args.compact else args.metrics,
            baseline=baseline,
            confidence=args.confidence,
            tests=args.tests or "t",
            correction=None if args.correction == "none" else args.correction,
            by=labels,
            paired_runs=args.paired_runs,
            rng=args.seed,
        )
        shown = found.compact(args.metrics, digits=args.digits) if args.compact else found
    if args.plot is not None:
        _picture.plot_comparison(args.plot, found)
    if args.json:
        write(json.dumps(found.to_dict(), indent=2, allow_nan=False) + "\n")
    elif args.markdown or args.latex:
        write(shown.to_markdown() if args.markdown else shown.to_latex())
    else:
        show(shown.to_text(width()))


def _check_options(args: Namespace) -> None:
    """Refuse options that the output asked for does not have."""
    if args.digits is not None and not args.compact:
        msg = "--digits applies to the compact table; type --compact as well"
        raise CommandError(msg)
    if args.compact and args.json:
        msg = "--json prints all numbers, not the compact table; leave out --compact"
        raise CommandError(msg)


def _named(files: Sequence[str]) -> list[tuple[str | None, Path]]:
    """Tell NAME=FILE from a file whose name has the sign."""
    named: list[tuple[str | None, Path]] = []
    for each in files:
        name, sign, path = each.partition("=")
        is_named = sign and name.strip() and path and not set(name) & {"/", os.sep}
        if is_named and not Path(each).exists():
            named.append((name, Path(path)))
        else:
            named.append((None, Path(each)))
    return named


def _names(files: Sequence[tuple[str | None, Path]]) -> list[str]:
    """The model of each file: as it is given, or by the name of the file."""
    paths = [path for _, path in files]
    full = [Path(os.path.realpath(path)) for path in paths]
    for i, path in enumerate(paths):
        if full[i] in full[:i]:
            msg = f"FILE {str(path)!r} is given twice; give every file once"
            raise CommandError(msg)
    given = {name for name, _ in files if name is not None}
    found = iter(model_names([path for name, path in files if name is None]))
    names = []
    for name, path in files:
        own = next(found) if name is None else name
        if name is None and own in given:
            msg = (
                f"{own!r} is the name of FILE {str(path)!r} and of a FILE given as {own}=FILE; "
                f"type {own}={path} if it is a run of the same model, or another name"
            )
            raise CommandError(msg)
        names.append(own)
    return names


def model_names(paths: Sequence[Path]) -> list[str]:
    """Name each file by its stem, and by as much of its path as makes the names different."""
    full = [Path(os.path.realpath(path)) for path in paths]
    stems = [path.parent / path.stem for path in full]
    depth = 1
    while True:
        for each in (stems, full):  # two files may differ only in the suffix
            names = ["/".join(path.parts[-depth:]) for path in each]
            if len(set(names)) == len(names):
                return names
        depth += 1


def _require_same_users(files: Sequence[tuple[Source, list[str] | None]]) -> None:
    """Refuse files with other users than the first file with ids, or in another order."""
    named = [(source, users) for source, users in files if users is not None]
    for source, users in named[1:]:
        first, expected = named[0]
        for place, (user, wanted) in enumerate(zip(users, expected, strict=False), start=1):
            if user != wanted:
                msg = (
                    f"{source} has user {user[:40]!r} in place {place}, where {first} has user "
                    f"{wanted[:40]!r}; expected the same users in the same order"
                )
                raise CommandError(msg)
