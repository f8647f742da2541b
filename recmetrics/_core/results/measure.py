"""Hits -> one array of values per metric string."""

import re
import sys
from collections.abc import Callable, Iterator, Mapping
from typing import NamedTuple, cast

import numpy as np
import numpy.typing as npt
import scipy.sparse as sp

from recmetrics._core.errors import UndefinedMetricError, warn
from recmetrics._core.inputs import InvalidItems
from recmetrics._core.jit import while_compiling
from recmetrics._core.selection import (
    WHOLE_LIST,
    Exposures,
    Selection,
    Slots,
    Views,
    empty_hits,
    hits_of_slots,
)
from recmetrics._core.spec import NUMBERS, Cutoffs, Definition, Request, lacking
from recmetrics._core.threads import map_blocks, row_blocks
from recmetrics._core.types import FloatArray, UserValues

_THREADED = 1 << 17  # (users / 8 + hits) x metrics; less is done before two threads share the GIL
# Users whose hits are read by all metrics in turn. Each thread has as many blocks as another: small
# ones, taken as threads become free, spend more time waiting for the GIL than on metrics.
_MEASURED = 1 << 16


class RowNames(NamedTuple):
    """The names of the rows of a result in errors."""

    noun: str = "user"
    name: Callable[[int], str] = "user {}".format


ROWS_ARE_USERS = RowNames()


def values_of(
    found: Selection, request: Request, rows: RowNames = ROWS_ARE_USERS
) -> dict[str, UserValues]:
    """Compute the values of a whole call, and warn if they may be misleading."""
    if found.n_swallowed:
        warn_of_swallowed(*found.swallowed())
    if request.progress is not True:
        return whole_values(found, request, rows)
    said = False

    def tell(compiling: bool) -> None:
        nonlocal said
        if compiling and not said:
            print("compiling the metrics", file=sys.stderr)  # noqa: T201  # below the bar
        said = True

    with while_compiling(tell):
        values = whole_values(found, request, rows)
    if found.invalid is not None:
        print(InvalidItems.of(found.invalid), file=sys.stderr)  # noqa: T201
    for line in (*_users_of_means(values, request), *size_of_weights(found, request)):
        print(line, file=sys.stderr)  # noqa: T201
    return values


def whole_values(
    found: Selection, request: Request, rows: RowNames = ROWS_ARE_USERS
) -> dict[str, UserValues]:
    """Compute the values of a whole call: all users at once."""
    values, definitions = measured(found, request), request.definitions
    return {text: settled(values[text], text, definitions[text], rows=rows) for text in values}


def _users_of_means(values: Mapping[str, UserValues], request: Request) -> Iterator[str]:
    """Say how many users each mean includes, if not all."""
    texts_of: dict[int, list[str]] = {}
    for text in request.per_user:
        texts_of.setdefault(int(np.isnan(values[text]).sum()), []).append(text)
    for n_lacking, texts in texts_of.items():
        if n_lacking:
            n_users, specs = values[texts[0]].size, [request.definitions[t].spec for t in texts]
            # 0 would be the best value where lower is better, or better than any.
            upward = all(spec.metric.higher_is_better for spec in specs)
            yield (
                ("" if len(texts_of) == 1 else f"{', '.join(texts)}: ")
                + f"means are over {n_users - n_lacking:,} of {n_users:,} users; {n_lacking:,} "
                + f"{'has' if n_lacking == 1 else 'have'} {lacking(specs)}"
                + ("; undefined='zero' counts them as 0" if upward else "")
            )


def size_of_weights(found: Selection, request: Request) -> list[str]:
    """Give the effective number of relevant items under the weights of propensities."""
    specs = [definition.spec for definition in request.of_hits.values()]
    kinds = dict.fromkeys(
        (spec.stratum, cast(float | None, spec.values["rel"])) for spec in specs if spec.is_weighed
    )
    slots, lines = found.slots, []
    if slots is None:
        return []
    for stratum, rel in kinds:
        weights = slots.weights[slots.among(found.hits.ideal, stratum, rel)]
        # Kish's effective sample size
        size = weights.sum() ** 2 / (weights @ weights) if weights.size else 0.0
        of = "" if stratum is None else f" in the stratum {stratum!r}"
        least = "" if rel is None else f" of relevance {rel:g} or more"
        lines.append(
            f"weighed by propensities, the {weights.size:,} relevant items{of}{least} count as "
            f"{size:,.1f} of equal weight"
        )
    return lines


def logger_key(text: str, at: str) -> str:
    """Write ``at`` for ``@``; where they differ, leave out what loggers refuse."""
    if at == "@":
        return text
    safe = re.sub(r"[^\w./@-]+", "_", text.replace(" ", ""), flags=re.ASCII)
    return re.sub(r"_*@", "@", safe).rstrip("_").replace("@", at)


def is_swallowed(n_swallowed: int, n_relevant: int) -> bool:
    """Say whether more than half of the users with relevant items have all of these excluded."""
    return 2 * n_swallowed > n_relevant


def warn_of_swallowed(n_swallowed: int, n_relevant: int) -> None:
    """Warn where ``exclude`` has swallowed the truth."""
    if is_swallowed(n_swallowed, n_relevant):
        msg = (
            f"exclude holds all relevant items of {n_swallowed:,} of the {n_relevant:,} users with "
            "relevant items, and excluded items are never hits; is exclude= the test set instead "
            "of the training set? give the items seen in training"
        )
        warn(msg)


def measured(found: Selection, request: Request) -> dict[str, UserValues]:
    """Compute all metrics of a request, NaN where they are undefined."""
    values = user_values(found, request)
    if isinstance(found.exposure, Exposures):
        values |= system_values(found.exposure, request, found.cutoffs)
    return {text: values[text] for text in request.definitions}


def ranks_of(
    found: Selection, request: Request
) -> "sp.csr_array[np.float64]":  # old SciPy takes no []
    """Give the rank of each relevant item, found ``with_slots``."""
    if found.n_swallowed:
        warn_of_swallowed(*found.swallowed())
    hits, slots, (definition,) = found.hits, cast(Slots, found.slots), request.definitions.values()
    user_of, is_hit = hits_of_slots(hits)
    first, last = {
        "index": (hits.rank, hits.rank),
        "expected": (hits.first, hits.last),
        "best": (hits.first, hits.first),
        "worst": (hits.last, hits.last),
    }[definition.ties]
    ranks = 0.5 * (first + last)
    data = np.full(len(slots.items), np.inf)
    data[hits.start[user_of[is_hit]] + slots.place[is_hit]] = ranks[is_hit]
    shape = len(hits.n_hits), found.cutoffs.n_items or 0
    return sp.csr_array((data, slots.items.copy(), hits.start.copy()), shape=shape)


def user_values(found: Selection, request: Request) -> dict[str, UserValues]:
    """Compute the user metrics of a request, NaN where they are undefined."""
    n_users, everyone = len(found.hits.n_hits), Views(found.hits, found.slots)
    values = dict(found.of_lists)
    # One array: the pages of many take longer to come by than the metrics of users without hits.
    values |= zip(request.of_hits, np.empty((len(request.of_hits), n_users)), strict=True)

    def measure(views: Views, rows: slice) -> None:
        waiting = []
        for text, (spec, ties, _) in request.of_hits.items():
            k = found.cutoffs.of[text]
            view = views.view(ties, k, spec.values, spec.stratum)
            if spec.metric.check_truth is not None:
                spec.metric.check_truth(view, spec.values)
            waiting.append((spec, view, WHOLE_LIST if k is None else k, values[text][rows]))
        for spec, view, cut, out in waiting:
            out[:] = view.blank
            spec.metric.kernel(view, cut, out, *spec.kernel_arguments)

    if (n_users // 8 + found.hits.n_hits.sum()) * len(request.of_hits) < _THREADED:
        measure(everyone, slice(n_users))
        return values
    # In one thread, metrics took a third of a call with 30 of them and 10,000 users. Blocks of
    # users, rather than metrics, keep all threads busy, and hits in cache for the next metric.
    for text, (spec, _, _) in request.of_hits.items():
        if "discount" in spec.values:  # which may be a function of the caller: not in threads
            everyone.discount(found.cutoffs.of[text], spec.values)
    n_blocks = request.threads * max(1, -(-n_users // (request.threads * _MEASURED)))
    blocks = row_blocks(n_users, -(-n_users // n_blocks))
    map_blocks(lambda rows: measure(everyone.part(rows), rows), blocks, request.threads)
    return values


def user_rows(found: Selection, request: Request) -> FloatArray:
    """The values of the user metrics as one array, (metrics, users)."""
    values = user_values(found, request)
    rows = [values[text] for text in request.per_user]
    return np.stack(rows) if rows else np.empty((0, len(found.hits.n_hits)))


def system_values(exposure: Exposures, request: Request, cutoffs: Cutoffs) -> dict[str, UserValues]:
    """Compute the system metrics of a request from all lists added to ``exposure``."""
    values = {}
    for text, (spec, _, _) in request.of_exposure.items():
        k = cutoffs.of[text]
        state = exposure.at((cutoffs.n_items or 0) if k is None else k)
        values[text] = np.array(spec.metric.kernel(state, *spec.kernel_arguments))
    return values


def check_truth(relevance: FloatArray, request: Request, cutoffs: Cutoffs) -> None:
    """Refuse relevances that a metric cannot be computed with, before any user is ranked."""
    no_hits = empty_hits(np.zeros(1, np.int64), np.empty(0), ties=False)
    views = Views(no_hits._replace(ideal=relevance))
    for text, (spec, _, _) in request.of_hits.items():
        view = views.view("index", cutoffs.of[text], spec.values)
        if spec.metric.check_truth is not None:
            spec.metric.check_truth(view, spec.values)


def settled(
    values: UserValues,
    text: str,
    definition: Definition,
    known: npt.NDArray[np.bool_] | None = None,
    rows: RowNames = ROWS_ARE_USERS,
) -> UserValues:
    """Apply ``undefined=`` to the values that a kernel left NaN.

    It applies to the rows that are ``known``, by default all.
    """
    if definition.undefined == "nan":
        return values
    missing = np.isnan(values)
    if missing.ndim and known is not None:
        missing &= known
    if definition.undefined in NUMBERS:
        values[missing] = NUMBERS[definition.undefined]
    elif missing.any():
        raise UndefinedMetricError(_undefined(missing, text, definition, rows))
    return values


def _undefined(
    missing: npt.NDArray[np.bool_], text: str, definition: Definition, rows: RowNames
) -> str:
    spec = definition.spec
    reason = spec.metric.undefined if spec.stratum is None else lacking([spec])
    if missing.ndim == 0:
        return f"{text} is undefined ({reason}); give undefined='nan' or 'zero'"
    first, noun = rows.name(int(np.flatnonzero(missing)[0])), rows.noun
    return (
        f"{text} is undefined for {missing.sum()} of {missing.size} {noun}s ({reason}), the first "
        f"is {first}; expected a value for every {noun}; give undefined='nan' or 'zero', or leave "
        f"these {noun}s out"
    )
