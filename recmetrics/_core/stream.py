"""StreamEvaluator: metrics of events that come in batches, each with its truth."""

from __future__ import annotations  # help() shows the names of types, not what they stand for

from collections.abc import Callable, Mapping
from dataclasses import replace
from functools import partial
from typing import Any, NamedTuple, Unpack

import numpy as np
import numpy.typing as npt

from recmetrics._core.errors import ArgumentError, InputError, InputTypeError, warn
from recmetrics._core.inputs import (
    NO_SIDE,
    Rankings,
    Side,
    arguments_read,
    read_count,
    read_labels,
    read_side,
    read_users,
    with_profile,
)
from recmetrics._core.options import ForStreams, NoShared, one_of, takes
from recmetrics._core.results import (
    Accumulator,
    Keep,
    Store,
    check_truth,
    for_logger,
    read_group_labels,
    read_raw_weights,
    warn_of_swallowed,
)
from recmetrics._core.selection import (
    Selection,
    Source,
    find_hits,
    longest_list,
    read_factors,
    read_model,
)
from recmetrics._core.spec import MetricsList, Request
from recmetrics._core.types import (
    Candidates,
    Factors,
    Invalid,
    ItemValues,
    Matrix,
    Ranking,
    Scores,
    Truth,
    UserValues,
)


class EventCounts(NamedTuple):
    """The number of events for which a metric is defined and undefined."""

    defined: int
    undefined: int


class StreamEvaluator(Accumulator):
    """Metrics of events that come in batches: each row is a new event with its own truth.

    Use it for models that predict the next item of a session or sequence, and if the users are not
    known beforehand. If the users are known, and a user may be in several batches, use
    ``Evaluator``.

    >>> from recmetrics import StreamEvaluator
    >>> stream = StreamEvaluator(["hit@1", "mrr@3"])
    >>> stream.update([[0.1, 2.0, 0.3]], [1])  # item 1 came next
    >>> stream.update([[1.5, 0.2, 0.9], [0.1, 0.3, 0.2]], [2, 1])
    >>> stream.mean(prefix="val/")
    {'val/hit@1': 0.6666666666666666, 'val/mrr@3': 0.8333333333333334}

    Parameters
    ----------
    metrics_list
        As in ``Metrics.compute``.
    n_items
        The size of the catalogue. None takes it from the first batch of scores. Rankings do not
        determine it: pass ``n_items`` to compute metrics of all lists, such as coverage, from
        rankings alone.
    keep
        "values" keeps the value of each event. "means" keeps only sums, so memory does not grow:
        ``mean``, ``interval`` and ``counts`` give the same results as with "values", but
        ``compute`` raises an error. ``recmetrics.summary`` and ``recmetrics.compare`` take the
        stream and compute intervals, tests and gates from the sums.
    undefined, convention, nan, ties, n_threads
        As in ``Metrics.compute``.
    strata
        As in ``Metrics.compute``, but each stratum is one set of items for all events.
    popularity, features, similarity, genres, propensity
        Side information about the items, as in ``Metrics.compute``. It is not copied. The profile
        of the users comes with each update.

    Raises
    ------
    MetricSpecError, InputError, InputTypeError, ArgumentError
        As in ``Metrics.compute``.

    Notes
    -----
    An update ranks its rows; the metrics are computed later, as in ``Evaluator``. Several threads
    may update one stream. An update that Ctrl-C or an error interrupts adds its whole batch or
    nothing. Events have no ids: one that comes twice, as from samplers that pad, counts twice.
    """

    _keeps = ("values", "means")
    _side: Side | None = None  # None where no update is taken
    _largest_relevance = -1.0  # the largest one that was checked; -1 before the first check

    @takes(ForStreams)
    def __init__(
        self,
        metrics_list: MetricsList,
        *,
        n_items: int | None = None,
        keep: Keep = "values",
        **shared: Unpack[ForStreams],
    ) -> None:
        # Not None, so that metrics that need a profile are accepted: it comes with each update.
        request = Request(metrics_list, **shared, profile=())
        one_of("keep", keep, Keep)
        # The first metric that needs a profile; None if none does.
        self._profile_metric: str | None = None
        for spec in request.of_side:
            if any("profile" in group for group in spec.metric.needs):
                self._profile_metric = str(spec)
                break
        n_items = read_count(n_items)
        self._side = NO_SIDE
        if request.of_side:
            side = read_side(request.of_side, shared, None, n_items)
            self._side = replace(side, labels=read_labels(arguments_read(shared, side)))
            n_items = self._side.n_items
        self._results = Store(request, keep, (None, n_items), self._side)

    @takes(NoShared)
    def update(
        self,
        scores: Scores | Factors | Mapping[str, Scores | Factors],
        truth: Truth,
        *,
        exclude: Truth | None = None,
        candidates: Candidates | None = None,
        profile: Matrix | None = None,
        by: npt.ArrayLike | None = None,
        weights: npt.ArrayLike | None = None,
    ) -> None:
        """Add a batch of events.

        >>> from recmetrics import StreamEvaluator
        >>> stream = StreamEvaluator("recall(denom=relevant)@2")
        >>> stream.update([[3, 2, 1], [3, 2, 1]], [[0, 1, 1], [0, 0, 0]], exclude=[[0], [0]])
        >>> stream.counts()
        {'recall(denom=relevant)@2': EventCounts(defined=1, undefined=1)}

        Of several models, ``recmetrics.compare`` and its gate decide from the sums:

        >>> stream = StreamEvaluator("hit@1", keep="means")
        >>> stream.update({"old": [[3, 2, 1]] * 40, "new": [[2, 3, 1]] * 40}, [1] * 40)
        >>> stream.mean()
        {'old/hit@1': 0.0, 'new/hit@1': 1.0}

        Parameters
        ----------
        scores
            As in ``Evaluator.update``. Or the scores of several models for the same events, {name:
            scores}, with ``keep="means"``. Every update then has the same models. A factor model is
            a tuple (user_factors, item_factors) or (user_factors, item_factors, item_bias).
        truth
            The relevant items of these rows, in any form that ``Metrics.compute`` takes. For
            next-item prediction, pass (n_batch,) integers: the index of the next item, or -1 for
            none.
        exclude, candidates, profile
            As in ``Metrics.compute``, for these rows.
        by
            (n_batch,) the group of each event, such as a segment: integers or text, of which all
            updates together have at most 50. Needs ``keep="means"``, in every update.
            ``recmetrics.summary`` and ``compare`` then have the groups.
        weights
            (n_batch,) the weight of each event: 0, which leaves it out of all means, or from 1e-90
            to 1e90. Needs ``keep="means"``. None: each weighs 1.

        Raises
        ------
        InputError, InputTypeError, ArgumentError
            As in ``Metrics.compute``. Also raised if the number of items differs among models or
            from that of the earlier batches; the batch is then not added.
        """
        sources = _by_model(scores, read_model)
        self._take_in(sources, truth, exclude, candidates, profile, by, weights)

    @takes(NoShared)
    def update_factors(
        self,
        user_factors: Scores,
        item_factors: Scores,
        truth: Truth,
        *,
        item_bias: ItemValues | None = None,
        exclude: Truth | None = None,
        candidates: Candidates | None = None,
        profile: Matrix | None = None,
    ) -> None:
        """Add a batch of events of a factor model, without making its score matrix.

        An example is a sequence encoder whose output is multiplied by the item embeddings.

        >>> from recmetrics import StreamEvaluator
        >>> stream = StreamEvaluator("mrr")
        >>> stream.update_factors([[1.0, 0.0]], [[3.0, 1.0], [2.0, 2.0], [1.0, 3.0]], [1])
        >>> stream.mean()
        {'mrr': 0.5}

        Parameters
        ----------
        user_factors, item_factors, item_bias
            As in ``Metrics.compute_factors``, (n_batch, d), (n_items, d) and (n_items,).
        truth, exclude, candidates, profile
            As in ``update``.

        Raises
        ------
        InputError, InputTypeError
            As in ``Metrics.compute_factors`` and ``update``.
        """
        scores = read_factors(user_factors, item_factors, item_bias)
        self._take_in({"": scores}, truth, exclude, candidates, profile)

    @takes(NoShared)
    def update_ranked(
        self,
        ranking: Ranking | Mapping[str, Ranking],
        truth: Truth,
        *,
        repeats: Invalid = "raise",
        unknown: Invalid = "raise",
        profile: Matrix | None = None,
        by: npt.ArrayLike | None = None,
        weights: npt.ArrayLike | None = None,
    ) -> None:
        """Add a batch of events with given rankings.

        >>> from recmetrics import StreamEvaluator
        >>> stream = StreamEvaluator("hit@1")
        >>> stream.update_ranked([[0, 2], [0, -1]], [0, 1])
        >>> stream.mean()
        {'hit@1': 0.5}

        Parameters
        ----------
        ranking
            (n_batch, length) item indices, best first, as in ``Metrics.compute_ranked``. To add
            scores later to the same stream, pass ``n_items`` to the constructor. Or those of
            several models, {name: ranking}.
        truth, profile, by, weights
            As in ``update``.
        repeats, unknown
            As in ``Evaluator.update_ranked``.

        Raises
        ------
        InputError, InputTypeError
            As in ``Metrics.compute_ranked`` and ``update``.
        """

        def read(ranking: Any) -> Rankings:
            return Rankings(ranking, self._results.n_items, repeats=repeats, unknown=unknown)

        self._take_in(_by_model(ranking, read), truth, None, None, profile, by, weights)

    @takes(NoShared)
    def compute(self) -> dict[str, UserValues]:
        """Compute the value of each event, in the order of the updates, and of all lists.

        >>> from recmetrics import StreamEvaluator
        >>> stream = StreamEvaluator(["hit@1", "coverage@1"])
        >>> stream.update([[3, 2, 1], [3, 2, 1]], [0, 1])
        >>> stream.compute()
        {'hit@1': array([1., 0.]), 'coverage@1': array(0.33333333)}

        Raises
        ------
        ArgumentError
            If the stream has ``keep="means"``, which keeps no values.
        UndefinedMetricError
            An event without relevant items under ``undefined="raise"``.
        """
        if self._results.keep == "means":
            msg = (
                "the stream has keep='means' and keeps no values of events; type "
                "StreamEvaluator(..., keep='values'), or call mean(); to compare models by sums, "
                "update one stream with {'old': scores, 'new': scores}"
            )
            raise ArgumentError(msg)
        return self._results.compute()

    @takes(NoShared)
    def mean(self, *, prefix: str = "", at: str = "@") -> dict[str, float]:
        """Compute the mean of each metric over the events that have a value, for a logger.

        It is a plain mean, also under a convention whose system weighs users.

        Parameters
        ----------
        prefix, at
            As in ``Evaluator.mean``.

        Raises
        ------
        UndefinedMetricError
            As in ``compute``.
        ArgumentError
            If two means would have one key.

        Warns
        -----
        RecmetricsWarning
            If ``exclude`` removes all relevant items of more than half of the events that have any.
            If each event has one target, a single excluded one is enough, as where a session
            already has its next item; such a target is no hit. Also if the system of the convention
            weighs users in the mean of a metric.
        """
        warn_of_swallowed(*self._results.swallowed, nouns="events")
        for text, weight in self._results.request.weights.items():
            warn(
                f"the mean of {text} is plain, and the system of the convention weighs each user "
                f"by {weight}; Evaluator(...).mean() and Metrics.evaluate(...) do so too"
            )
        means = {text: mean for text, (mean, _) in self._results.means().items()}
        return for_logger(means, prefix, at)

    def interval(self, *, prefix: str = "", at: str = "@") -> dict[str, tuple[float, float]]:
        """Compute the 95 % interval of each mean, by the normal approximation.

        The interval is mean +- 1.96 s / sqrt(n), where n is the number of events that have a value
        and s is their standard deviation (with divisor n - 1). It may go beyond the range of the
        metric; ``recmetrics.summary(stream)`` has intervals that do not. It is NaN for fewer than
        two such events, and for a metric of all lists.

        >>> from recmetrics import StreamEvaluator
        >>> stream = StreamEvaluator("hit@1", keep="means")
        >>> stream.update([[3, 2, 1], [3, 2, 1]], [0, 1])
        >>> low, high = stream.interval()["hit@1"]
        >>> round(low, 3), round(high, 3)
        (-0.48, 1.48)
        """
        intervals = {}
        for text, (mean, half) in self._results.means().items():
            intervals[text] = mean - half, mean + half
        return for_logger(intervals, prefix, at)

    def counts(self) -> dict[str, EventCounts]:
        """Count the events for which each metric is defined and undefined.

        An event whose undefined value is replaced by a number, such as 0, counts as defined. For a
        metric of all lists, all events count as defined.
        """
        return {text: EventCounts(*numbers) for text, numbers in self._results.counts().items()}

    def hook(
        self, prepare: Callable[[Any], tuple[Any, Any]] | None = None, *, at: str = "@"
    ) -> Callable[..., dict[str, float]]:
        """Make a ``compute_metrics`` function for a Hugging Face ``Trainer``.

        Use it with ``TrainingArguments(batch_eval_metrics=True)``. The trainer then calls the
        function for each batch and keeps no predictions. For the last batch of an evaluation, the
        function returns the means and resets the stream; it also resets it if it raises. After an
        evaluation that is interrupted between two batches, call ``stream.reset()``.

        Parameters
        ----------
        prepare
            A function that takes a prediction and returns its scores and its truth. By default,
            these are ``predictions`` and ``label_ids``. Needed for a model with several outputs.
        at
            As in ``mean``.

        Raises
        ------
        InputTypeError
            By the function that is made, if the scores of a prediction are several arrays, or
            ``prepare`` returns anything but a tuple of two.
        ArgumentError
            If ``prepare`` is not a function, or ``at`` does not give each metric a name.
        """
        if not (prepare is None or callable(prepare)):
            msg = (
                "prepare must be a function that takes a prediction and returns its scores and "
                f"its truth, got {prepare!r}"
            )
            raise ArgumentError(msg, argument="prepare")
        for_logger(self._results.request.definitions, "", at)  # refused before the first epoch

        return partial(self._compute_metrics, prepare, at)

    def _compute_metrics(
        self,
        prepare: Callable[[Any], tuple[Any, Any]] | None,
        at: str,
        prediction: Any,
        compute_result: bool = True,
    ) -> dict[str, float]:
        """The function that ``hook`` returns; a method, since a closure cannot be pickled."""
        try:
            self.update(*_read_prediction(prediction, prepare))
            if not compute_result:
                return {}
            means = self.mean(at=at)
        except BaseException:
            self.reset()  # the next evaluation would count the batches of this one
            raise
        self.reset()
        return means

    def __repr__(self) -> str:
        store = self._results
        n_items = "an unknown number of" if store.n_items is None else store.n_items
        return (
            f"StreamEvaluator({list(store.request.definitions)}, {n_items} items, "
            f"{store.describe('events')})"
        )

    def _take_in(
        self,
        sources: Mapping[str, Source],
        truth: Truth,
        exclude: Truth | None,
        candidates: Candidates | None,
        profile: Matrix | None,
        by: npt.ArrayLike | None = None,
        weights: npt.ArrayLike | None = None,
    ) -> None:
        """Add the batch of an update: find its hits and hand them to the store.

        ``sources`` are the scores of each model by name. The truth, the other sets and the profile
        are those of their rows.
        """
        store = self._results
        side_data = self._side
        if side_data is None:  # the stream was made from a state
            msg = (
                "this stream was made from a state and takes no updates; to update, merge it into "
                f"a new stream: type StreamEvaluator(metrics_list, keep={store.keep!r}).merge(this)"
            )
            raise ArgumentError(msg)
        is_plain = [*sources] == [""] and by is None and weights is None
        if store.keep == "values" and not is_plain:
            msg = (
                "by=, weights= and several models need sums in place of values: type "
                "StreamEvaluator(..., keep='means')"
            )
            raise ArgumentError(msg)
        first_model, *_ = sources
        n_rows, n_items = sources[first_model].shape
        for model, scores in sources.items():
            if scores.shape[1] != n_items:
                msg = (
                    f"the model {first_model!r} has scores of {n_items} items, and {model!r} of "
                    f"{scores.shape[1]}; expected the same items of each, with the score -inf for "
                    "an item that a model does not know"
                )
                raise InputError(msg, argument="scores")
        # The batch waits to be measured, while the caller may write the next one into its arrays.
        labels = np.empty(0)
        if by is not None:
            labels = read_group_labels(by, n_rows).copy()
        event_weights = np.ones(n_rows)
        if weights is not None:
            event_weights = read_raw_weights(weights, n_rows).copy()

        if self._profile_metric is not None:
            if profile is None:
                msg = (
                    f"{self._profile_metric} needs profile= in each update, for the rows of the "
                    "batch"
                )
                raise ArgumentError(msg)
            side_data = with_profile(side_data, profile, n_rows)
        of_users = {"exclude": exclude, "candidates": candidates, "profile": profile}
        selections = {
            model: self._find(scores, truth, of_users, side_data)
            for model, scores in sources.items()
        }
        store.add_events(selections, labels=labels, weights=event_weights)

    def _find(
        self, scores: Source, truth: Truth, of_users: Mapping[str, Any], side_data: Side
    ) -> Selection:
        """Find the hits of a model in a batch, which is refused if it does not fit."""
        store = self._results
        request = store.request
        n_rows, n_items = scores.shape
        # Before the truth is read, which would be refused for not having the items of the scores.
        store.check_size(n_items)
        users = read_users(scores, truth, of_users, request, side_data)
        # A matrix of truth gives the size of the catalogue where rankings do not.
        store.check_size(users.n_items)
        if users.n_items is None:  # where this batch does not give the size, the store may know it
            users = users._replace(n_items=store.n_items)
        cutoffs = request.cutoffs(users.n_items, longest_list(scores))

        # The sink keeps the lists of the batch for metrics of all lists.
        sink = store.sink(n_rows, cutoffs)
        selection = find_hits(scores, users, request, sink, cutoffs)
        largest_relevance = float(selection.hits.ideal.max(initial=0.0))
        # The check refuses only too large relevances, so it can fail only at a new largest one.
        if largest_relevance > self._largest_relevance:
            check_truth(selection.hits.ideal, request, cutoffs)
            self._largest_relevance = largest_relevance
        return selection.owning_copy()


def _by_model(scores: Any, read: Callable[[Any], Source]) -> dict[str, Source]:
    """Read the scores or rankings of each model by name; "" is the name of a single one."""
    if not isinstance(scores, Mapping):
        return {"": read(scores)}
    for name in scores:
        if not isinstance(name, str) or not name.strip():
            msg = f"a dict holds models by their names, strings that are not blank, got {name!r}"
            raise InputTypeError(msg)
    if not scores:
        msg = "the dict of models is empty; expected the scores or rankings of one or more models"
        raise InputError(msg)
    return {str(name): read(scores_of_model) for name, scores_of_model in scores.items()}


def _read_prediction(
    prediction: Any, prepare: Callable[[Any], tuple[Any, Any]] | None
) -> tuple[Any, Any]:
    """Read the scores and the truth of a prediction of a Hugging Face ``Trainer``."""
    if prepare is not None:
        scores_and_truth: Any = prepare(prediction)
        if not isinstance(scores_and_truth, tuple) or len(scores_and_truth) != 2:
            msg = (
                "prepare must return a tuple of scores and truth, got "
                f"{type(scores_and_truth).__name__}"
            )
            raise InputTypeError(msg)
        return scores_and_truth
    if isinstance(prediction.predictions, tuple | Mapping):
        msg = (
            f"predictions are a {type(prediction.predictions).__name__} of the outputs of the "
            "model; type hook(lambda prediction: (prediction.predictions[0], "
            "prediction.label_ids)), with the place or name of the scores instead of 0"
        )
        raise InputTypeError(msg)
    return prediction.predictions, prediction.label_ids
