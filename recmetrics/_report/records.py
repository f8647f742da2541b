"""The numbers of a summary and of a comparison: means, differences, and all together."""

from __future__ import annotations

import importlib
import json
import math
from collections import defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import asdict, dataclass, fields
from datetime import date, time, timedelta
from importlib.util import find_spec
from itertools import chain
from operator import attrgetter
from typing import TYPE_CHECKING, Any, Literal, TypeAlias, get_args, overload

import numpy as np

from recmetrics._core.errors import ArgumentError
from recmetrics._core.options import one_of
from recmetrics._core.results import this_version
from recmetrics._core.spec import read_convention
from recmetrics._core.types import Convention
from recmetrics._printing import plural, split
from recmetrics._report.origins import Origin, definition_of, spelled_out
from recmetrics._report.result_tables import spec_if_known
from recmetrics._report.samples import Samples
from recmetrics._report.statistics import Correction, PairedTest

if TYPE_CHECKING:
    import pandas
    import polars
    import pyarrow

# Fields of a ``Mean`` that are exported also where they are None, which has a meaning there.
_MEANINGFUL_NONE = ("group", "n_users", "n_undefined")
# The types of which every data frame has columns.
_SCALARS = (str, int, float, date, time, timedelta, np.datetime64)
Frames: TypeAlias = Literal["pandas", "polars", "pyarrow"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Mean:
    """The mean of a metric of one model, or the value of a metric of all lists.

    ``group`` is None for all users together. ``low`` and ``high`` are the bounds of the interval.
    ``n_users`` is the number of users with a value, ``n_undefined`` of those without one, who are
    left out. ``n_effective`` is (sum w)^2 / sum w^2 of the users' weights, None without weights.

    ``widened`` has the ends of the interval, "low" and "high", that count one user more, since
    few users (by weight) are below the greatest possible value, or above the least; "equal" stands
    for both ends, if all values are equal.

    An undefined number is NaN, such as the interval of fewer than two values, or of infinite ones.
    A metric of all lists has only a value, ``mean``: its numbers of users are None.

    In a comparison, ``best`` marks the best mean of a metric in its group. ``n_runs`` is the number
    of runs of the model, and ``run_std`` the standard deviation of their means (with divisor
    n - 1), NaN for one run; both are None if every model has one run.

    In a summary, ``std`` is the standard deviation of the users' values (with divisor n - 1), and
    ``q10``, ``median`` and ``q90`` are their quantiles. ``why`` is the reason that users are left
    out, such as "no relevant item", or "" if none are. ``levels`` has the means of reference
    levels. ``model`` is None unless a table names models.
    """

    metric: str
    group: Any
    model: Any
    mean: float
    low: float = math.nan
    high: float = math.nan
    std: float | None = None
    q10: float | None = None
    median: float | None = None
    q90: float | None = None
    n_users: int | None = None
    n_undefined: int | None = None
    best: bool | None = None
    why: str | None = None
    n_effective: float | None = None
    n_runs: int | None = None
    run_std: float | None = None
    levels: dict[str, float] | None = None
    widened: tuple[str, ...] = ()

    @property
    def value(self) -> float:
        """The mean: groups are ordered by it."""
        return self.mean

    def as_dict(self) -> dict[str, Any]:
        """Return the fields that the call has by name, and the levels."""
        cells = asdict(self)
        del cells["widened"]
        if self.levels is not None:  # of a summary, where the model stands last
            cells |= {"model": cells.pop("model"), **cells.pop("levels")}
        return {
            name: cell
            for name, cell in cells.items()
            if name in _MEANINGFUL_NONE or cell is not None
        }


@dataclass(frozen=True, slots=True, kw_only=True)
class Difference:
    """The difference of ``model`` from ``against``, user by user.

    ``n_undefined`` counts the users who are left out because their value is undefined in either
    model. ``wins`` counts the users for whom ``model`` is better: higher, or lower if lower is
    better. ``detectable`` is the smallest true difference that this number of users shows with
    power 0.8: the interval at the confidence of the comparison then leaves out 0 in four of five
    samples, or in more where few users lose or gain. It is NaN for fewer than two users, where no
    user differs from the others, where so few users would not show even the largest difference that
    the metric can have, and where a model has several runs. ``p`` and ``p_uncorrected`` have one
    p-value for each test, corrected and not. ``p_raised`` is True if that of "t" was raised to
    agree with the interval. ``significant`` refers to the corrected p-value of the first test.
    ``widened`` is that of a ``Mean``, where few users have a difference below 0, or above.
    """

    metric: str
    group: Any
    model: str
    against: str
    difference: float
    low: float = math.nan
    high: float = math.nan
    n_users: int
    n_undefined: int
    effect_size: float
    detectable: float = math.nan
    wins: int
    ties: int
    losses: int
    p: dict[str, float]
    p_uncorrected: dict[str, float]
    p_raised: bool = False
    significant: bool = False
    widened: tuple[str, ...] = ()

    def __getattr__(self, name: str) -> Any:
        if name in ("p_values", "corrected"):
            msg = (
                f"a Difference has no {name!r}; type .p for corrected p-values, .p_uncorrected for "
                "those that are not"
            )
            raise AttributeError(msg)
        msg = f"{type(self).__name__!r} object has no attribute {name!r}"
        raise AttributeError(msg)

    @property
    def value(self) -> float:
        """The difference: groups are ordered by it."""
        return self.difference

    def as_dict(self) -> dict[str, Any]:
        """Return the fields by name, with a field for each p-value."""
        cells = asdict(self)
        del cells["widened"]
        corrected = cells.pop("p")
        uncorrected = cells.pop("p_uncorrected")
        p_raised = cells.pop("p_raised")
        significant = cells.pop("significant")
        for test, p in corrected.items():
            cells |= {f"p_{test}": p, f"p_{test}_uncorrected": uncorrected[test]}
        return cells | {"p_raised": p_raised, "significant": significant}


@dataclass(frozen=True, slots=True, weakref_slot=True, kw_only=True, eq=False, repr=False)
class Compared:
    """All numbers of a comparison; ``Comparison`` adds their output."""

    models: tuple[str, ...]
    levels: tuple[str, ...]
    metrics: tuple[str, ...]
    groups: tuple[Any, ...]
    means: tuple[Mean, ...]
    differences: tuple[Difference, ...]
    baseline: str | None
    confidence: float
    tests: tuple[PairedTest, ...]
    correction: Correction | None
    lower_is_better: frozenset[str]
    n_resamples: int | None  # of the bootstrap; None: intervals are those of Student's t
    n_weightless: int | None = None  # users of weight 0; None without weights
    weighed: tuple[str, ...] = ()  # the metrics that weigh users as the system of the convention
    paired_runs: bool = False
    observed: frozenset[str] = frozenset()  # metrics without a known range, whose ends count
    # The metrics of users that a range of cutoffs alone names.
    untested: frozenset[str] = frozenset()
    noun: str = "user"  # the word for a user
    samples: Samples  # the aligned values behind the numbers; no setting

    @property
    def nouns(self) -> str:
        """The word for users."""
        return plural(self.noun)

    @property
    def n_runs(self) -> dict[str, int]:
        """The number of runs of each model that has several."""
        return self.samples.n_runs()

    @property
    def undirected(self) -> tuple[str, ...]:
        """The metrics whose direction is not known: higher is taken as better."""
        unknown = [metric for metric in self.metrics if spec_if_known(metric) is None]
        return tuple(metric for metric in unknown if metric not in self.lower_is_better)

    def lower_with(self, metrics: Sequence[str]) -> list[str]:
        """Give ``lower_is_better=`` for some more metrics; the library knows the others."""
        of_caller = [metric for metric in self.lower_is_better if spec_if_known(metric) is None]
        return [*of_caller, *metrics]

    @overload
    def worst_group(self, metric: str, model: str, against: None = None) -> Mean | None: ...

    @overload
    def worst_group(self, metric: str, model: str, against: str) -> Difference | None: ...

    def worst_group(
        self, metric: str, model: str, against: str | None = None
    ) -> Mean | Difference | None:
        """Find the group in which a model is worst, or worst compared with another model.

        Parameters
        ----------
        metric, model, against
            The names as in ``means`` or, with ``against``, as in ``differences``.

        Returns
        -------
        Mean, Difference or None
            The record of this group; None without ``by=``, or if no group has a defined value.

        Raises
        ------
        ArgumentError
            If no record has these names.
        """
        table = "means" if against is None else "differences"
        records_by_names: dict[Any, list[Mean | Difference]] = {}
        for record in getattr(self, table):
            names = (record.metric, record.model, getattr(record, "against", None))
            records_by_names.setdefault(names, []).append(record)
        if (metric, model, against) not in records_by_names:
            msg = f"metric={metric!r}, model={model!r}, against={against!r} is no record of {table}"
            if (metric, against, model) in records_by_names:
                msg += f"; type model={against!r}, against={model!r}"
            raise ArgumentError(msg)
        _, of_groups = split(records_by_names[metric, model, against])
        defined = [record for record in of_groups if not math.isnan(record.value)]
        worst = max if metric in self.lower_is_better else min
        return worst(defined, key=attrgetter("value"), default=None)


class Framed:
    """A report whose records become a data frame."""

    __slots__ = ()

    def to_records(self) -> list[dict[str, Any]]:
        """Return a dict of plain values for each record."""
        raise NotImplementedError

    @overload
    def to_frame(self, *, backend: Literal["pandas"]) -> pandas.DataFrame: ...

    @overload
    def to_frame(self, *, backend: Literal["polars"]) -> polars.DataFrame: ...

    @overload
    def to_frame(self, *, backend: Literal["pyarrow"]) -> pyarrow.Table: ...

    @overload
    def to_frame(self, *, backend: Frames | None = None) -> Any: ...

    def to_frame(self, *, backend: Frames | None = None) -> Any:
        """Return the records as a data frame, with all digits, as ``Comparison.to_frame``."""
        return frame_of(self.to_records(), backend)


def widened_ends(records: Iterable[Mean | Difference]) -> dict[str, list[str]]:
    """The ends of intervals that count an additional user, by metric."""
    ends_by_metric: dict[str, set[str]] = defaultdict(set)
    for record in records:
        if record.widened:
            ends_by_metric[record.metric].update(record.widened)
    return {metric: sorted(ends) for metric, ends in ends_by_metric.items()}


def document(
    report: Any,
    metric_strings: Iterable[str],
    origin: Origin,
    convention: Convention | None = None,
    **records: Any,
) -> dict[str, Any]:
    """Make a dict of a report that JSON can hold: None for what is undefined or infinite.

    It has the fields of ``report``, a dataclass, except its records, samples and origin; the
    definitions of ``metric_strings``; and ``records`` by name, which replace such fields.
    ``convention`` is that of values whose ``origin`` is not known.
    """
    if convention is not None:
        convention = read_convention(convention)
    definitions = {}
    for metric in metric_strings:
        definition = origin.definition(metric)
        if definition is None and convention is not None:
            definition = definition_of(metric, convention)
        definitions[metric] = None if definition is None else spelled_out(metric, definition)
    not_settings = ("records", "samples", "origin")
    names = (slot.name for slot in fields(report) if slot.name not in not_settings)
    settings = {name: getattr(report, name) for name in names}
    return {
        "format": "recmetrics-1",
        "version": this_version(),
        "convention": origin.convention or convention,
        "definitions": definitions,
        **_plain(settings | records),
    }


def _plain(document: Any) -> Any:
    """Make plain values of all in a document: None of NaN and infinity, a list of a set."""

    def plain_value(value: Any) -> Any:
        if isinstance(value, frozenset):
            return sorted(value)
        return value.item() if isinstance(value, np.generic) else str(value)

    return json.loads(json.dumps(document, default=plain_value), parse_constant=lambda _: None)


def frame_of(records: Sequence[dict[str, Any]], backend: Frames | None) -> Any:
    """Make a data frame of records, by default with the first package that is installed."""
    names = get_args(Frames)
    if backend is not None:
        one_of("backend", backend, Frames)
        names = (backend,)
    name = next(filter(find_spec, names), None)
    if name is None:
        msg = f"to_frame needs the package {' or '.join(names)}; type: pip install {names[0]}"
        raise ArgumentError(msg)

    package = importlib.import_module(name)
    keys = dict.fromkeys(chain.from_iterable(records))  # the first record may lack some
    columns = {key: [record.get(key) for record in records] for key in keys}

    labels = columns.get("group", [])
    label_types = {type(label) for label in labels} - {type(None)}
    # No column holds labels of several types, and only pandas has columns of others than scalars.
    has_scalars = all(issubclass(label_type, _SCALARS) for label_type in label_types)
    if len(label_types) > 1 or (name != "pandas" and not has_scalars):
        columns["group"] = [None if label is None else str(label) for label in labels]
    elif name == "pandas" and label_types == {int}:  # with None they would become floats
        columns["group"] = package.Series(labels, dtype=object)

    if name == "pyarrow":
        return package.table(columns)
    return package.DataFrame(columns)
