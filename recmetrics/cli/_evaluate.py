"""``recmetrics evaluate``: metrics of score files."""

from __future__ import annotations

import json
from argparse import Namespace
from collections.abc import Mapping, Sequence
from math import isinf
from pathlib import Path
from typing import Any

from recmetrics import Metrics, __version__, popularity_from
from recmetrics._conventions import CONVENTIONS
from recmetrics._options import Convention
from recmetrics._registry import METRICS
from recmetrics._spec import parse
from recmetrics.cli._errors import CommandError
from recmetrics.cli._files import Source, open_scores, read_matrix, read_table
from recmetrics.cli._output import check_output, write_per_user
from recmetrics.cli._summary import Summary, summarise
from recmetrics.cli._tables import evaluation_table
from recmetrics.cli._terminal import progress, require_rich, show, write

DEFAULT_K = 10
SIDE_OPTIONS = {
    "popularity": "--popularity-from TRAIN",
    "features": "--features FILE",
    "similarity": "--similarity FILE",
    "genres": "--genres FILE",
    "profile": "--profile FILE",
}


def default_metrics(convention: Convention | None = None) -> list[str]:
    """Every accuracy metric with values in [0, 1] that the convention has, at cutoff 10."""
    known = {line.metric for line in CONVENTIONS[convention].lines} if convention else None
    return [
        f"{metric.name}@{DEFAULT_K}" if metric.takes_k else metric.name
        for metric in METRICS.values()
        if metric.kind == "accuracy" and metric.bounds == (0, 1)
        if known is None or (f"{metric.name}@k" if metric.takes_k else metric.name) in known
    ]


def evaluate(args: Namespace) -> None:
    """Read the files, compute, write the per-user file, then print."""
    if args.include_missing:
        msg = "--include-missing goes with RECS, a table of recommendations; SCORES holds all users"
        raise CommandError(msg)
    metrics: Sequence[str] = args.metrics or default_metrics(args.convention)
    for metric in metrics:  # a misspelt name should not cost the reading of the files
        refuse_missing_side(metric, args)
    if not args.json:
        require_rich()
    side_files = {name: getattr(args, name) for name in SIDE_OPTIONS if getattr(args, name)}
    inputs = [args.scores, args.truth, args.exclude, args.candidates, *side_files.values()]
    if args.per_user is not None:
        given = [path for path in inputs if path is not None]
        check_output("--per-user", args.per_user, (".csv", ".npz"), given)

    scores = open_scores(Source("SCORES", args.scores))
    n_users, n_items = shape = scores.shape
    truth = read_matrix(Source("TRUTH", args.truth), shape, graded=True)
    sets = {
        name: read_matrix(Source(f"--{name}", path), shape, graded=False)
        for name, path in (("exclude", args.exclude), ("candidates", args.candidates))
        if path is not None
    }
    side = {name: _read_side(name, path, shape) for name, path in side_files.items()}
    with progress("evaluating") as on_progress:
        values = Metrics.compute(
            scores,
            truth,
            metrics,
            **sets,
            **side,
            undefined=args.undefined,
            convention=args.convention,
            nan=args.nan,
            ties=args.ties,
            n_threads=args.threads,
            progress=on_progress,
        )
    summaries = {metric: summarise(value) for metric, value in values.items()}
    levels = _levels(truth, metrics, sets, args) if args.chance else {}
    if args.per_user is not None:
        write_per_user(args.per_user, values)
    if args.json:
        counts = {"n_users": n_users, "n_items": n_items}
        write(to_json(counts, args, summaries, levels))
    else:
        show(
            evaluation_table(summaries, levels),
            "",
            f"{n_users:,} users x {n_items:,} items; intervals by normal approximation",
            *left_out(n_users, summaries),
        )


def _levels(
    truth: Any, metrics: Sequence[str], sets: Mapping[str, Any], args: Namespace
) -> dict[str, dict[str, float | None]]:
    """The mean of a random and of the best ranking, for the metrics that have them."""
    able = [text for text in metrics if parse(text, args.convention).metric.kind == "accuracy"]
    options = {**sets, "undefined": args.undefined, "convention": args.convention}
    return {
        name: {
            metric: summarise(values).mean
            for metric, values in level(truth, able, **options).items()
        }
        for name, level in (("chance", Metrics.chance), ("ceiling", Metrics.ceiling))
        if able
    }


def refuse_missing_side(text: str, args: Namespace) -> None:
    """Refuse a metric whose side information no option gives; the library checks what is given."""
    for group in parse(text, args.convention).metric.needs:
        if all(getattr(args, name) is None for name in group):
            options = " or ".join(SIDE_OPTIONS[name] for name in group)
            msg = f"{text} needs {options}; see 'recmetrics evaluate --help'"
            raise CommandError(msg)


def _read_side(name: str, path: Path, shape: tuple[int, int]) -> Any:
    source = Source(SIDE_OPTIONS[name].partition(" ")[0], path)
    if name == "popularity":
        return popularity_from(read_matrix(source, shape, graded=False))
    return read_table(source)


def left_out(n_users: int, summaries: Mapping[str, Summary]) -> list[str]:
    """Say why a mean is over fewer users than there are."""
    metrics = [parse(text).metric for text, one in summaries.items() if one.users is not None]
    users = [one.users for one in summaries.values() if one.users is not None]
    reasons = {m.undefined for m, n in zip(metrics, users, strict=True) if n != n_users}
    if not reasons:
        return []
    who = "users with no relevant item"
    if not all(reason.startswith("no relevant item") for reason in reasons):
        who = "users whose value is undefined (see 'recmetrics metrics NAME')"
    return [f"{who} are left out of the means; --undefined zero counts them"]


def to_json(
    counts: Mapping[str, int],
    args: Namespace,
    summaries: Mapping[str, Summary],
    levels: Mapping[str, Mapping[str, float | None]],
) -> str:
    """Write a result as JSON, in full precision."""
    document: dict[str, Any] = {
        "recmetrics": __version__,
        "convention": args.convention,
        "undefined": args.undefined or ("nan" if args.convention is None else None),
        **counts,
        "metrics": {
            metric: {
                "mean": None if summary.mean is None or isinf(summary.mean) else summary.mean,
                "std": summary.std,
                "interval": summary.interval,
                "users": summary.users,
                **{name: level.get(metric) for name, level in levels.items()},
            }
            for metric, summary in summaries.items()
        },
    }
    return json.dumps(document, indent=2, allow_nan=False) + "\n"
