"""summary: one result -> samples of users -> means, intervals, quantiles; ``Summary``."""

from __future__ import annotations  # help() shows the names of types, not what they stand for

import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, fields, replace
from itertools import chain
from numbers import Number
from operator import attrgetter
from os import PathLike
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypedDict

import numpy as np

from recmetrics._core.errors import InputError, InputTypeError, ShapeError, at_fault
from recmetrics._core.options import check_count, check_share
from recmetrics._core.results import Missing, left_out, mean_of, who_lacks, why_undefined
from recmetrics._core.types import Convention
from recmetrics._files import Source, read_per_user
from recmetrics._printing import Grid, Printed, grids, named, number, one_line, plural, split
from recmetrics._report import legends, result_tables, statistics
from recmetrics._report.bounds import Floats, bounds_of_mean
from recmetrics._report.groups import Rows, in_order_of, plain, read_users
from recmetrics._report.merged import each_model, read_sums
from recmetrics._report.origins import UNKNOWN, Origin
from recmetrics._report.records import Framed, Mean, document, widened_ends
from recmetrics._report.samples import Samples, ids_of, read_level
from recmetrics._report.settings import read_seed, several
from recmetrics._report.statistics import Basis, Sample

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

_FORMS = (  # that a result may have, in errors
    "what Metrics.compute or Metrics.evaluate returns, an object whose .compute() returns that, a "
    "data frame with a float column per metric, or the path of a file that 'recmetrics evaluate "
    "--per-user' wrote"
)


class SummaryKeywords(TypedDict, total=False):
    """The keywords of ``summary``, for functions that pass them on."""

    metrics: str | Sequence[str] | None
    model: str | Sequence[str] | None
    by: Any
    weights: Any
    levels: Mapping[str, Any] | None
    confidence: float
    noun: str | None
    notes: str | Sequence[str]
    n_resamples: int | None
    rng: int | np.random.Generator | None


def summary(
    values: Any,
    *,
    metrics: str | Sequence[str] | None = None,
    model: str | Sequence[str] | None = None,
    by: Any = None,
    weights: Any = None,
    levels: Mapping[str, Any] | None = None,
    confidence: float = 0.95,
    noun: str | None = None,
    notes: str | Sequence[str] = (),
    n_resamples: int | None = None,
    rng: int | np.random.Generator | None = 0,
) -> Summary:
    r"""Summarise the result of one model: means with intervals, quantiles and counts of users.

    >>> import recmetrics
    >>> nan = float("nan")
    >>> values = {"recall@10": [0.2, 0.6, 0.4, nan] * 25, "mrr@10": [0.5, 1.0, 0.0, 0.25] * 25}
    >>> summary = recmetrics.summary(values)
    >>> print(str(summary).partition("\n\n")[0])  # print(summary) also shows a legend
    metric       mean     95 % interval     q10  median     q90  users  left out
    ---------  ------  ----------------  ------  ------  ------  -----  --------
    recall@10  0.4000  [0.3622, 0.4378]  0.2000  0.4000  0.6000     75        25
    mrr@10     0.4375  [0.3638, 0.5136]  0.0000  0.3750  1.0000    100         0
    >>> [(mean.metric, mean.n_undefined, mean.why) for mean in summary]
    [('recall@10', 25, 'no relevant item'), ('mrr@10', 0, '')]

    Parameters
    ----------
    values
        What ``Metrics.compute`` returns, {metric: (n_users,) values}; an ``Evaluation``, whose
        notes and word for a user are printed; an evaluator, also a ``StreamEvaluator`` with
        ``keep="means"``, whose sums have no quantiles; or any object whose ``.compute()`` returns
        such values; a data frame (pandas, polars, pyarrow) with one row per
        user, or per user and model, such as ``tables.evaluate_table`` returns; or the path of a
        file that ``recmetrics evaluate --per-user`` wrote. Means alone are an error.
    metrics, model
        As in ``compare``. The printed table has a block for each model. A user has one row for each
        model.
    by
        As in ``compare``, with the groups in order of first appearance. Labels may be any hashable
        objects except None and NaN.
    weights
        As in ``compare``. Quantiles and standard deviations are then weighted, too.
    levels
        Reference levels by name, to show beside the means, such as ``{"chance":
        Metrics.chance(truth, ["ndcg@10"])}``, without metrics of all lists: for each metric the
        values of the same users, or one number. They may lack some metrics. Values beside a frame
        are matched by the ids of users, as in ``compare``.
    confidence
        The confidence of the intervals, above 0 and below 1.
    noun
        The word for a user in the tables, such as "group" or "session". None is the noun of an
        ``Evaluation``, "event" for a ``StreamEvaluator`` of one model, and "user" for all others.
    notes
        A line to print below the tables, or several.
    n_resamples, rng
        As in ``compare``, which gives the same intervals.

    Returns
    -------
    Summary
        The summary prints as a table; ``means`` is a dict for a logger; iterating yields one
        record for each metric.

    Raises
    ------
    InputError, InputTypeError, ShapeError
        If values, groups or weights cannot be read, or if no metric has a value.
    ArgumentError
        If ``confidence``, ``n_resamples`` or ``rng`` is invalid.

    Notes
    -----
    Users whose value is undefined (NaN) are left out of that metric, and counted. A metric of all
    lists, of shape (), has a value, but neither interval nor quantiles.

    Intervals are those of ``compare``: of Student's t, corrected for skewness, or of the bootstrap
    with ``n_resamples``. They cover the variation of the mean over samples of users, not over
    training runs of the model.

    The q quantile is the smallest value such that the users with values up to it have at least the
    share q of the total weight. If they have exactly q, it is the mean of that value and the next
    one ("averaged_inverted_cdf" in NumPy). So the median is the usual one, and a user of weight 2
    counts as two users of weight 1.
    """
    columns = result_tables.read_columns(metrics, model, by, weights)
    if result_tables.is_evaluation(values):
        notes = notes or values.notes
    noun = result_tables.noun_of(values, noun)
    keeps_sums = result_tables.keeps_sums(values)
    if levels is not None:
        result_tables.require_named("levels", levels)
    reason_form = _form_of_reasons(values)
    with at_fault("values"):
        if keeps_sums:
            only_of_values = {"model": model, "by": by, "weights": weights, "levels": levels}
            models: Sequence[Samples] = each_model(read_sums(values, columns, only_of_values))
            level_arrays: dict[str, dict[str, Floats]] = {}
            weighed: tuple[str, ...] = ()  # the means of sums are plain
        else:
            table = _read_table(values, columns)
            models = read_models(table, by, weights, columns)
            level_arrays = _read_levels(levels or {}, table, columns)
            weighed = tuple(table.user_weights)
    confidence = check_share("confidence", confidence, 0.0)
    seed = read_seed(rng)
    if n_resamples is not None:
        n_resamples = check_count("n_resamples", n_resamples, 100)
        models[0].require_values("the bootstrap of n_resamples=")

    with np.errstate(all="ignore"):  # of infinite values, and of sums that overflow
        pairs = _with_bases(models, level_arrays, reason_form, n_resamples, seed)
        records, observed = statistics.with_intervals(pairs, confidence, n_resamples, seed)
    overall, of_groups = split(records)
    if all(math.isnan(record.mean) and record.n_undefined for record in overall):
        record = overall[0]
        n_users = record.n_undefined or 0
        lacking = who_lacks(n_users, n_users, record.why or "no value", plural(noun))
        msg = (
            f"no {noun} has a value of any metric; for {record.metric!r} {lacking}; expected a "
            f"value of at least one {noun}: check that the truth belongs to these {plural(noun)}"
        )
        raise InputError(msg)
    names = chain.from_iterable(samples.models for samples in models)
    weightless = (samples.n_weightless for samples in models)
    return Summary(
        records=(*overall, *of_groups),
        groups=tuple(models[0].groups)[1:],  # the first is None, all users
        models=tuple(name for name in names if name is not None),
        levels=tuple(level_arrays),
        confidence=confidence,
        noun=noun,
        notes=several(notes),
        n_resamples=n_resamples,
        observed=frozenset(observed),
        n_weightless=max((n for n in weightless if n is not None), default=None),
        weighed=weighed,
        origin=models[0].origin,
    )


def _form_of_reasons(values: Any) -> str:
    """The form of the reason for which users lack a value, with {} for that of the metric.

    Users of an evaluator may lack one for want of an update, too, or for that alone.
    """
    counts = list(values.counts().values()) if callable(getattr(values, "counts", None)) else []
    if not any(getattr(of_metric, "not_updated", 0) for of_metric in counts):
        return "{}"
    if not any(of_metric.undefined for of_metric in counts):
        return "no update"
    return "{}, or no update"


def _read_table(values: Any, columns: result_tables.Columns) -> result_tables.Table:
    """Read one result, or the file of one; refuse those of several models or runs."""
    if isinstance(values, Mapping):
        results = values.values()
        are_results = all(isinstance(result, Mapping | str | PathLike) for result in results)
        first = next(iter(results), None)
        # {user: {metric: value}} is one result, which ``read_table`` says how to give. A metric of
        # all lists has one number in the result of a model, too, and others have arrays.
        is_of_user = (
            isinstance(first, Mapping)
            and len(first) > 0
            and all(isinstance(value, Number) for value in first.values())
        )
        if results and are_results and not is_of_user:
            names = [repr(plain(name)) for name in values]
            msg = (
                f"values holds the results of several models, {', '.join(names)}; "
                f"expected one: type recmetrics.summary(values[{names[0]}]), or "
                "recmetrics.compare(values) for all of them"
            )
            raise InputTypeError(msg)
    if isinstance(values, list | tuple) and any(isinstance(value, Mapping) for value in values):
        msg = (
            f"values is a {type(values).__name__}; expected one result, {_FORMS}; "
            "recmetrics.compare takes several runs of a model, {'a': [run1, run2], 'b': other}"
        )
        raise InputTypeError(msg)
    if isinstance(values, str | PathLike):
        source = Source("values", Path(values))
        if source.suffix == ".parquet" and source.path.exists():
            msg = (
                f"{source} is a table of Parquet; to read it first, type "
                f"recmetrics.summary({result_tables.code_of_frame(source.path)})"
            )
            raise InputTypeError(msg)
        values = read_per_user(source).values
    return result_tables.read_table("values", values, columns, _FORMS)


def read_models(
    table: result_tables.Table,
    by: Any,
    weights: Any,
    columns: result_tables.Columns,
    *,
    is_part: bool = False,
) -> list[Samples]:
    """Read the groups and weights of a table, and make the samples of each model that it names.

    If it names none, there is one model, None. ``is_part`` is that of ``read_users``.
    """
    n_users = result_tables.require_alike([table])
    for metric, array in table.values.items():
        if array.shape == (0,):
            msg = f"values holds no user: metric {metric!r} has shape (0,)"
            raise InputError(msg)
    labels = {}
    unread_columns = columns.model  # arrays have no columns
    if table.frame is not None:
        labels = {column: table.frame[column].to_list() for column in columns.labels}
        unread_columns = ()

    def ids() -> list[Any] | None:
        return ids_of(table, table.users())

    result_tables.require_one_index([table], by=by, weights=weights)
    by = in_order_of(ids, table.frame, "by", by)
    weights = in_order_of(ids, table.frame, "weights", weights)
    if table.model:
        by = _of_rows(by, ids, n_users)
        weights = _of_rows(weights, ids, n_users)
    groups, user_weights = read_users(
        "values is not", labels, n_users, by, weights, unread_columns, ids, is_part=is_part
    )

    models = []
    for model, rows in (table.rows_by_model() or {None: np.arange(n_users)}).items():
        values = table.values | result_tables.values_of_all_lists(table, rows)
        n_weightless = None
        if user_weights is not None:
            n_weightless = int(np.count_nonzero(user_weights[rows] == 0))
        samples = Samples(
            models=(model,),
            metrics=tuple(values),
            system=frozenset(name for name, array in values.items() if not array.ndim),
            values={model: {name: np.atleast_1d(array) for name, array in values.items()}},
            groups={group: rows[np.isin(rows, users)] for group, users in groups.items()},
            bounds=table.bounds,
            rounding=table.rounding,
            weights=user_weights,
            n_weightless=n_weightless,
            metric_weights=table.user_weights,
            origin=table.origin,
        )
        models.append(samples)
    return models


def _of_rows(entries: Any, ids: Callable[[], list[Any] | None], n_rows: int) -> Any:
    """Repeat the entries of users for the rows of a table of several models; others stay."""
    if isinstance(entries, str) or not hasattr(entries, "__len__") or len(entries) == n_rows:
        return entries
    users = ids()
    rows_of_user = dict.fromkeys(users or ())
    if len(entries) != len(rows_of_user) or hasattr(entries, "columns"):
        return entries
    entry_of_user = dict(zip(rows_of_user, entries, strict=True))
    return [entry_of_user[user] for user in users or ()]


def _read_levels(
    levels: Mapping[str, Any], table: result_tables.Table, columns: result_tables.Columns
) -> dict[str, dict[str, Floats]]:
    """Read the reference levels, by name and metric: values of the same users, or one number.

    Metrics that ``table`` lacks are left out.
    """
    arrays: dict[str, dict[str, Floats]] = {}
    if not levels:
        return arrays
    ids = ids_of(table, table.users())
    columns = columns._replace(metrics=tuple(table.values))
    of_comparisons = {"best", "n_runs", "run_std"}  # fields that no mean of a summary has
    keys_of_records = {slot.name for slot in fields(Mean)} - of_comparisons
    for name, source in levels.items():
        if name in keys_of_records:  # as_dict would give the level in the place of the field
            msg = (
                f"the name of the level {name!r} is that of a column of to_records and to_frame; "
                f"expected another one: type levels={{'{name} level': ...}}"
            )
            raise InputError(msg, argument="levels")
        level = read_level(name, source, columns, [table], ids, takes_means=True)
        result_tables.require_one_index([table, level])
        for metric, array in level.values.items():
            shape = table.values[metric].shape
            if array.shape not in ((), shape):
                msg = (
                    f"metric {metric!r} of {level.name} has shape {array.shape}; expected that of "
                    f"the values, {shape}, or one number"
                )
                raise ShapeError(msg)
        arrays[name] = level.values
    return arrays


def _with_bases(
    models: Sequence[Samples],
    levels: Mapping[str, Mapping[str, Floats]],
    reason_form: str,
    n_resamples: int | None,
    seed: int,
) -> Iterator[tuple[Mean, Basis]]:
    """Describe the values of all models in each group, with the basis of each interval.

    ``reason_form`` is that of ``_form_of_reasons``.
    """
    # The values of the first model are those of all: each model has some of the rows.
    limits = {metric: models[0].limits(metric) for metric in models[0].metrics}
    for samples in models:
        for record, group_values in _records(samples, levels, reason_form):
            basis = Basis()
            if n_resamples is None:
                basis = Basis(bounds_of_mean(group_values, limits[record.metric]))
            elif group_values.can_bound:
                sums = statistics.sums_of(group_values.values, group_values.weights, seed)
                basis = Basis(sample=Sample((sums,)))
            yield record, basis


def _records(
    samples: Samples, levels: Mapping[str, Mapping[str, Floats]], reason_form: str
) -> Iterator[tuple[Mean, Any]]:
    """Describe the values of a model in each group, without intervals, and give these values."""
    [model] = samples.models
    for group, users in samples.groups.items():
        for metric in samples.metrics_in(group):
            is_system = metric in samples.system  # one value, without spread and quantiles
            group_values = samples.of(group, metric, model)
            fields = samples.describe(group, metric, model, group_values)
            fields["std"] = math.nan if is_system else group_values.std
            if samples.keeps_values:
                quantiles = [math.nan] * 3
                if not is_system:
                    quantiles = group_values.quantiles(0.1, 0.5, 0.9)
                fields |= zip(("q10", "median", "q90"), quantiles, strict=True)
            users_of_levels = users if is_system else group_values.users
            record = Mean(
                **fields,
                why=_reason(metric, group_values, "{}" if is_system else reason_form),
                levels=_level_means(samples, levels, metric, users_of_levels),
            )
            yield record, group_values


def _reason(metric: str, values: Any, form: str) -> str:
    """Say why users lack a value, in a form of ``_form_of_reasons``; "" if none does."""
    if not values.n_undefined:
        return ""
    spec = result_tables.spec_if_known(metric)
    return form.format("no value" if spec is None else why_undefined(spec))


def _level_means(
    samples: Samples, levels: Mapping[str, Mapping[str, Floats]], metric: str, users: Rows
) -> dict[str, float]:
    """The means of a metric over some users for each reference level that has it."""
    means = {}
    for name, arrays in levels.items():
        if metric in arrays:
            values = arrays[metric]
            weights = samples.weights_of(metric)
            if not values.ndim:
                means[name] = float(values)
            elif weights is None:
                means[name] = mean_of(values[users])
            else:
                means[name] = mean_of(values[users], weights[users])
    return means


@dataclass(frozen=True, slots=True, weakref_slot=True, kw_only=True, eq=False, repr=False)
class Summary(Printed, Framed):
    """The result of ``recmetrics.summary``; it prints as a table, and is displayed in notebooks.

    >>> import recmetrics
    >>> summary = recmetrics.summary({"mrr@10": [0.5, 1.0, 0.2, 0.0], "hit@1": [0, 1, 0, 0]})
    >>> summary.means
    {'mrr@10': 0.425, 'hit@1': 0.25}
    >>> [(mean.metric, mean.median, mean.n_users) for mean in summary]
    [('mrr@10', 0.35, 4), ('hit@1', 0.0, 4)]

    Attributes
    ----------
    records
        ``Mean`` records: first those of all users, whose ``group`` is None, then those of
        each group. Iterating over the summary yields them.
    models, levels, groups
        The names of the models, if a table names them; of the levels; the labels of the groups.
    confidence, n_resamples
        The confidence of the intervals, and the number of bootstrap resamples; None without.
    observed
        The metrics whose range is not known, and whose intervals count one more user with their
        least or largest value.
    n_weightless
        The number of users of weight 0, who are left out; None without weights.
    weighed
        The metrics whose means weigh users as the system of the convention does.
    noun, notes
        The word for a user, and the lines below the tables that the caller added.
    """

    records: tuple[Mean, ...]
    groups: tuple[Any, ...]
    models: tuple[str, ...]
    levels: tuple[str, ...]
    confidence: float
    n_resamples: int | None
    n_weightless: int | None = None
    weighed: tuple[str, ...] = ()
    observed: frozenset[str] = frozenset()
    noun: str = "user"
    notes: tuple[str, ...] = ()
    origin: Origin = UNKNOWN  # no setting

    @property
    def means(self) -> dict[str, float]:
        """The mean of each metric over all users, for a logger; "model/metric" with models."""
        means = {}
        for record in split(self.records)[0]:
            name = record.metric
            if record.model is not None:
                name = f"{record.model}/{name}"
            means[name] = record.mean
        return means

    def __iter__(self) -> Iterator[Mean]:
        return iter(self.records)

    def __len__(self) -> int:
        return len(self.records)

    def to_records(self) -> list[dict[str, Any]]:
        """Return a dict of plain values for each record."""
        return [record.as_dict() for record in self.records]

    def to_dict(self, convention: Convention | None = None) -> dict[str, Any]:
        """Return everything as a dict for ``json.dumps``.

        ``definitions`` has the full metric strings. An ``Evaluation`` and an evaluator know theirs;
        for values in arrays, data frames and files, ``convention`` says under which convention they
        were computed. A definition that is not known is None, and so is that of a metric of another
        package, and a number that is undefined or infinite.
        """
        metrics = tuple(dict.fromkeys(record.metric for record in self.records))
        notes = [*self._left_out(plural(self.noun)), *self.notes]
        return document(
            self,
            metrics,
            self.origin,
            convention,
            metrics=metrics,
            means=self.to_records(),
            widened=widened_ends(self.records),
            notes=notes,
        )

    def plot(self, target: str | PathLike[str] | Axes | None = None) -> Figure:
        """Draw the means with intervals and levels, as ``Comparison.plot``.

        Several cutoffs of a metric, such as those of "ndcg@1:20", are a curve over k.
        """
        from recmetrics._report.plots import draw

        means: list[Mean] = []
        for record in self.records:
            means.append(replace(record, model=record.model or "mean"))
            # All models have the same levels: those of the first model are drawn.
            if record.levels and record.model in (None, *self.models[:1]):
                for level, mean in record.levels.items():
                    means.append(
                        Mean(metric=record.metric, group=record.group, model=level, mean=mean)
                    )
        nouns = plural(self.noun)
        notes = [*self._notes_on_intervals(nouns), *self._notes_on_users(nouns)]
        return draw(means, (), self.models or ("mean",), self.levels, notes, target)

    def _page(self) -> tuple[list[Grid], list[str]]:
        tables = [self._grid(records) for records in split(self.records) if records]
        nouns = plural(self.noun)
        quantiles = f"q10, median, q90: quantiles of the {nouns}' values"
        if not self._has_quantiles:
            quantiles = "no quantiles: only sums of the values are kept"
        notes = [
            *self._notes_on_intervals(nouns),
            quantiles,
            *self._notes_on_users(nouns, has_counts=True),
        ]
        return tables, notes

    def _notes_on_intervals(self, nouns: str) -> list[str]:
        """Say how the intervals are computed; ``nouns`` is the word for users."""
        metrics_of_all_lists = dict.fromkeys(
            mean.metric for mean in self.records if mean.n_users is None
        )
        notes = []
        if not all(map(math.isnan, map(attrgetter("low"), self.records))):
            notes.append(legends.intervals_by(self.confidence, self.n_resamples, nouns))
        if metrics_of_all_lists:
            names = ", ".join(map(one_line, metrics_of_all_lists))
            notes.append(f"no interval, one value for all lists: {names}")
        few_users = legends.too_few_users(self.records, nouns)
        notes += legends.ends_of_means(self.records, few_users, self.noun)
        notes += legends.observed_ranges(self.observed, self.noun)
        return notes

    def _notes_on_users(self, nouns: str, *, has_counts: bool = False) -> list[str]:
        """Say which users count, and how, and what the caller adds.

        ``nouns`` is the word for users; ``has_counts`` is True for tables, which show how many
        users there are.
        """
        return [
            *legends.weighted_by(self.n_weightless, self.noun, has_counts=has_counts),
            *grids.weighted_as_system(self.weighed, nouns),
            *self._without_levels(),
            *self._left_out(nouns),
            *map(one_line, self.notes),
        ]

    @property
    def _has_quantiles(self) -> bool:
        """False for sums of values."""
        return any(record.median is not None for record in self.records)

    def _grid(self, records: Sequence[Mean]) -> Grid:
        """Make the table of all users, or of all groups."""
        places = grids.decimals_of((record.metric, record.mean) for record in self.records)

        def level(name: str) -> grids.Column:
            return number(one_line(name), lambda record: record.levels.get(name), places)

        has_quantiles = self._has_quantiles
        quantiles = [
            number(name, attrgetter(name), places, is_shown=has_quantiles, is_optional=True)
            for name in ("q10", "median", "q90")
        ]
        columns = [
            named("model", bool(self.models)),
            named("group", records[0].group is not None),
            named("metric", is_repeated=True),
            number("mean", attrgetter("mean"), places),
            *map(level, self.levels),
            grids.interval(self.confidence, places),
            *quantiles,
            grids.count(plural(self.noun), "n_users"),
            grids.count("effective", "n_effective", self.n_weightless is not None, 1),
            grids.left_out(records),
        ]
        return grids.table(columns, records)

    def _without_levels(self) -> Iterator[str]:
        """Say of which metrics the levels are not given, where others have them."""
        levels_of: dict[str, list[str]] = {}  # by the metrics that lack them
        for level in self.levels:
            lacking = [r.metric for r in self.records if level not in (r.levels or {})]
            if lacking:
                levels_of.setdefault(", ".join(dict.fromkeys(lacking)), []).append(level)
        for metrics, levels in levels_of.items():
            yield one_line(f"{', '.join(levels)}: not given for {metrics}")

    def _left_out(self, nouns: str) -> Iterator[str]:
        """Say how many of all users, ``nouns``, are left out of which metrics, and why."""
        overall, _ = split(self.records)
        missing = []
        for record in overall:
            name = record.metric
            if record.model is not None:
                name += f" of {record.model}"
            if record.n_users is not None and record.n_undefined is not None:
                n_users = record.n_users + record.n_undefined
                missing.append(
                    Missing(one_line(name), record.n_undefined, n_users, record.why or "")
                )
        yield from left_out(missing, nouns)
        for record in overall:
            if record.n_users is None and record.why:
                yield f"{one_line(record.metric)} has {record.why}"
