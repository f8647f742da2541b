"""``recmetrics evaluate SCORES TRUTH``: scores and truth as matrices."""

from __future__ import annotations

from argparse import Namespace
from collections.abc import Mapping
from contextlib import suppress
from typing import Any

from recmetrics import ArgumentError, Audit, Metrics, audit
from recmetrics._io import Source, read_array, start
from recmetrics._spec import SIDE, spell
from recmetrics.cli._arguments import Measured, rules_of, strata_of
from recmetrics.cli._metric_pages import default_metrics
from recmetrics.cli._pairs import read_pairs
from recmetrics.cli._terminal import progress, show, with_options

_SCORES = "a dense .npy (numpy.save) or a sparse .npz (scipy.sparse.save_npz)"
_MATRIX = (
    "a sparse .npz (scipy.sparse.save_npz), a dense .npy (numpy.save) "
    "or text lines 'user item [relevance]'"
)
_TABLE = "a sparse .npz (scipy.sparse.save_npz) or a dense .npy (numpy.save)"


def evaluate_scores(args: Namespace, sources: Mapping[str, Source]) -> Measured:
    """Read the matrices, and compute."""
    metrics = args.metrics or default_metrics(args.convention)
    scores, truth, sets, shape = read_matrices(sources)
    given: dict[str, Any] = {}
    for name, source in sources.items():
        if name in SIDE and (of_train := SIDE[name].of_train) is not None:
            given[name] = of_train(_read_matrix(source, shape, graded=False), shape[1])
        elif name in SIDE:
            given[name] = read_array(source, _TABLE)
    strata = strata_of(args, sources)
    if strata:
        read = {name: _read_matrix(each, shape, graded=False) for name, each in strata.items()}
        given["strata"] = read
    report = _audit(args, scores, truth, metrics, sets) if args.audit else None
    if report is not None and not args.json:
        # Before the metrics are computed: the report says more than an error of theirs.
        show(with_options(f"{report}\n\n"))
    rules = rules_of(args) | {"nan": args.nan, "ties": args.ties}
    with progress("evaluating users:") as on_progress:
        evaluation = Metrics.evaluate(
            scores, truth, metrics, progress=on_progress, **sets, **given, **rules
        )
    evaluation.notes = (f"{shape[0]:,} users x {shape[1]:,} items", *evaluation.notes)
    levels = {}
    if args.chance:
        more = {name: given[name] for name in ("strata", "propensity") if name in given}
        levels = _levels(args, truth, metrics, n_items=shape[1], **sets, **more)
    return Measured(evaluation, levels=levels, audit=report)


def read_matrices(
    sources: Mapping[str, Source],
) -> tuple[Any, Any, dict[str, Any], tuple[int, int]]:
    """Read the scores, the truth and the sets of items; also gives the shape of the scores."""
    scores = read_array(sources["scores"], _SCORES)
    shape = (*scores.shape, 0, 0)[:2]  # the library refuses other dimensions
    truth = _read_matrix(sources["truth"], shape, graded=True)
    given = (name for name in ("exclude", "candidates") if name in sources)
    sets = {name: _read_matrix(sources[name], shape, graded=False) for name in given}
    return scores, truth, sets, shape


def _read_matrix(source: Source, shape: tuple[int, int], *, graded: bool) -> Any:
    """Read relevance (``graded``) or a set of items per user (not), of the scores' shape."""
    first = start(source, _MATRIX)
    if source.path.suffix.lower() in (".npy", ".npz") or first.startswith((b"\x93NUMPY", b"PK")):
        return read_array(source, _MATRIX)
    return read_pairs(source, shape, graded=graded, expected=_MATRIX)


def _audit(
    args: Namespace, scores: Any, truth: Any, metrics: list[str], sets: Mapping[str, Any]
) -> Audit:
    """Audit the files at the largest cutoff; without one, for the whole list."""
    cutoffs = [text.rpartition("@")[2] for metric in metrics for text in spell(metric)]
    k = max((int(each) for each in cutoffs if each.strip().isdecimal()), default=scores.shape[1])
    with progress("auditing users:") as on_progress:
        return audit(
            scores, truth, **sets, k=max(1, k), n_threads=args.n_threads, progress=on_progress
        )


def _levels(args: Namespace, truth: Any, metrics: list[str], **given: Any) -> dict[str, Any]:
    """Compute the values of a random and of the best ranking, for the metrics that have them."""
    rules = {"undefined": args.undefined, "convention": args.convention}
    levels: dict[str, dict[str, Any]] = {"chance": {}, "ceiling": {}}
    for text in metrics:
        with suppress(ArgumentError):
            levels["chance"] |= Metrics.chance(truth, text, **given, **rules)
        with suppress(ArgumentError):
            levels["ceiling"] |= Metrics.ceiling(truth, text, **given, **rules)
    return levels
