"""``recmetrics compare``: models by their per-user files."""

from __future__ import annotations

import json
import math
import os
from argparse import Namespace
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from recmetrics import Comparison, __version__, compare
from recmetrics._io import Source, read_per_user
from recmetrics.cli import _picture
from recmetrics.cli._failures import CommandError, naming
from recmetrics.cli._files import read_groups
from recmetrics.cli._output import check_output
from recmetrics.cli._tables import comparison_tables
from recmetrics.cli._terminal import INSTALL, require_rich, show, write


def compare_files(args: Namespace) -> None:
    """Read the files, compare, write the picture, then print."""
    paths: list[Path] = args.files
    if len(paths) < 2:
        msg = "give two files or more to compare; see 'recmetrics compare --help'"
        raise CommandError(msg)
    if not (args.markdown or args.latex or args.json):
        require_rich()
    if args.plot is not None:
        if not _picture.is_available():
            msg = f"--plot needs the package matplotlib; type: {INSTALL}"
            raise CommandError(msg)
        inputs = paths if args.by is None else [*paths, args.by]
        check_output("--plot", args.plot, _picture.SUFFIXES, inputs)
    names = model_names(paths)
    baseline = dict(zip(map(str, paths), names, strict=True)).get(args.baseline, args.baseline)
    if baseline is not None and baseline not in names:
        msg = f"--baseline {baseline!r} is none of the models: {', '.join(names)}"
        raise CommandError(msg)
    read = {Source("FILE", path): read_per_user(Source("FILE", path)) for path in paths}
    users = [(source, each.users) for source, each in read.items()]
    by, groups = Source("--by", args.by), None
    if args.by is not None:
        groups = read_groups(by)
        users.append((by, groups.users))
    _require_same_users(users)
    with naming({"by": by}):
        found = compare(
            {name: each.values for name, each in zip(names, read.values(), strict=True)},
            baseline=baseline,
            confidence=args.confidence,
            tests=args.tests or "t",
            correction=None if args.correction == "none" else args.correction,
            by=None if groups is None else groups.labels,
            rng=args.seed,
        )
    if args.plot is not None:
        _picture.plot_comparison(args.plot, found)
    if args.markdown:
        write(found.to_markdown())
    elif args.latex:
        write(found.to_latex())
    elif args.json:
        write(_to_json(found))
    else:
        show(*comparison_tables(found))


def model_names(paths: Sequence[Path]) -> list[str]:
    """Name each file by its stem, and by as much of its path as makes the names different."""
    full = [Path(os.path.realpath(path)) for path in paths]
    for i, path in enumerate(paths):
        if full[i] in full[:i]:
            msg = f"FILE {str(path)!r} is given twice; give every file once"
            raise CommandError(msg)
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


def _to_json(found: Comparison) -> str:
    document = {
        "recmetrics": __version__,
        "models": found.models,
        "baseline": found.baseline,
        "confidence": found.confidence,
        "tests": found.tests,
        "correction": found.correction,
        **({"groups": list(found.groups)} if found.groups else {}),
        "means": [_finite(record, found) for record in found.to_records("means")],
        "differences": [_finite(record, found) for record in found.to_records("differences")],
    }
    return json.dumps(document, indent=2, allow_nan=False) + "\n"


def _finite(record: dict[str, Any], found: Comparison) -> dict[str, Any]:
    """Replace NaN and infinity, which JSON lacks, by None; without groups, drop ``group``."""
    return {
        name: None if isinstance(value, float) and not math.isfinite(value) else value
        for name, value in record.items()
        if name != "group" or found.groups
    }
