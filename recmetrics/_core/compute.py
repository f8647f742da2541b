"""Metrics: scores and truth in, one value per user and metric out.

Every method of Metrics has the same four lines: read the request, read the scores, read the users,
compute the values from the hits.
"""

from __future__ import annotations  # help() shows the names of types, not what they stand for

import functools
from collections.abc import Callable, Mapping, Sequence
from typing import Any, Literal, ParamSpec, TypeVar, Unpack, cast

import numpy as np
import numpy.typing as npt
import scipy.sparse as sp

from recmetrics._core.errors import ArgumentError, warn
from recmetrics._core.inputs import (
    Rankings,
    note_on_leading_ties,
    read_groups,
    read_users,
    read_whole_users,
)
from recmetrics._core.metrics import accuracy, beyond, full_ranking, system
from recmetrics._core.options import (
    ForGroups,
    ForHits,
    ForRankings,
    ForRanks,
    ForTruth,
    Shared,
    one_of,
    shared_of,
    spelled_out,
    takes,
)
from recmetrics._core.results import Method, RowNames, estimated, ranks_of, values_of
from recmetrics._core.selection import EqualScores, Source, find_hits, read_factors, read_scores
from recmetrics._core.spec import METHOD_SUFFIX, STRATUM, MetricsList, MetricSpec, Request, lookup
from recmetrics._core.types import (
    Candidates,
    Convention,
    Invalid,
    ItemValues,
    Matrix,
    NaNPolicy,
    Progress,
    Ranking,
    Scores,
    Strata,
    TiePolicy,
    Ties,
    Truth,
    Undefined,
    UserValues,
)

P = ParamSpec("P")
R = TypeVar("R")


def alone(declaration: Callable[P, R]) -> Callable[P, R]:
    """Make the method that computes one metric from the function that declares this metric."""
    record = lookup(declaration.__name__.removesuffix(METHOD_SUFFIX))
    public = spelled_out(declaration, ForHits if record.reads == "hits" else Shared)

    @functools.wraps(declaration)
    def compute_alone(pred_scores: Any, ground_truth: Any, *k: Any, **keywords: Any) -> Any:
        for keyword in keywords:
            if keyword not in public.parameters:
                record.option(keyword)  # raises an error that names the nearest option
        bound = public.bind(pred_scores, ground_truth, *k, **keywords)
        bound.apply_defaults()
        cutoff = bound.arguments["k"]
        if isinstance(cutoff, str) or (cutoff is None and record.default_k is not None):
            msg = (
                f"k must be an integer >= 1, such as 10, got {cutoff!r}; for the whole list call "
                "Metrics.compute"
            )
            raise ArgumentError(msg)

        # Only typed options are passed on: they override a convention, even with a default value.
        options = []
        shared = {}
        for name, value in keywords.items():
            if name in record.options or name == STRATUM.name:
                options.append((name, value))
            elif name != "k":
                shared[name] = value
        spec = MetricSpec(record.name, cutoff, tuple(options))
        if shared.get("ties") == "range":
            msg = (
                f"{record.method} returns one array, but ties='range' gives three; type "
                f"Metrics.compute(..., [{str(spec)!r}], ties='range')"
            )
            raise ArgumentError(msg)
        values = Metrics.compute(pred_scores, ground_truth, {record.name: spec}, **shared)
        return values[record.name]

    compute_alone.__signature__ = public  # type: ignore[attr-defined]  # help() shows every keyword
    # Pickle finds the method by these names; its declaration, of one name with it, is another.
    compute_alone.__module__ = __name__
    compute_alone.__qualname__ = f"Metrics.{declaration.__name__}"
    return cast(Callable[P, R], compute_alone)


def _ranks(scores: Source, ground_truth: Any, shared: ForRanks) -> sp.csr_array[np.float64]:
    """Find the rank of every relevant item, for ``ranks`` and ``ranks_factors``.

    The hits are those of a metric that reads whole lists, whose values are not computed.
    """
    ties: object = shared.get("ties")
    if ties is not None:
        hint = ""
        if isinstance(ties, str) and ties == "range":
            hint = (
                "; type ties='best' for the first rank of each item, ties='worst' for the last one"
            )
        one_of("ties", ties, TiePolicy, hint)
    request = Request("mrr", **shared)
    users = read_users(scores, ground_truth, shared, request)
    return ranks_of(find_hits(scores, users, request, with_slots=True), request)


def _tied_values(
    level: Literal["chance", "ceiling"],
    ground_truth: Truth,
    metrics_list: MetricsList,
    n_items: int | None,
    shared: ForTruth,
) -> dict[str, UserValues]:
    """Compute the metrics of equal scores for all items; the level says which order they take."""
    request = Request(metrics_list, level=level, **shared)
    users = read_whole_users(ground_truth, n_items, shared, request)
    scores = EqualScores((users.truth.n_users, users.n_items or 0))
    return values_of(find_hits(scores, users, request), request)


def have_expectations(
    metrics_list: MetricsList, shared: Mapping[str, Any], level: Literal["groups"] | None = None
) -> bool:
    """Say whether all metrics of a call have a mean over the orders of equal scores."""
    keywords: Any = {**shared, "ties": "expected"}
    try:
        Request(metrics_list, level=level, **keywords)
    except ArgumentError:
        return False
    return True


class Metrics:
    """``compute``, its siblings, and a method for each metric; ``recmetrics.Metrics`` adds one."""

    @staticmethod
    @takes(Shared)
    def compute(
        pred_scores: Scores,
        ground_truth: Truth,
        metrics_list: MetricsList,
        *,
        exclude: Truth | None = None,
        candidates: Candidates | None = None,
        strata: Strata | None = None,
        propensity: ItemValues | None = None,
        undefined: Undefined | None = None,
        convention: Convention | None = None,
        nan: NaNPolicy = "raise",
        ties: Ties | None = None,
        n_threads: int | None = None,
        progress: Progress = None,
        popularity: ItemValues | None = None,
        features: Matrix | None = None,
        similarity: Matrix | None = None,
        genres: Matrix | None = None,
        profile: Matrix | None = None,
    ) -> dict[str, UserValues]:
        """Compute metrics for every user.

        >>> from recmetrics import Metrics
        >>> Metrics.compute([[4, 3, 2, 1, 0]], [[1, 1, 0, 0, 1]], ["recall@3", "ndcg@2"])
        {'recall@3': array([0.66666667]), 'ndcg@2': array([1.])}

        Parameters
        ----------
        pred_scores
            (n_users, n_items) predicted scores, higher is better. Equal scores rank by item index,
            the lower index first. An item with score -inf is never recommended. The dtype may be
            float16, bfloat16, float32, float64, integer or bool, in any memory layout; memory maps,
            nested lists and tensors are accepted. Scores are read in row blocks, and never changed
            or copied as a whole. In a SciPy sparse matrix, only the stored entries may be
            recommended; a stored 0 is a score.
        ground_truth
            (n_users, n_items) relevance, 0 = not relevant, binary or graded: a dense array, any
            SciPy sparse matrix, or a list with one array of relevant item indices per user. Also
            (n_users,) integers: the index of the one relevant item of each row, -1 for none. In
            lists of item indices, here as in ``exclude`` and ``candidates``, -1 ends a list. Every
            entry above 0 marks a relevant item, and ndcg, dcg, cg and err use its value as gain:
            pass ``truth > 0`` for binary relevance, or type ``rel=4`` for ratings from 4.
        metrics_list
            Metric strings: ``name``, ``name@k`` or ``name(option=value, ...)@k``. The command
            ``recmetrics metrics`` lists all metrics. Without ``@k``, the user's whole list counts.
            "ndcg@1:20" stands for "ndcg@1", "ndcg@2", ..., "ndcg@20", and "recall@10:100:10" for
            "recall@10", "recall@20", ..., "recall@100".
        exclude
            Items that must not be recommended to a user, such as training interactions. Any form
            that ``ground_truth`` takes, except one index per row; every nonzero entry is excluded.
            Excluded relevant items still count as relevant.
        candidates
            The only items that may be recommended: any form that ``exclude`` takes, or one array of
            item indices for all users. Only the scores of candidates are read.
        strata
            Sets of items by name, each in any form that ``candidates`` takes.
            ``recall(of=tail)@20`` counts only the relevant items that are in ``strata["tail"]``. A
            name in a metric string has letters, digits, "_", "-" and ".". Strata do not change the
            recommended lists. A user without relevant items in the stratum is treated as one
            without any: undefined, except in ``dcg``, ``cg`` and ``fallout``.
        propensity
            (n_items,) the probability that a relevant item is observed, above 0 and at most 1.
            Metric strings with ``weigh``, such as ``recall(weigh=snips)@20``, need it.
            ``propensity_from`` estimates it.
        undefined
            The value of a user without relevant items: "nan", "zero", "one", or "raise" for an
            error, also in any other metric that is undefined. "zero" is 0, which flatters a model
            where lower is better, as in ``mean_rank``. Metrics that do not need relevant items,
            such as diversity, keep NaN. Default: the rule of the convention, or "nan" without a
            convention.
        convention
            Another system whose metric definitions to use, such as "ranx", "trec" or "recbole". An
            unknown name raises an error that lists all systems. Options in a metric string,
            ``undefined`` and ``ties`` override the convention. ``recmetrics.explain`` shows the
            resulting definition. Some systems, such as the library ``implicit``, weigh users in
            their mean. The plain mean of the values is then not the number that they print:
            ``Evaluation.summary`` and ``Evaluator.mean`` apply their weights.
        nan
            How to treat NaN scores: "raise" an error, or "exclude" the item, as a score of -inf
            does.
        ties
            How equal scores rank. "index": by item index, the lower index first. "expected": each
            metric is its exact mean over all orders of the tied items. "worst", "best": its worst
            or best value over these orders. "range": the mean, least and greatest value; the last
            two have the keys ``"ndcg@10[least]"`` and ``"ndcg@10[greatest]"``. Metrics that read
            the lists themselves, such as diversity and coverage, ``auc@k``, and the options
            ``denom=hits``, ``tied=block`` and ``ideal=retrieved`` support only "index". ``auc``
            counts tied pairs 1/2 under "index" as well, by definition. Default: the rule of the
            convention for each metric, or "index" without a convention.
        n_threads
            The number of threads. None uses the environment variable RECMETRICS_NUM_THREADS if it
            is set, else all cores that this process may use.
        progress
            True shows a tqdm bar if tqdm is installed; the bar says "compiling" while a first call
            compiles. True also prints the number of users behind each mean if some have no value. A
            callable is called with (rows done, rows).
        popularity
            (n_items,) share of users who have each item, 0 to 1; ``popularity_from(train)``
            computes it.
        features
            (n_items, d) a feature vector for each item, dense or sparse; items are compared by
            cosine similarity.
        similarity
            (n_items, n_items) the similarity of each pair of items, dense or sparse; use it instead
            of ``features``.
        genres
            (n_items, g) 1 if the item has the genre, else 0, dense or sparse.
        profile
            (n_users, g) the genres of each user, or (n_users, n_items) the training matrix, whose
            values weight the items; dense or sparse. If both shapes fit, it is read as genres.

        ``recmetrics metrics NAME`` shows which of the last five arguments a metric needs. A metric
        ignores the arguments that it does not need.

        Returns
        -------
        dict
            A float64 array for each metric string, in the order given; the keys are the strings as
            typed. The shape is (n_users,), or () for a metric of all lists, such as coverage.
            ``ties="range"`` gives three arrays for each string. The values are the same, bit for
            bit, for any number of threads and any memory layout.

        Raises
        ------
        MetricSpecError
            A metric string that cannot be read, or an unknown metric or option.
        InputError, InputTypeError
            Inputs with a wrong shape, dtype or value, such as NaN scores.
        ArgumentError
            A keyword argument with an invalid value.
        UndefinedMetricError
            A user without relevant items under ``undefined="raise"``.

        Warns
        -----
        RecmetricsWarning
            If ``exclude`` removes all relevant items of more than half of the users who have any;
            if every user has exactly one relevant item, already if one of these items is excluded.
        """
        shared = shared_of(locals())
        request = Request(metrics_list, **shared)
        scores = read_scores(pred_scores)
        users = read_users(scores, ground_truth, shared, request)
        return values_of(find_hits(scores, users, request), request)

    @staticmethod
    @takes(ForRankings, ties="index")  # a list has no ties
    def compute_ranked(
        ranking: Ranking,
        ground_truth: Truth,
        metrics_list: MetricsList,
        *,
        n_items: int | None = None,
        repeats: Invalid = "raise",
        unknown: Invalid = "raise",
        **shared: Unpack[ForRankings],
    ) -> dict[str, UserValues]:
        """Compute metrics of given rankings.

        >>> from recmetrics import Metrics
        >>> Metrics.compute_ranked([[2, 0], [1, -1]], [[0, 0, 1], [1, 0, 0]], ["mrr", "hit@1"])
        {'mrr': array([1., 0.]), 'hit@1': array([1., 0.])}
        >>> generated = [[1, 1, 9, 2]]  # repeats item 1; item 9 is outside the catalogue
        >>> Metrics.compute_ranked(
        ...     generated, [[2]], "mrr", n_items=3, repeats="waste", unknown="drop"
        ... )
        {'mrr': array([0.33333333])}

        Parameters
        ----------
        ranking
            (n_users, k) item indices, best first, -1 after the end of a shorter list; or a list
            with one array of item indices per user; or a pair of arrays (ids, scores), the scores
            floats, as implicit returns it, where an item with the lowest score of the dtype is
            none.
        ground_truth
            As in ``compute``. Relevant items that are in no list are misses: a list of one of two
            relevant items has an ``ndcg`` of 1 / (1 + 1 / log2(3)) = 0.613. Plain nested lists that
            could be either indices or relevances are an error, and so is an array whose rows have
            distinct integers, any above 1, unless it has ``n_items`` columns: pass
            ``list(truth)`` for indices, ``truth.astype(float)`` for relevances.
        n_items
            The size of the catalogue, for a truth of item indices. An index outside the catalogue
            is an error. If neither ``n_items`` nor side information gives the size, any index >= 0
            is accepted; ``audit_ranked`` then reports the largest index. Metrics of all lists need
            the size, and so do ``fallout`` and, without a cutoff, ``auc``, ``mean_rank`` and
            ``percentile_rank``.
        repeats, unknown
            How to treat repeated items of a list and items outside the catalogue, both common in
            lists of generative models. "raise": an error. "waste": the item keeps its rank and is
            not a hit. "drop": the item is removed and the items below it move up. Metrics that read
            the items themselves, such as diversity, read the remaining items; they refuse "waste"
            if they read more ranks of a list than the catalogue has items. ``progress=True`` prints
            the number of such items; ``audit_ranked`` reports it.
        metrics_list
            As in ``compute``, and so are the result and all other keywords, which are those of the
            signature. Metrics without a cutoff read the whole ranking. ``fallout``, and without a
            cutoff ``auc``, ``mean_rank`` and ``percentile_rank``, need rankings that contain every
            item.

        Raises
        ------
        MetricSpecError, InputError, InputTypeError, ArgumentError, UndefinedMetricError
            As in ``compute``. Also an InputError if a ranking contains an item twice, an item
            outside the catalogue or an item after a -1, or if it lacks an item that a metric needs.
            Also an ArgumentError if ``unknown`` is not "raise" and the size of the catalogue is
            unknown.
        """
        request = Request(metrics_list, **shared)
        scores = Rankings(ranking, n_items, repeats=repeats, unknown=unknown)
        users = read_users(scores, ground_truth, shared, request)
        return values_of(find_hits(scores, users, request), request)

    @staticmethod
    @takes(ForRanks)
    def ranks(
        pred_scores: Scores, ground_truth: Truth, **shared: Unpack[ForRanks]
    ) -> sp.csr_array[np.float64]:
        """Find the rank of every relevant item in its user's whole list.

        Memory grows with the number of relevant items, not with n_users x n_items.

        >>> from recmetrics import Metrics
        >>> ranks = Metrics.ranks([[4, 3, 2, 1], [1, 1, 3, 1]], [[0, 1, 0, 1], [0, 1, 0, 0]])
        >>> ranks.toarray()
        array([[0., 2., 0., 4.],
               [0., 3., 0., 0.]])
        >>> Metrics.ranks([[1, 1, 3, 1]], [[0, 1, 0, 0]], ties="expected").data  # 2, 3 or 4
        array([3.])

        The reciprocal rank of link prediction is 1 / the mean rank, where ``mrr`` with
        ``ties="expected"`` is the mean of 1 / rank:

        >>> 1 / Metrics.ranks([[7] * 11], [4], ties="expected").data  # 1 / 6
        array([0.16666667])

        Parameters
        ----------
        pred_scores, ground_truth, exclude, candidates, nan, n_threads, progress
            As in ``compute``.
        ties
            The rank of an item with a tied score. "index": by item index, as in ``compute``.
            "expected": the mean rank of the tied items. "best", "worst": the first or the last of
            their ranks. Knowledge graph completion calls these three the realistic, optimistic and
            pessimistic rank.

        Returns
        -------
        scipy.sparse.csr_array
            (n_users, n_items) float64, with an entry for each relevant item: its 1-based rank, or
            inf if the item cannot be recommended.

        Raises
        ------
        InputError, InputTypeError, ArgumentError
            As in ``compute``, and so are the warnings.
        """
        return _ranks(read_scores(pred_scores), ground_truth, shared)

    @staticmethod
    @takes(ForRanks)
    def ranks_factors(
        user_factors: Scores,
        item_factors: Scores,
        ground_truth: Truth,
        *,
        item_bias: ItemValues | None = None,
        **shared: Unpack[ForRanks],
    ) -> sp.csr_array[np.float64]:
        """Find the rank of every relevant item in the lists of a factor model.

        >>> from recmetrics import Metrics
        >>> users, items = [[1.0, 0.0], [0.0, 1.0]], [[3.0, 1.0], [2.0, 2.0], [1.0, 3.0]]
        >>> Metrics.ranks_factors(users, items, [[1, 0, 0], [1, 0, 0]]).data
        array([1., 3.])

        Parameters
        ----------
        user_factors, item_factors, item_bias
            As in ``compute_factors``.
        ground_truth
            As in ``ranks``, and so are all other keywords and the result.

        Raises
        ------
        InputError, InputTypeError, ArgumentError
            As in ``compute_factors``, and so are the warnings.
        """
        return _ranks(read_factors(user_factors, item_factors, item_bias), ground_truth, shared)

    @staticmethod
    @takes(Shared)
    def compute_factors(
        user_factors: Scores,
        item_factors: Scores,
        ground_truth: Truth,
        metrics_list: MetricsList,
        *,
        item_bias: ItemValues | None = None,
        **shared: Unpack[Shared],
    ) -> dict[str, UserValues]:
        """Compute metrics of a factor model, without making its score matrix.

        The scores are ``user_factors @ item_factors.T + item_bias``. BLAS computes tiles of this
        product, and the best items are selected while a tile is in cache, so memory does not grow
        with n_users x n_items. Metrics without a cutoff, and all metrics under a tie policy other
        than "index", need whole rows of scores; these are computed for a few users at a time.

        >>> from recmetrics import Metrics
        >>> users, items = [[1.0, 0.0], [0.0, 1.0]], [[3.0, 1.0], [2.0, 2.0], [1.0, 3.0]]
        >>> Metrics.compute_factors(users, items, [[1, 0, 0], [1, 0, 0]], ["hit@1", "mrr@3"])
        {'hit@1': array([1., 0.]), 'mrr@3': array([1.        , 0.33333333])}

        Parameters
        ----------
        user_factors
            (n_users, d), of a dtype as ``pred_scores`` in ``compute``, in any memory layout; memory
            maps and tensors are accepted. If both factors are tensors on a GPU, they are multiplied
            and ranked there.
        item_factors
            (n_items, d).
        item_bias
            (n_items,) added to the scores of each item.
        ground_truth, metrics_list
            As in ``compute``, and so are all other keywords and the result. If threadpoolctl is
            installed, BLAS uses one thread within each of the ``n_threads``.

        Raises
        ------
        MetricSpecError, InputError, InputTypeError, ArgumentError, UndefinedMetricError
            As in ``compute``, and so are the warnings. Also a ShapeError if the shapes of the
            factors do not match.

        Notes
        -----
        Items rank as in ``compute`` on the same products. float32, float16 and bfloat16 factors are
        multiplied as float32, others as float64. The rounding of BLAS may depend on the shape of a
        tile. A score is the sum of d products p_j q_j. So it may differ from the score in one
        product of all factors by up to 2 d u sum_j abs(p_j q_j), where u is 6e-8 in float32 and
        1e-16 in float64. Only items whose scores are that close may swap ranks.
        """
        request = Request(metrics_list, **shared)
        scores = read_factors(user_factors, item_factors, item_bias)
        users = read_users(scores, ground_truth, shared, request)
        return values_of(find_hits(scores, users, request), request)

    @staticmethod
    @takes(ForGroups)
    def compute_groups(
        scores: ItemValues,
        relevance: ItemValues,
        metrics_list: MetricsList,
        *,
        sizes: ItemValues | None = None,
        ids: npt.ArrayLike | Sequence[Any] | None = None,
        **shared: Unpack[ForGroups],
    ) -> dict[str, UserValues]:
        """Compute metrics of groups, such as queries, given as flat arrays.

        The arrays have the form that learning-to-rank tools use: each row is one item of one group.
        Each group is ranked on its own; equal scores rank by the order of the rows. A relevant item
        without a row does not count. Give one that an earlier stage missed a row with the score
        -inf: it is never recommended, but it is relevant. The value of a group without a relevant
        row is undefined: NaN unless ``undefined=`` is given.

        >>> from recmetrics import Metrics
        >>> scores, relevance = [0.9, 0.5, 0.3, 0.8], [0, 1, 3, 1]
        >>> Metrics.compute_groups(scores, relevance, ["mrr", "hit@1"], sizes=[3, 1])
        {'mrr': array([0.5, 1. ]), 'hit@1': array([0., 1.])}
        >>> Metrics.compute_groups(scores, relevance, "mrr", ids=["q7", "q2", "q2", "q7"])
        {'mrr': array([0.5, 1. ])}
        >>> missed = float("-inf")  # the first stage found one of the two relevant documents
        >>> Metrics.compute_groups([0.9, missed], [1, 1], "ndcg@10", sizes=[2])["ndcg@10"].round(3)
        array([0.613])

        Parameters
        ----------
        scores
            (n_rows,) predicted scores, higher is better, of a dtype as in ``compute``. -inf: the
            row is in no list, and is a miss if it is relevant.
        relevance
            (n_rows,) 0 = not relevant, binary or graded.
        metrics_list
            As in ``compute``, but only accuracy metrics.
        sizes
            (n_groups,) the number of rows of each group, in order, as for LightGBM and XGBoost.
            Pass either ``sizes`` or ``ids``.
        ids
            (n_rows,) the group of each row: numbers, text or dates, in any order, such as ``qid``.

        All other keywords are as in ``compute``.

        Returns
        -------
        dict
            A float64 array of shape (n_groups,) for each metric string. With ``ids``, the groups
            are in the order of their first appearance: ``dict.fromkeys(ids)``.

        Raises
        ------
        MetricSpecError, InputError, InputTypeError, ArgumentError, UndefinedMetricError
            As in ``compute``. Also a ShapeError if the arrays differ in length, or if the sizes do
            not add up to the number of rows.

        Warns
        -----
        RecmetricsWarning
            If the relevant rows of all groups, ten or more, stand first, and in 1 % of the groups
            or more another row has the score of the first.
        """
        request = Request(metrics_list, level="groups", **shared)
        source, users, names = read_groups(
            scores, relevance, sizes, ids, request.nan, drops_negative=request.drops_negative
        )
        if shared.get("ties") is None and not request.ties:
            note = note_on_leading_ties(source, users)
            if note and have_expectations(metrics_list, shared, "groups"):
                warn(note, argument="scores")
        rows = RowNames("group", lambda group: f"group {names[group]!r}")
        return values_of(find_hits(source, users, request), request, rows)

    @staticmethod
    @takes(ForTruth)
    def chance(
        ground_truth: Truth,
        metrics_list: MetricsList,
        *,
        n_items: int | None = None,
        **shared: Unpack[ForTruth],
    ) -> dict[str, UserValues]:
        """Compute the expected value of each metric for a random ranking, exactly.

        The expectation is over all orders of the items that may be recommended. A model with the
        same score for all items has these values under ``ties="expected"``.

        >>> from recmetrics import Metrics
        >>> Metrics.chance([[1, 0, 0, 1]], ["precision@3", "hit@2", "auc"])  # hit@2: 1 - 2/4 * 1/3
        {'precision@3': array([0.5]), 'hit@2': array([0.83333333]), 'auc': array([0.5])}

        Parameters
        ----------
        ground_truth
            As in ``compute``, and so are all other keywords.
        metrics_list
            Metric strings of accuracy metrics.
        n_items
            The number of items, needed only if the truth lists item indices.

        Returns
        -------
        dict
            A float64 array of shape (n_users,) for each metric string.

        Raises
        ------
        MetricSpecError, InputError, InputTypeError, ArgumentError, UndefinedMetricError
            As in ``compute``. Also an ArgumentError for a metric that reads the lists themselves,
            such as diversity or coverage, for others that have ``ties="index"`` alone, such as
            ``auc@k`` and ``map(denom=hits)``, and if ``n_items`` is missing.
        """
        return _tied_values("chance", ground_truth, metrics_list, n_items, shared)

    @staticmethod
    @takes(ForTruth)
    def ceiling(
        ground_truth: Truth,
        metrics_list: MetricsList,
        *,
        n_items: int | None = None,
        **shared: Unpack[ForTruth],
    ) -> dict[str, UserValues]:
        """Compute the values of the best possible ranking: relevant items first, by relevance.

        A metric with values in [0, 1] is below 1 here if some relevant items may not be
        recommended, or if the metric divides by more items than can be hits.

        >>> from recmetrics import Metrics
        >>> Metrics.ceiling([[1, 0, 0, 1]], ["precision@3", "recall@3"], exclude=[[3]])
        {'precision@3': array([0.33333333]), 'recall@3': array([0.5])}

        Parameters
        ----------
        ground_truth, metrics_list, n_items
            As in ``chance``, and so are all other keywords and the result.

        Raises
        ------
        MetricSpecError, InputError, InputTypeError, ArgumentError, UndefinedMetricError
            As in ``chance``. A metric that divides by the hits found has a ceiling; an
            ArgumentError is raised for a metric without one, such as ``ndcg(ideal=retrieved,
            ideal_depth=full)``.
        """
        return _tied_values("ceiling", ground_truth, metrics_list, n_items, shared)

    @staticmethod
    def from_sampled(
        ranks: ItemValues,
        metrics_list: MetricsList,
        *,
        n_sampled: int,
        n_items: int | ItemValues,
        method: Method = "bv",
        gamma: float = 0.01,
        replace: bool = False,
    ) -> dict[str, UserValues]:
        """Estimate metrics over all items from ranks among sampled negatives.

        Each rank is that of one relevant item among itself and ``n_sampled`` negatives, which were
        drawn uniformly from the other items that may be recommended. Metrics of such ranks may
        order models differently from the metrics over all items.

        >>> from recmetrics import Metrics
        >>> values = Metrics.from_sampled([1, 1, 3], "hit@2", n_sampled=2, n_items=4)
        >>> values["hit@2"].round(2)  # a rank of 1 among 3 may be 1 or 2 among 4
        array([ 1.1,  1.1, -0.1])
        >>> Metrics.from_sampled([1, 1, 3], "mrr", n_sampled=3, n_items=4)  # all were drawn
        {'mrr': array([1.        , 1.        , 0.33333333])}

        Parameters
        ----------
        ranks
            (n,) integers from 1 to n_sampled + 1. A user with several relevant items may have a
            rank for each, among this item and its negatives alone. Each item is then evaluated as
            if it were the user's only relevant one. If the user's other relevant items may be
            drawn, the mean over a user's ranks estimates ``mean_rank``, ``percentile_rank`` and,
            as ``hit``, ``recall(denom=relevant)``; if they are never drawn, it estimates ``auc``.
            It does not estimate any other metric of several relevant items, such as ``ndcg`` or
            ``mrr``. Ranks in a sample that always holds all relevant items of a user estimate none.
        metrics_list
            As in ``compute``, for one relevant item of relevance 1: ``hit``, ``recall``, ``mrr``,
            ``ndcg``, ``auc``, ``mean_rank`` and ``percentile_rank``.
        n_sampled
            The number of negatives, without the relevant item.
        n_items
            The number of items that may be recommended: minus excluded items, and minus the user's
            other relevant items if these were never drawn. One number, or one for each rank. Each
            distinct number takes memory for n_items x (n_sampled + 1) values of float64, in turn.
        method
            "bv": the estimator that minimises squared bias + ``gamma`` x variance, if all ranks are
            equally likely. A single estimate may be below 0 or above 1; only the mean over many
            ranks is meaningful. "mle": the metrics under the most likely distribution of ranks,
            found by 200 steps of EM from equal shares. It needs the same ``n_items`` for all ranks;
            if users have different ones, use "bv".
        gamma
            The weight of the variance for "bv", from 1e-6 to 1. A larger weight has more bias.
        replace
            True if one negative may be drawn several times.

        Returns
        -------
        dict
            A float64 array for each metric string: for "bv" of shape (n,), one estimate for each
            rank. For "mle" of shape (), and a second key with "[se]" at its end: the standard
            error, from 100 bootstrap resamples of the ranks with a fixed seed.

        Raises
        ------
        MetricSpecError
            As in ``compute``.
        ArgumentError
            If another metric is asked for, such as precision, or for an invalid keyword argument.
        InputError, InputTypeError, ShapeError
            If ranks are not integers in 1 to n_sampled + 1, or are impossible with this sample, or
            ``n_items`` is too small.

        Notes
        -----
        With A[r, s] = P(sampled rank s | rank r), c[s] its sum over r, and f[r] the metric at rank
        r, "bv" is ((1 - gamma) A'A + gamma diag(c))^-1 A'f (Krichene and Rendle: On sampled metrics
        for item recommendation, KDD 2020). s - 1 is hypergeometric, or binomial with
        ``replace``. "mle" is the sum of p[r] f[r] over r, where p maximises the sum over the given
        ranks of log sum_r p[r] A[r, s] (Jin, Li, Mudrak, Gao, Liu: On estimating recommendation
        evaluation metrics under sampling, AAAI 2021).
        """
        return estimated(ranks, metrics_list, n_sampled, n_items, method, gamma, replace)

    # One name for each metric of the registry; a test compares the two.

    hit_at_k = staticmethod(alone(accuracy.hit_at_k))
    precision_at_k = staticmethod(alone(accuracy.precision_at_k))
    recall_at_k = staticmethod(alone(accuracy.recall_at_k))
    f1_at_k = staticmethod(alone(accuracy.f1_at_k))
    map_at_k = staticmethod(alone(accuracy.map_at_k))
    mrr_at_k = staticmethod(alone(accuracy.mrr_at_k))
    ndcg_at_k = staticmethod(alone(accuracy.ndcg_at_k))
    dcg_at_k = staticmethod(alone(accuracy.dcg_at_k))
    cg_at_k = staticmethod(alone(accuracy.cg_at_k))
    r_precision_at_k = staticmethod(alone(accuracy.r_precision_at_k))
    rbp_at_k = staticmethod(alone(accuracy.rbp_at_k))
    err_at_k = staticmethod(alone(accuracy.err_at_k))
    fallout_at_k = staticmethod(alone(full_ranking.fallout_at_k))
    auc = staticmethod(alone(full_ranking.auc))
    mean_rank = staticmethod(alone(full_ranking.mean_rank))
    percentile_rank = staticmethod(alone(full_ranking.percentile_rank))
    diversity_at_k = staticmethod(alone(beyond.diversity_at_k))
    novelty_at_k = staticmethod(alone(beyond.novelty_at_k))
    popularity_at_k = staticmethod(alone(beyond.popularity_at_k))
    long_tail_at_k = staticmethod(alone(beyond.long_tail_at_k))
    share_at_k = staticmethod(alone(beyond.share_at_k))
    serendipity_at_k = staticmethod(alone(beyond.serendipity_at_k))
    calibration_at_k = staticmethod(alone(beyond.calibration_at_k))
    coverage_at_k = staticmethod(alone(system.coverage_at_k))
    personalization_at_k = staticmethod(alone(system.personalization_at_k))
    gini_at_k = staticmethod(alone(system.gini_at_k))
    entropy_at_k = staticmethod(alone(system.entropy_at_k))
    exposure_gini_at_k = staticmethod(alone(system.exposure_gini_at_k))
