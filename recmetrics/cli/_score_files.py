"""``recmetrics evaluate``: metrics of score files."""

from __future__ import annotations

import json
import re
import warnings
from argparse import Namespace
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from math import isfinite, isnan, nan
from shlex import quote
from typing import Any, Literal

from recmetrics import Audit, Metrics, RecmetricsWarning, __version__, audit
from recmetrics._inputs import MAY_BE_EXCHANGED, read_users
from recmetrics._io import Source
from recmetrics._results import is_swallowed, size_of_weights, users_of_means, whole_values
from recmetrics._selection import Found, find_hits, read_scores
from recmetrics._spec import CONVENTIONS, METRICS, SIDE, Request, SideWords
from recmetrics._types import Convention
from recmetrics.cli._failures import CommandError, naming, with_options
from recmetrics.cli._files import open_scores, read_matrix, read_table
from recmetrics.cli._named import unchanged
from recmetrics.cli._output import check_output, write_per_user
from recmetrics.cli._tables import evaluation_table, title
from recmetrics.cli._terminal import OnProgress, progress, require_rich, show, write
from recmetrics.comparison import Summary, intervals_by, mean_of, summarise

DEFAULT_K = 10
_LABELS = {
    "scores": "SCORES",
    "truth": "TRUTH",
    "exclude": "--exclude",
    "candidates": "--candidates",
    **{name: side.option.partition(" ")[0] for name, side in SIDE.items()},
}
"""The label of each file on the command line, by the argument that it becomes."""
_OF_TABLES = (
    *("user", "item", "relevance"),
    *("include_missing", "score", "rank", "in_order", "rank_gaps"),
    *("catalogue", "repeats", "unknown"),
)
Form = Literal["SCORES", "RECS", "GROUPS"]
_FORMS: dict[Form, str] = {
    "SCORES": "an .npy or .npz",
    "RECS": "a table of recommendations",
    "GROUPS": "a table without TRUTH",
}
"""The forms of the first file."""
_GOES_WITH: dict[Form, tuple[str, ...]] = {
    "SCORES": (*("exclude", "candidates", "stratum"), *SIDE, *("ties", "chance", "audit")),
    "RECS": ("stratum", "propensity", "popularity", *_OF_TABLES),
    "GROUPS": ("group", "score", "relevance", "ties"),
}
"""The options that not every form takes, by their arguments."""


def default_metrics(convention: Convention | None = None) -> list[str]:
    """List the metrics of hits in [0, 1], higher is better, that the convention has, at 10."""
    known = {line.metric for line in CONVENTIONS[convention].lines} if convention else None
    return [
        title(metric, DEFAULT_K)
        for metric in METRICS.values()
        if metric.reads == "hits" and metric.bounds == (0, 1) and metric.higher_is_better
        if known is None or title(metric) in known
    ]


def evaluate(args: Namespace) -> None:
    """Read the files, compute, write the per-user file, then print."""
    refuse_options(args, "SCORES")
    metrics: Sequence[str] = args.metrics or default_metrics(args.convention)
    request = read_request(metrics, args)  # a misspelt name should not cost reading the files
    if not args.json:
        require_rich()
    sources = {
        name: Source(label, path)
        for name, label in _LABELS.items()
        if (path := getattr(args, name)) is not None
    }
    strata = strata_of(args)
    sources |= {f"strata[{name!r}]": source for name, source in strata.items()}
    if args.per_user is not None:
        inputs = [source.path for source in sources.values()]
        check_output("--per-user", args.per_user, (".csv", ".npz"), inputs)

    with naming(sources), unchanged(), _not_exchanged():
        scores = open_scores(sources["scores"])
        n_users, n_items = shape = scores.shape
        truth = read_matrix(sources["truth"], shape, graded=True)
        sets: dict[str, Any] = {
            name: read_matrix(sources[name], shape, graded=False)
            for name in ("exclude", "candidates")
            if name in sources
        }
        of_relevant: dict[str, Any] = {}
        if strata:
            of_relevant["strata"] = {
                name: read_matrix(source, shape, graded=False, for_all=True)
                for name, source in strata.items()
            }
        side = {name: _read_side(name, sources[name], shape) for name in SIDE if name in sources}
        if "propensity" in side:
            of_relevant["propensity"] = side.pop("propensity")
        report = _audit(scores, truth, request, sets, args) if args.audit else None
        if report is not None and not args.json:
            # Before the metrics are computed: the report says more than an error of theirs.
            show(with_options(str(report)), "")
        with progress("evaluating") as on_progress:
            # As Metrics.compute does, which warns where the footer says it.
            matrix, rules = read_scores(scores), read_request(metrics, args, progress=on_progress)
            given = sets | of_relevant | side
            found = find_hits(matrix, read_users(matrix, truth, given, rules), rules)
            values = whole_values(found, rules)
        levels = {}
        if args.chance:
            levels = _levels(truth, n_items, metrics, request, sets | of_relevant, args)
    summary = summarise(values)
    if args.per_user is not None:
        write_per_user(args.per_user, values)
    if args.json:
        about: dict[str, Any] = {"n_users": n_users, "n_items": n_items}
        if "exclude" in sets:
            about["all_relevant_excluded"] = dict(
                zip(("users", "of"), found.swallowed(), strict=True)
            )
        if report is not None:
            about["audit"] = _findings(report)
        write(to_json(about, args, summary, levels))
    else:
        show(
            evaluation_table(summary, levels),
            "",
            f"{n_users:,} users x {n_items:,} items; "
            + intervals_by(summary.confidence, summary.n_resamples),
            *(_excluded(found) if "exclude" in sets else ()),
            *left_out(n_users, summary, request),
            *size_of_weights(found, request),
        )


@contextmanager
def _not_exchanged() -> Iterator[None]:
    """Refuse files that the library warns of as exchanged."""
    with warnings.catch_warnings():
        warnings.filterwarnings("error", f".*{re.escape(MAY_BE_EXCHANGED)}", RecmetricsWarning)
        try:
            yield
        except RecmetricsWarning as told:
            raise CommandError(str(told)) from None


def _excluded(found: Found) -> list[str]:
    """Count the users whose relevant items cannot be recommended."""
    n_swallowed, n_relevant = found.swallowed()
    line = f"all relevant items of {n_swallowed:,} of {n_relevant:,} users are excluded"
    if is_swallowed(n_swallowed, n_relevant):
        line += "; is --exclude the test set instead of the training set?"
    return [line]


def refuse_options(args: Namespace, form: Form) -> None:
    """Refuse options that do not go with the form of the first file."""
    for name in dict.fromkeys(name for names in _GOES_WITH.values() for name in names):
        given = getattr(args, name) != args.parser.get_default(name)
        if given and name not in _GOES_WITH[form]:
            option = _LABELS.get(name, "--" + name.replace("_", "-"))
            takers = [each for each, names in _GOES_WITH.items() if name in names]
            wanted = ", or ".join(f"{each}, {_FORMS[each]}" for each in takers)
            got = f"{form} is {_FORMS[form]}"
            if takers == ["GROUPS"]:  # no form that is given with a TRUTH
                got = f"got {Source('TRUTH', args.truth)}"
            elif form == "GROUPS" and "RECS" in takers:
                got += f"; type recmetrics evaluate {quote(str(args.scores))} TRUTH"
            elif form == "SCORES" and args.scores.suffix not in (".npy", ".npz"):
                got = f"{Source(form, args.scores)} is neither .csv, .tsv nor .parquet"
            elif form == "RECS" and option == "--exclude":
                got += "; leave the items of training out of RECS instead"
            msg = f"{option} goes with {wanted}; {got}"
            raise CommandError(msg)


def _audit(
    scores: Any, truth: Any, request: Request, sets: Mapping[str, Any], args: Namespace
) -> Audit:
    """Audit the files at the largest cutoff; without one, for the whole list."""
    cutoffs = [definition.spec.k or 0 for definition in request.definitions.values()]
    k = max(cutoffs, default=0) or max(1, scores.shape[1])
    with progress("auditing") as on_progress:
        return audit(scores, truth, **sets, k=k, n_threads=args.threads, progress=on_progress)


def _levels(
    truth: Any,
    n_items: int,
    metrics: Sequence[str],
    request: Request,
    sets: Mapping[str, Any],
    args: Namespace,
) -> dict[str, dict[str, float]]:
    """Compute the means of a random and of the best ranking, for the metrics that have them."""
    able = [text for text in metrics if text in request.of_hits]  # not the keys of --ties range
    options = {**sets, "undefined": args.undefined, "convention": args.convention}
    options["n_items"] = n_items
    return {
        name: {metric: mean_of(values) for metric, values in level(truth, able, **options).items()}
        for name, level in (("chance", Metrics.chance), ("ceiling", Metrics.ceiling))
        if able
    }


def read_request(
    metrics: Sequence[str],
    args: Namespace,
    progress: OnProgress | None = None,
    level: Literal["groups"] | None = None,
) -> Request:
    """Read the request, and refuse a faulty one before a file is read."""
    options = {name: side.option for name, side in SIDE.items()} | {"strata": "--stratum"}
    make = {"strata": "--stratum {name}=FILE"}
    ending = "; see 'recmetrics evaluate --help'"
    words = SideWords(named=options, ending=ending, make=make)
    given: dict[str, Any] = {name: getattr(args, name) for name in SIDE}
    given["strata"] = None if args.stratum is None else dict(args.stratum)
    shared = {**rules_of(args), **given}
    return Request(metrics, level=level, side_words=words, progress=progress, **shared)


def rules_of(args: Namespace) -> dict[str, Any]:
    """Give the options shared with the library, under its names."""
    rules = {name: getattr(args, name) for name in ("undefined", "convention", "nan", "ties")}
    return {**rules, "n_threads": args.threads}


def strata_of(args: Namespace) -> dict[str, Source]:
    """Give the file of each stratum."""
    given = args.stratum or []
    strata = {name: Source(f"--stratum {name}", path) for name, path in given}
    if len(strata) < len(given):
        msg = "--stratum has the same name twice; give each stratum a different name"
        raise CommandError(msg)
    return strata


def _read_side(name: str, source: Source, shape: tuple[int, int]) -> Any:
    of_train = SIDE[name].of_train
    if of_train is not None:
        return of_train(read_matrix(source, shape, graded=False), shape[1])
    return read_table(source)


def left_out(n_users: int, summary: Summary, request: Request, noun: str = "user") -> list[str]:
    """Say how many users each mean includes, if not all."""
    means = {each.metric: each.n_users for each in summary}
    return [with_options(line) for line in users_of_means(means, n_users, request, noun)]


def to_json(
    about: Mapping[str, Any],
    args: Namespace,
    summary: Summary,
    levels: Mapping[str, Mapping[str, float]],
    noun: str = "user",
) -> str:
    """Write a result as JSON, in full precision."""
    document: dict[str, Any] = {
        "recmetrics": __version__,
        "convention": args.convention,
        "undefined": args.undefined or ("nan" if args.convention is None else None),
        **about,
        "metrics": {
            each.metric: {
                "mean": _finite(each.mean),
                "std": _finite(each.std),
                "interval": None if isnan(each.low) else (each.low, each.high),
                f"{noun}s": each.n_users,
                **{n: _finite(level.get(each.metric, nan)) for n, level in levels.items()},
            }
            for each in summary
        },
    }
    return json.dumps(document, indent=2, allow_nan=False) + "\n"


def _finite(value: float) -> float | None:
    """Give a number; None for NaN and infinity, which JSON lacks."""
    return value if isfinite(value) else None


def _findings(report: Audit) -> dict[str, Any]:
    """The findings of an audit, under the names of the library."""
    found = {name: finding._asdict() for name, finding in report.findings.items()}
    return {"k": report.k, "dtype": report.dtype, "findings": found}
