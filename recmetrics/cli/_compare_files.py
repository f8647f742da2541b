"""``recmetrics compare``: models by their per-user files, or by one table of all models; gates."""

from __future__ import annotations

import os
from argparse import Namespace
from collections.abc import Sequence
from dataclasses import asdict
from itertools import count
from operator import methodcaller
from pathlib import Path
from typing import Any, TypeAlias

from recmetrics import Comparison, compare
from recmetrics._files import Source, read_per_user, read_segments
from recmetrics._report import Gate, Movers
from recmetrics.cli._output import atomic, check_output, require_matplotlib
from recmetrics.cli._table_files import read_any
from recmetrics.cli._terminal import CommandError, show, width, write, write_json

Given: TypeAlias = tuple[dict[str, Any], Sequence[str] | None]
"""Arguments of ``compare``, and the ids of users that the results lack."""


def compare_files(args: Namespace) -> int:
    """Compare models: means, paired differences with intervals, and tests.

    Give one file for each model, written by 'recmetrics evaluate --per-user'. The
    name of a model is that of its file, or NAME in NAME=FILE. Files with the same
    NAME are runs of one model, such as seeds. Or give one table of all models, with
    --model. -m takes every word up to the next option, so the files come first, or
    after --.

    --gate gives a verdict by the exit status: 0 passed, 1 failed, 3 open; an error
    is 2. With several candidates, one that passes is enough.

    For example:
      recmetrics compare old.npz new.npz --plot new.png
      recmetrics compare old.csv new.csv --by segments.csv
      recmetrics compare pop.npz als=seed1.npz als=seed2.npz als=seed3.npz --compact
      recmetrics compare old.npz new.npz --baseline old --gate 'ndcg@10 >= -1%'
      recmetrics compare values.csv --model model --movers 5
    """
    given, users = _read_files(args) if args.model is None else _read_table(args)
    found = compare(
        **given,
        metrics=args.metrics,
        model=args.model,
        confidence=args.confidence,
        tests=args.tests or "t",
        correction=None if args.correction == "none" else args.correction,
        paired_runs=args.paired_runs,
        rng=args.seed,
    )
    shown = found.compact(digits=args.digits) if args.compact else found
    gate, movers = _gate(args, found), _movers(args, found, users)
    if args.plot is not None:
        with atomic(args.plot) as file:
            found.plot().savefig(file, format=args.plot.suffix[1:].lower())
    parts = [shown, *([gate] if gate else []), *movers]
    if args.json:
        document = found.to_dict()
        document |= {"gate": gate.to_dict()} if gate else {}
        document |= {"movers": [asdict(each) for each in movers]} if movers else {}
        write_json(document)
    elif args.markdown or args.latex:
        form = methodcaller("to_markdown" if args.markdown else "to_latex")
        write("\n".join(map(form, parts)))
    else:
        show("\n\n".join(each.to_text(width()) for each in parts))
    passed = True if gate is None else gate.passed
    return {True: 0, False: 1, None: {"pass": 0, "fail": 1, None: 3}[args.open]}[passed]


def _gate(args: Namespace, found: Comparison) -> Gate | None:
    if args.rules is None:
        return None
    given = {"min_users": args.min_users, "looks": args.looks}
    settings = {name: each for name, each in given.items() if each is not None}
    return found.gate(args.rules, **settings)


def _movers(args: Namespace, found: Comparison, users: Sequence[str] | None) -> list[Movers]:
    if args.movers is None:
        return []
    metrics = [metric for metric in found.metrics if metric not in found.samples.system]
    pairs = dict.fromkeys((each.model, each.against) for each in found.differences)
    return [
        found.movers(metric, args.movers, model=model, against=against, users=users)
        for model, against in pairs
        for metric in metrics
    ]


def _read_files(args: Namespace) -> Given:
    models = _models(args.files)
    names = list(models.values())
    if len(set(names)) < 2:
        what = "two files or more" if len(models) < 2 else "the files of two models or more"
        msg = (
            f"give {what} to compare, or one table of all models and --model COLUMN; "
            "see 'recmetrics compare --help'"
        )
        raise CommandError(msg)
    _check_options(args, [*models] if args.by is None else [*models, args.by])
    baseline = {str(path): name for path, name in models.items()}.get(args.baseline, args.baseline)
    if baseline is not None and baseline not in names:
        msg = f"--baseline {baseline!r} is not one of the models: {', '.join(dict.fromkeys(names))}"
        raise CommandError(msg)
    read = {Source("FILE", path): read_per_user(Source("FILE", path)) for path in models}
    users = [(source, ids) for source, (_, ids) in read.items()]
    by, labels = Source("--by", args.by), None
    if args.by is not None:
        args.spellings["by"] = by.spelling
        labels, ids = read_segments(by)
        users.append((by, ids))
    _require_same_users(users)
    runs: dict[str, list[Any]] = {}
    for name, (values, _) in zip(names, read.values(), strict=True):
        runs.setdefault(name, []).append(values)
    ids = next((each for _, each in users if each is not None), None)
    return {"results": runs, "by": labels, "baseline": baseline}, ids


def _read_table(args: Namespace) -> Given:
    if len(args.files) != 1:
        msg = f"--model takes one table of all models, got {len(args.files)} files"
        raise CommandError(msg)
    source = Source("FILE", Path(args.files[0]))
    _check_options(args, [source.path])
    by = None if args.by is None else str(args.by)
    given = {"results": read_any(source), "by": by, "baseline": args.baseline}
    args.spellings |= {"results": source.spelling, "by": "--by"}
    return given, None


def _check_options(args: Namespace, inputs: Sequence[Path]) -> None:
    """Refuse options that the output asked for does not have, and a picture nobody can write."""
    for option, given, has, instead in (
        ("--digits", args.digits, args.compact, "the compact table; type --compact"),
        ("--min-users", args.min_users, args.rules, "--gate; type --gate RULE"),
        ("--looks", args.looks, args.rules, "--gate; type --gate RULE"),
        ("--open", args.open, args.rules, "--gate; type --gate RULE"),
    ):
        if given is not None and not has:
            msg = f"{option} applies to {instead} as well"
            raise CommandError(msg)
    if args.compact and args.json:
        msg = "--json prints all numbers, not the compact table; leave out --compact"
        raise CommandError(msg)
    if args.plot is not None:
        require_matplotlib()
        check_output("--plot", args.plot, (".png", ".pdf", ".svg"), inputs)


def _models(files: Sequence[str]) -> dict[Path, str]:
    """Give the name of each file: NAME in NAME=FILE, unless that is a file, or its own."""
    paths: list[Path] = []
    named: dict[Path, str] = {}
    for each in files:
        name, sign, file = each.partition("=")
        is_named = sign and name.strip() and file and not set(name) & {"/", os.sep}
        if is_named and not Path(each).exists():
            paths.append(Path(file))
            named[paths[-1]] = name
        else:
            paths.append(Path(each))
    full = [os.path.realpath(path) for path in paths]
    for i, path in enumerate(paths):
        if full[i] in full[:i]:
            msg = f"FILE {str(path)!r} is given twice; give every file once"
            raise CommandError(msg)
    unnamed = [path for path in paths if path not in named]
    own = dict(zip(unnamed, model_names(unnamed), strict=True))
    for path, name in own.items():
        if name in named.values():
            msg = (
                f"{name!r} is the name of FILE {str(path)!r} and of a FILE given as {name}=FILE; "
                f"type {name}={path} if it is a run of the same model, or another name"
            )
            raise CommandError(msg)
    names = own | named
    return {path: names[path] for path in paths}


def model_names(paths: Sequence[Path]) -> list[str]:
    """Name each file by its stem, and by as much of its path as makes the names different."""
    full = [Path(os.path.realpath(path)) for path in paths]
    stems = [path.parent / path.stem for path in full]
    tried = (
        ["/".join(path.parts[-depth:]) for path in each]
        for depth in count(1)
        for each in (stems, full)  # two files may differ only in the suffix
    )
    return next(names for names in tried if len(set(names)) == len(names))


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
