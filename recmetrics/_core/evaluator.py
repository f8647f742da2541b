"""Evaluator: metrics of users that come in batches."""

from __future__ import annotations  # help() shows the names of types, not what they stand for

from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from recmetrics._core.errors import ArgumentError, InputError, RecmetricsWarning, ShapeError, warn
from recmetrics._core.inputs import (
    UNLABELLED_SCORES,
    Rankings,
    ScoreMatrix,
    UserIndex,
    Users,
    advice_on_indices,
    as_indices,
    labels_of_users,
    read_labels,
    read_which_users,
    read_whole_users,
    refuse_indices,
    refuse_labels_first,
    warn_if_exchanged,
)
from recmetrics._core.options import ForBatches, NoShared, check_count, shared_of, takes
from recmetrics._core.results import (
    Accumulator,
    Store,
    check_truth,
    for_logger,
    mean_of,
    read_weights,
    system_weights,
    warn_of_swallowed,
    weighed_together,
)
from recmetrics._core.selection import Selection, Source, find_hits, read_factors, read_scores
from recmetrics._core.spec import MetricsList, Request
from recmetrics._core.types import (
    Candidates,
    Convention,
    FloatArray,
    IntArray,
    Invalid,
    ItemValues,
    Matrix,
    NaNPolicy,
    Ranking,
    Scores,
    Strata,
    Ties,
    Truth,
    Undefined,
    UserValues,
    WhichUsers,
)


class NotUpdatedWarning(RecmetricsWarning):
    """Results were requested although some users were never updated."""


class UserCounts(NamedTuple):
    """The number of users for whom a metric is defined, undefined and never updated."""

    defined: int
    undefined: int
    not_updated: int


class Evaluator(Accumulator):
    """Compute metrics batch by batch.

    The results equal those of one ``Metrics.compute`` call exactly. The constructor checks and
    prepares the truth, the other item sets (``exclude``, ``candidates`` and ``strata``) and the
    side information once. An update only ranks and evaluates its own rows.

    >>> from recmetrics import Evaluator
    >>> evaluator = Evaluator([[1, 0, 0], [0, 1, 1]], ["hit@1", "recall@2"])
    >>> evaluator.update([[3, 2, 1]])
    >>> evaluator.update([[3, 2, 1]])
    >>> evaluator.mean(prefix="val/")
    {'val/hit@1': 0.5, 'val/recall@2': 0.75}

    Parameters
    ----------
    ground_truth
        (n_users, n_items) relevance of all users, in any form that ``Metrics.compute`` takes.
    metrics_list
        Metric strings, as in ``Metrics.compute``.
    exclude, candidates, strata, propensity, undefined, convention, nan, ties, n_threads
        As in ``Metrics.compute``, for all users.
    n_items
        The size of the catalogue; needed if the truth lists item indices.
    users, n_users
        Only if the truth has the rows of a part of the users: ``n_users`` is the number of all
        users, and ``users``, a slice or indices, gives the user of each row. ``exclude`` and other
        sets have the same rows. ``update(scores, users)`` then takes row numbers of this truth.
        Results have all ``n_users``, NaN for users outside the part. ``merge`` joins parts; it does
        not check that a user in two parts has the same truth and ``exclude`` in both.
    popularity, features, similarity, genres, profile
        Side information, as in ``Metrics.compute``, for all users. The evaluator copies the truth
        and the other item sets, but not the side information.

    Raises
    ------
    MetricSpecError, InputError, InputTypeError, ArgumentError
        As in ``Metrics.compute``, and so are the warnings. Also an ArgumentError if the size of the
        catalogue is unknown.

    Notes
    -----
    Metrics of all lists, such as coverage, need the lists of all users. If one is requested, the
    evaluator keeps k item indices of 4 bytes for each user. Otherwise it keeps only the values.

    An update ranks its users. Metrics may be computed later, when you ask for a result. Each update
    uses ``n_threads`` threads. Several threads may update one evaluator if they pass ``users=``. If
    Ctrl-C or an error interrupts an update, the batch is added as a whole or not at all.
    """

    _keeps = ("rows",)
    _users: Users | None = None  # None where no update is taken
    _advice_on_indices = ""  # on a truth that may hold item indices; "" for any other

    @takes(ForBatches)
    def __init__(
        self,
        ground_truth: Truth,
        metrics_list: MetricsList,
        *,
        exclude: Truth | None = None,
        candidates: Candidates | None = None,
        strata: Strata | None = None,
        propensity: ItemValues | None = None,
        n_items: int | None = None,
        users: WhichUsers | None = None,
        n_users: int | None = None,
        undefined: Undefined | None = None,
        convention: Convention | None = None,
        nan: NaNPolicy = "raise",
        ties: Ties | None = None,
        n_threads: int | None = None,
        popularity: ItemValues | None = None,
        features: Matrix | None = None,
        similarity: Matrix | None = None,
        genres: Matrix | None = None,
        profile: Matrix | None = None,
    ) -> None:
        shared = shared_of(locals())
        request = Request(metrics_list, **shared)
        users_of_truth = read_whole_users(ground_truth, n_items, shared, request).owning_copy()
        self._users = users_of_truth
        self._advice_on_indices = advice_on_indices(ground_truth)
        n_rows = users_of_truth.truth.n_users
        of_part = None
        if users is not None or n_users is not None:
            of_part = _users_of_part(users, n_users, n_rows)
        shape = n_users or n_rows, users_of_truth.n_items or 0
        self._results = Store(request, "rows", shape, users_of_truth, of_part=of_part)
        if of_part is None:
            self._results.user_weights = system_weights(users_of_truth, request)
        relevance = users_of_truth.truth.rows(slice(0, n_rows)).values
        check_truth(relevance, request, self._results.cutoffs)
        # The warning counts all users; batches would have other counts.
        warn_of_swallowed(*users_of_truth.swallowed())

    @takes(NoShared)
    def update(self, scores: Scores, users: WhichUsers | None = None) -> None:
        """Add a batch of users.

        >>> from recmetrics import Evaluator
        >>> evaluator = Evaluator([[1, 0, 0], [0, 1, 1]], "hit@1")
        >>> evaluator.update([[1, 2, 3]], users=[1])
        >>> evaluator.counts()
        {'hit@1': UserCounts(defined=1, undefined=0, not_updated=1)}

        Parameters
        ----------
        scores
            (n_batch, n_items) predicted scores, as in ``Metrics.compute``.
        users
            The users of these rows, as rows of the truth: a slice, or indices in an array, tensor,
            Series, list or range. None means the next users after the previous batch, starting with
            the first. If the loader shuffles, pass the indices: without them, scores are compared
            with the truth of other users, and no error is raised.

        A user who is added more than once counts once, with the latest values.

        Raises
        ------
        InputError, InputTypeError
            As in ``Metrics.compute``. Also raised if a user is outside the truth, or if the number
            of users is not the number of rows. Such a batch is not added.
        """
        self._take_in(read_scores(scores), users)

    @takes(NoShared)
    def update_factors(
        self,
        user_factors: Scores,
        item_factors: Scores,
        users: WhichUsers | None = None,
        *,
        item_bias: ItemValues | None = None,
    ) -> None:
        """Add a batch of users of a factor model, without making its score matrix.

        >>> from recmetrics import Evaluator
        >>> evaluator = Evaluator([[1, 0, 0], [0, 1, 1]], "hit@1")
        >>> evaluator.update_factors([[1.0, 0.0]], [[3.0, 1.0], [2.0, 2.0], [1.0, 3.0]], users=[0])
        >>> evaluator.counts()
        {'hit@1': UserCounts(defined=1, undefined=0, not_updated=1)}

        Parameters
        ----------
        user_factors, item_factors, item_bias
            As in ``Metrics.compute_factors``, (n_batch, d), (n_items, d) and (n_items,).
        users
            As in ``update``.

        Raises
        ------
        InputError, InputTypeError
            As in ``Metrics.compute_factors`` and ``update``.
        """
        self._take_in(read_factors(user_factors, item_factors, item_bias), users)

    @takes(NoShared)
    def update_ranked(
        self,
        ranking: Ranking,
        users: WhichUsers | None = None,
        *,
        repeats: Invalid = "raise",
        unknown: Invalid = "raise",
    ) -> None:
        """Add a batch of users with given rankings.

        >>> from recmetrics import Evaluator
        >>> evaluator = Evaluator([[1, 0, 0], [0, 1, 1]], "hit@1")
        >>> evaluator.update_ranked([[0, 2], [0, -1]])
        >>> evaluator.mean()
        {'hit@1': 0.5}

        Parameters
        ----------
        ranking
            (n_batch, length) item indices, best first, or a list with one array of item indices per
            user, as in ``Metrics.compute_ranked``.
        users
            As in ``update``.
        repeats, unknown
            How to treat invalid items, as in ``Metrics.compute_ranked``; ``invalid_items`` counts
            them.

        Raises
        ------
        InputError, InputTypeError
            As in ``Metrics.compute_ranked`` and ``update``. Also an InputError if a ranking
            contains an excluded item, or one that is not a candidate.
        """
        rankings = Rankings(ranking, repeats=repeats, unknown=unknown)
        if self._users is not None and self._advice_on_indices:
            shape = self._users.truth.n_users, self._results.shape[1] or 0
            refuse_indices(self._advice_on_indices, shape, shape[1], rankings.largest_item)
        self._take_in(rankings, users)

    @takes(NoShared)
    def compute(self) -> dict[str, UserValues]:
        """Compute the values of all users as ``Metrics.compute`` does; NaN for users never updated.

        Warns
        -----
        NotUpdatedWarning
            If some users were never updated; the message gives their number.

        Raises
        ------
        UndefinedMetricError
            As in ``Metrics.compute``.
        """
        self._warn_of_missing()
        return self._results.compute()

    @takes(NoShared)
    def mean(
        self, *, prefix: str = "", at: str = "@", weights: npt.ArrayLike | None = None
    ) -> dict[str, float]:
        """Compute the mean of each metric over the users who have a value, as floats for a logger.

        Some systems weigh users in their mean, such as the library ``implicit`` by min(k, R) for
        ``recall@k``. Under such a convention the mean has these weights, times ``weights`` if
        given.

        >>> from recmetrics import Evaluator
        >>> evaluator = Evaluator([[1, 0, 0], [0, 1, 1]], "ndcg(gain=exp2)@1")
        >>> evaluator.update([[3, 2, 1], [3, 2, 1]])
        >>> evaluator.mean(prefix="val/", at="_at_")
        {'val/ndcg_gain_exp2_at_1': 0.5}

        Parameters
        ----------
        prefix
            The beginning of each key.
        at
            The text that replaces ``@``. If it is not ``@``, spaces are removed, and any other
            characters except letters, digits and ``_ - . /`` become one ``_``, because loggers that
            do not accept ``@`` do not accept these characters either.
        weights
            (n_users,) the weight of each user of the truth, finite and >= 0. Each mean is then
            weighted: the sum of weight x value / the sum of weights, both over the users who have a
            value. ``recmetrics.summary`` also gives intervals.

        Raises
        ------
        InputError, InputTypeError, ShapeError
            If the weights cannot be read.
        ArgumentError
            If the evaluator is made from a state, and the system of its convention weighs users.
            If two metrics would have one key.

        Warns
        -----
        NotUpdatedWarning
            If some users were never updated; ``counts`` gives the number of users in each mean.
        """
        user_weights = None
        if weights is not None:
            user_weights = read_weights(weights, self._results.n_users)
        self._warn_of_missing()
        return self._means(prefix, at, user_weights)

    def _means(self, prefix: str, at: str, weights: FloatArray | None = None) -> dict[str, float]:
        """The mean of each metric, by the keys of a logger, with the weights of users if given."""
        means = {}
        with np.errstate(all="ignore"):  # of infinite values
            weights_of_systems = self.user_weights
            users, values_of_rows = self._results.values_of_rows()
            for text, values in values_of_rows.items():
                user_weights = None  # a metric of all lists has none
                if values.ndim:
                    user_weights = weighed_together(weights, weights_of_systems.get(text))
                if user_weights is not None:
                    user_weights = user_weights[users]
                means[text] = mean_of(values, user_weights)
        return for_logger(means, prefix, at)

    @property
    def user_weights(self) -> dict[str, FloatArray]:
        """The weight of each user, (n_users,), by metric, if the convention's system weighs users.

        Empty without a convention. ``recmetrics.explain`` shows the weight as a formula.
        """
        weighed = self._results.request.weights
        weights = self._results.user_weights or {}
        if weighed and not weights:
            advice = (
                "merge it into one that has it: type "
                "Evaluator(ground_truth, metrics_list, convention=...).merge(this)"
            )
            if "truth" not in self._results.data:  # of a part of the users
                advice = "give each part the truth of all users, without users= and n_users="
            msg = (
                f"the convention weighs users in the mean of {', '.join(weighed)}, and this "
                "evaluator, of a part or a state, has no truth of all users to count their "
                f"relevant items; to weigh them, {advice}"
            )
            raise ArgumentError(msg)
        return weights

    def counts(self) -> dict[str, UserCounts]:
        """Count the users for whom each metric is defined, undefined, and never updated.

        A user whose undefined value is replaced by a number, such as 0, counts as defined. For a
        metric of all lists, all updated users count as defined.
        """
        n_users = self._results.n_users
        return {
            text: UserCounts(defined, undefined, n_users - defined - undefined)
            for text, (defined, undefined) in self._results.counts().items()
        }

    def _warn_of_missing(self) -> None:
        """Warn of users who were never updated."""
        missing = np.flatnonzero(~self._results.updated)
        if missing.size:
            msg = (
                f"{missing.size:,} of {self._results.n_users:,} users were never updated, the "
                f"first is user {missing[0]}; their values are NaN, and means leave them out"
            )
            warn(msg, NotUpdatedWarning)

    def __repr__(self) -> str:
        store = self._results
        return (
            f"Evaluator({list(store.request.definitions)}, "
            f"{store.n_users} users x {store.shape[1]} items, "
            f"{store.describe('updated')})"
        )

    def _take_in(self, scores: Source, users: WhichUsers | None) -> None:
        """Add the batch of an update; ``users`` are as in ``update``."""
        user_index, selection = self._find(scores, users)
        self._results.add(selection, user_index, in_order=users is None)

    def _find(self, scores: Source, users: WhichUsers | None) -> tuple[UserIndex, Selection]:
        """The users of a batch, and their hits; a batch that does not fit is refused."""
        store = self._results
        if self._users is None:
            msg = (
                "this evaluator was made from a state and has no truth; to update, merge it into "
                "one with a truth: type Evaluator(ground_truth, metrics_list).merge(this)"
            )
            raise ArgumentError(msg)
        n_users = self._users.truth.n_users
        n_rows, n_items = scores.shape
        if n_items not in (None, store.shape[1]):
            msg = (
                f"scores must have the {store.shape[1]} items of the truth, got a batch of shape "
                f"{scores.shape}"
            )
            error = ShapeError(msg, argument="scores")
            if n_items > (store.shape[1] or 0):  # the truth lacks items
                items = self._users.labels.get("items", ())
                refuse_labels_first(error, scores.tables, {"items": items})
            raise error
        source = "ranking" if n_items is None else "scores"
        if users is None:
            user_index: UserIndex = self._following(n_rows, n_users, source)
        else:
            user_index = read_which_users(
                users,
                n_users=n_users,
                n_rows=n_rows,
                source=source,
                is_part=store.of_part is not None,
            )
        batch = self._users.take(user_index)
        if isinstance(scores, ScoreMatrix):
            warn_if_exchanged(scores, batch.truth)
        labels = self._users.labels
        if labels or scores.tables is not UNLABELLED_SCORES:
            # Indices name the user of each row, even where they are read as a slice.
            is_slice = users is None or isinstance(users, slice)
            users_of_rows = user_index if is_slice else as_indices(user_index)
            read_labels(scores.tables, labels_of_users(labels, users_of_rows))
        sink = store.sink(n_rows, store.cutoffs)
        return user_index, find_hits(scores, batch, store.request, sink, store.cutoffs)

    def _following(self, n_rows: int, n_users: int, source: str) -> slice:
        """The ``n_rows`` users after the previous batch; ``source`` is "scores" or "ranking".

        ``n_users`` is the number of rows of the truth.
        """
        start = self._results.next_user
        if start + n_rows > n_users:
            msg = (
                f"without users=, the {n_rows} rows of {source} begin at user {start}, where the "
                f"last batch ended, and truth has {n_users} users; expected each user once; call "
                "reset() before the next pass, or give users="
            )
            raise InputError(msg)
        users = slice(start, start + n_rows)
        if self._results.is_merged(users):
            msg = (
                f"users {start} .. {users.stop - 1} follow the last batch, and merge() has "
                "updated some of them; give users= to name the users of each batch"
            )
            raise ArgumentError(msg)
        return users


def _users_of_part(users: WhichUsers | None, n_users: int | None, n_rows: int) -> IntArray:
    """Read the user of each row of the truth, (n_rows,), among all ``n_users``."""
    if users is None or n_users is None:
        msg = "a part of the users needs both users= and n_users=, the number of all users"
        raise ArgumentError(msg)
    n_users = check_count("n_users", n_users, 1)
    index = as_indices(read_which_users(users, n_users=n_users, n_rows=n_rows, source="truth"))
    if len(np.unique(index)) < n_rows:
        msg = "users= of a part names a user twice; expected another user in each row of the truth"
        raise InputError(msg, argument="users")
    return index
