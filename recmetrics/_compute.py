"""Metrics: scores and truth in, one value per user and metric out.

Every method has the same four lines: read the request, read the scores, read the users, give the
values of their hits.
"""

from __future__ import annotations  # help() shows the names of types, not what they stand for

import functools
from collections.abc import Callable, Sequence
from typing import Any, ParamSpec, TypeVar, Unpack, cast

import numpy as np
import numpy.typing as npt
import scipy.sparse as sp

from recmetrics._errors import ArgumentError
from recmetrics._inputs import Rankings, read_groups, read_users, read_whole_users
from recmetrics._options import (
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
from recmetrics._results import RowNames, ranks_of, values_of
from recmetrics._selection import EqualScores, Source, find_hits, read_factors, read_scores
from recmetrics._spec import METHOD_SUFFIX, STRATUM, MetricsList, MetricSpec, Request, lookup
from recmetrics._types import (
    Candidates,
    Convention,
    Invalid,
    ItemValues,
    Matrix,
    NaNPolicy,
    Progress,
    Scores,
    Strata,
    TiePolicy,
    Ties,
    Truth,
    Undefined,
    UserValues,
)
from recmetrics.metrics import accuracy, beyond, full_ranking, system

P = ParamSpec("P")
R = TypeVar("R")


def alone(declaration: Callable[P, R]) -> Callable[P, R]:
    """Make the method that computes one metric from the function that declares it."""
    record = lookup(declaration.__name__.removesuffix(METHOD_SUFFIX))
    public = spelled_out(declaration, ForHits if record.reads == "hits" else Shared)

    @functools.wraps(declaration)
    def compute_alone(pred_scores: Any, ground_truth: Any, *k: Any, **keywords: Any) -> Any:
        for keyword in keywords:
            if keyword not in public.parameters:
                record.option(keyword)  # raises, and names the nearest
        bound = public.bind(pred_scores, ground_truth, *k, **keywords)
        bound.apply_defaults()
        cutoff = bound.arguments["k"]
        if isinstance(cutoff, str) or (cutoff is None and record.default_k is not None):
            msg = (
                f"k must be an integer >= 1, such as 10, got {cutoff!r}; "
                "for the whole list ask compute"
            )
            raise ArgumentError(msg)
        own = {*record.options, STRATUM.name}
        # Only typed options are passed on: they override a convention, even with a default value.
        options = tuple((name, v) for name, v in keywords.items() if name in own)
        spec = MetricSpec(record.name, cutoff, options)
        shared = {n: v for n, v in keywords.items() if n not in own and n != "k"}
        if shared.get("ties") == "range":
            msg = (
                f"{record.method} gives one array and has no ties='range', which gives three; type "
                f"Metrics.compute(..., [{str(spec)!r}], ties='range')"
            )
            raise ArgumentError(msg)
        values = Metrics.compute(pred_scores, ground_truth, {record.name: spec}, **shared)
        return values[record.name]

    compute_alone.__signature__ = public  # type: ignore[attr-defined]  # help() shows every keyword
    return cast(Callable[P, R], compute_alone)


def _ranks(scores: Source, ground_truth: Any, shared: ForRanks) -> sp.csr_array[np.float64]:
    """Find the rank of every relevant item, through a metric that reads whole lists."""
    ties: object = shared.get("ties")
    if ties is not None:
        hint = "; type ties='best' for the first rank of each item, ties='worst' for the last one"
        one_of("ties", ties, TiePolicy, hint if ties == "range" else "")
    request = Request("mrr", **shared)
    users = read_users(scores, ground_truth, shared, request)
    return ranks_of(find_hits(scores, users, request, with_slots=True), request)


class Metrics:
    """Ranking metrics per user, and of all lists together, from scores or from rankings.

    The methods below ``compute_factors`` compute one metric. All take the keyword arguments of
    ``Metrics.compute`` beside their own, return a float64 array of shape (n_users,), of shape ()
    for a metric of all lists, and raise what ``Metrics.compute`` raises. ``k`` counts ranks from 1;
    a k above n_items means n_items. The value of a user without relevant items is undefined: NaN
    unless ``undefined=`` is given.
    """

    @staticmethod
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
        """Compute the metrics of every user's ranking.

        >>> from recmetrics import Metrics
        >>> Metrics.compute([[4, 3, 2, 1, 0]], [[1, 1, 0, 0, 1]], ["recall@3", "ndcg@2"])
        {'recall@3': array([0.66666667]), 'ndcg@2': array([1.])}

        Parameters
        ----------
        pred_scores
            (n_users, n_items) predicted preference, higher first; equal scores rank by the lower
            item index. Any real dtype and memory layout, memory maps, nested lists, tensors on the
            CPU; read in row blocks, never copied, never changed. An item scored -inf is not
            recommended. Of a SciPy sparse matrix only the stored entries may be recommended; a
            stored 0 is a score.
        ground_truth
            (n_users, n_items) relevance, 0 = not relevant, binary or graded: a dense array, any
            SciPy sparse matrix, or a list with one array of relevant item indices per user. Or
            (n_users,) integers: the index of the one relevant item of each row, -1 for none.
        metrics_list
            Metric strings, ``name``, ``name@k`` or ``name(option=value, ...)@k``; see
            ``recmetrics metrics`` for all. Without ``@k`` the user's whole list counts.
        exclude
            Items that must not be recommended to a user, in any form that truth takes (every
            entry other than 0). Relevant ones still count as relevant.
        candidates
            The only items that may be recommended, in any form that truth takes, or one array of
            item indices for all users. Only their scores are read.
        strata
            Sets of items by name, each in any form that ``candidates`` takes. Only the relevant
            items in ``strata["tail"]`` are relevant to ``recall(of=tail)@20``. The lists stay what
            they are, and are selected once. A user without such an item has no value.
        propensity
            (n_items,) the chance, above 0 and at most 1, that a relevant item is observed, which
            ``weigh`` corrects for, as in ``recall(weigh=snips)@20``: see ``propensity_from``.
        undefined
            Value of a user without relevant items where the metric is undefined: "nan", "zero",
            "one", or "raise" for an error. Default: the convention's rule, or "nan" without a
            convention.
        convention
            The system whose definitions the plain names follow, such as "ranx", "trec" or
            "recbole"; an unknown name is an error that lists them all. Options in a metric string,
            ``undefined`` and ``ties`` override it; ``recmetrics.explain`` shows the definition.
        nan
            NaN among the scores: "raise" an error, or "exclude" the item like a score of -inf.
        ties
            How equal scores rank: "index", by the lower item index; "expected", the exact mean of
            each metric over all of their orders; "worst" and "best", its worst and its best value
            over these orders; "range", the mean under the metric string as it was typed, and then
            the least and the greatest value: ``values["ndcg@10[least]"]`` and
            ``values["ndcg@10[greatest]"]``. List and catalogue metrics, and ``auc@k``, support only
            ties="index". ``auc`` averages over ties under "index", too: that is its definition.
            Default: the convention's rule for each metric, or "index" without a convention.
        n_threads
            Threads over row blocks; None means the environment variable
            RECMETRICS_NUM_THREADS, else the cores this process may use.
        progress
            True shows a tqdm bar where tqdm is installed, and then says how many users the means
            are over where these are not all; it says "compiling" while a first call compiles. A
            callable gets (rows done, rows).
        popularity
            (n_items,) share of users who have each item, 0 to 1: ``popularity_from(train)``.
        features
            (n_items, d) a vector for each item, dense or sparse; items are compared by cosine.
        similarity
            (n_items, n_items) of every two items, dense or sparse, instead of ``features``.
        genres
            (n_items, g) 1 where an item has the genre, dense or sparse.
        profile
            (n_users, g) the genres of each user, or the training matrix (n_users, n_items), whose
            values weigh the items; dense or sparse. Where both shapes fit it holds genres.

        ``recmetrics metrics`` lists which metric needs which of the last five; other metrics
        ignore them.

        Returns
        -------
        dict
            A float64 array of shape (n_users,) for each metric string as it was typed, in the
            order asked; of shape () for a system metric such as coverage, which has one value for
            all lists. ``ties="range"`` has three arrays for each. Threads, batches and memory
            layout do not change a bit.

        Raises
        ------
        MetricSpecError
            A metric string that cannot be read, or an unknown metric or option.
        InputError, InputTypeError
            Inputs of the wrong shape, dtype or values, such as NaN among the scores.
        ArgumentError
            A keyword argument outside its range.
        UndefinedMetricError
            A user without relevant items under ``undefined="raise"``.

        Warns
        -----
        RecmetricsWarning
            Where all relevant items of more than half of the users who have any are excluded.
        """
        shared = shared_of(locals())
        request = Request(metrics_list, **shared)
        scores = read_scores(pred_scores)
        users = read_users(scores, ground_truth, shared, request)
        return values_of(find_hits(scores, users, request), request)

    @staticmethod
    @takes(ForRankings, ties="index")  # a list has no ties
    def compute_ranked(
        ranking: Truth,
        ground_truth: Truth,
        metrics_list: MetricsList,
        *,
        n_items: int | None = None,
        repeats: Invalid = "raise",
        unknown: Invalid = "raise",
        **shared: Unpack[ForRankings],
    ) -> dict[str, UserValues]:
        """Score rankings that exist already.

        >>> from recmetrics import Metrics
        >>> Metrics.compute_ranked([[2, 0], [1, -1]], [[0, 0, 1], [1, 0, 0]], ["mrr", "hit@1"])
        {'mrr': array([1., 0.]), 'hit@1': array([1., 0.])}
        >>> generated = [[1, 1, 9, 2]]  # item 1 again, and 9, which is outside the catalogue
        >>> Metrics.compute_ranked(
        ...     generated, [[2]], "mrr", n_items=3, repeats="waste", unknown="drop"
        ... )
        {'mrr': array([0.33333333])}

        Parameters
        ----------
        ranking
            (n_users, k) item indices, best first, -1 after the end of a shorter list; or a list
            with one array of item indices per user.
        ground_truth
            As in ``compute``. Plain nested lists that could be either indices or relevances are an
            error.
        n_items
            Size of the catalogue, where truth lists item indices: an index outside it is an error.
            Unless it or side information gives the size, any index >= 0 is accepted, and k is not
            cut to the size; ``audit_ranked`` then names the largest index. System metrics and
            ``auc`` need the size.
        repeats, unknown
            An item that its list names again, and an item outside the catalogue, as generative
            models give: "raise" an error, "waste" its rank, which then has no item, or "drop" it,
            so that the items behind it move up. Metrics of items, such as diversity, read the items
            that are left. ``progress=True`` prints how many there were; so does ``audit_ranked``.
        metrics_list, undefined, convention, n_threads, progress
            As in ``compute``. Metrics of the whole list read only the items of the ranking; ``auc``
            needs rankings of every item.
        popularity, features, similarity, genres, profile
            As in ``compute``.

        Returns
        -------
        dict
            A float64 array of shape (n_users,) for each metric string as it was typed, of shape
            () for a system metric.

        Raises
        ------
        MetricSpecError, InputError, InputTypeError, ArgumentError, UndefinedMetricError
            As in ``compute``; an InputError also where a ranking names an item twice, an item
            outside the catalogue, an item after a -1, or for ``auc`` not every item; an
            ArgumentError where ``unknown`` is not "raise" and the catalogue's size is unknown.
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

        Memory grows with the relevant items, not with users times items.

        >>> from recmetrics import Metrics
        >>> ranks = Metrics.ranks([[4, 3, 2, 1], [1, 1, 3, 1]], [[0, 1, 0, 1], [0, 1, 0, 0]])
        >>> ranks.toarray()
        array([[0., 2., 0., 4.],
               [0., 3., 0., 0.]])
        >>> Metrics.ranks([[1, 1, 3, 1]], [[0, 1, 0, 0]], ties="expected").data  # 2, 3 or 4
        array([3.])

        Parameters
        ----------
        pred_scores, ground_truth, exclude, candidates, nan, n_threads, progress
            As in ``compute``.
        ties
            The rank of an item among equal scores: "index", by the lower item index; "expected",
            the mean rank of these items; "best" and "worst", the first and the last rank of them.
            The last three are the realistic, the optimistic and the pessimistic rank of knowledge
            graph completion.

        Returns
        -------
        scipy.sparse.csr_array
            (n_users, n_items) float64, with an entry for each relevant item: its rank from 1, inf
            where the item cannot be recommended.

        Raises
        ------
        InputError, InputTypeError, ArgumentError
            As in ``compute``.

        Warns
        -----
        RecmetricsWarning
            As in ``compute``.
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
        ground_truth, exclude, candidates, nan, ties, n_threads, progress
            As in ``ranks``.

        Returns
        -------
        scipy.sparse.csr_array
            As of ``ranks``.

        Raises
        ------
        InputError, InputTypeError, ArgumentError
            As in ``compute_factors``.

        Warns
        -----
        RecmetricsWarning
            As in ``compute``.
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
        """Score the rankings of a factor model, whose score matrix is never made.

        The scores are ``user_factors @ item_factors.T + item_bias``: tiles of the product are
        computed by BLAS and selected while in cache, so that memory does not grow with users times
        items. Metrics without a cutoff, and any under a tie policy other than "index", read whole
        rows: the scores of a few users at a time.

        >>> from recmetrics import Metrics
        >>> users, items = [[1.0, 0.0], [0.0, 1.0]], [[3.0, 1.0], [2.0, 2.0], [1.0, 3.0]]
        >>> Metrics.compute_factors(users, items, [[1, 0, 0], [1, 0, 0]], ["hit@1", "mrr@3"])
        {'hit@1': array([1., 0.]), 'mrr@3': array([1.        , 0.33333333])}

        Parameters
        ----------
        user_factors
            (n_users, d). Any real dtype and memory layout, memory maps, tensors on the CPU; tensors
            on a GPU, both of them, are multiplied and ranked there (not yet run on a GPU).
        item_factors
            (n_items, d).
        ground_truth, metrics_list
            As in ``compute``.
        item_bias
            (n_items,) added to the scores of each item.
        exclude, candidates, undefined, convention, nan, ties, n_threads, progress
            As in ``compute``. Where threadpoolctl is installed, BLAS is limited to one thread
            within each of these threads.
        popularity, features, similarity, genres, profile
            As in ``compute``.

        Returns
        -------
        dict
            As of ``compute``.

        Raises
        ------
        MetricSpecError, InputError, InputTypeError, ArgumentError, UndefinedMetricError
            As in ``compute``; a ShapeError also where the factors do not fit together.

        Warns
        -----
        RecmetricsWarning
            As in ``compute``.

        Notes
        -----
        The order is that of ``compute`` on the same products. float32, float16 and bfloat16 factors
        are multiplied as float32, others as float64. BLAS may round differently for each shape of
        a tile: compared with one product of all factors, a score of d terms may differ by
        2 d u sum_j abs(p_j q_j), u = 6e-8 in float32 and 1e-16 in float64. Only items whose
        scores are that close may change places.
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
        ids: Sequence[Any] | npt.NDArray[Any] | None = None,
        **shared: Unpack[ForGroups],
    ) -> dict[str, UserValues]:
        """Evaluate groups, such as queries, in flat arrays as in learning-to-rank tools.

        Each row is one item of one group. Each group is ranked on its own; equal scores rank by the
        order of the rows. A relevant item without a row does not count. A group without a relevant
        row has no defined value: NaN.

        >>> from recmetrics import Metrics
        >>> scores, relevance = [0.9, 0.5, 0.3, 0.8], [0, 1, 3, 1]
        >>> Metrics.compute_groups(scores, relevance, ["mrr", "hit@1"], sizes=[3, 1])
        {'mrr': array([0.5, 1. ]), 'hit@1': array([0., 1.])}
        >>> Metrics.compute_groups(scores, relevance, "mrr", ids=["q7", "q2", "q2", "q7"])
        {'mrr': array([0.5, 1. ])}

        Parameters
        ----------
        scores
            (n_rows,) predicted relevance, higher first; any real dtype.
        relevance
            (n_rows,) 0 = not relevant, binary or graded.
        metrics_list
            As in ``compute``, of accuracy metrics. A k above the size of a group is not lowered:
            ``precision@10`` of a group of 4 rows divides by 10.
        sizes
            (n_groups,) how many rows each group has, in order, as LightGBM and XGBoost take them.
            Give this or ``ids``.
        ids
            (n_rows,) the group of each row: numbers, text or dates, in any order, such as ``qid``.
        undefined, convention, nan, ties, n_threads
            As in ``compute``.

        Returns
        -------
        dict
            A float64 array of shape (n_groups,) for each metric string as it was typed. With
            ``ids`` the groups are in the order in which they first appear: ``dict.fromkeys(ids)``.

        Raises
        ------
        MetricSpecError, InputError, InputTypeError, ArgumentError, UndefinedMetricError
            As in ``compute``; a ShapeError also where the arrays differ in length, or where sizes
            do not add up to the rows.
        """
        request = Request(metrics_list, level="groups", **shared)
        source, users, names = read_groups(scores, relevance, sizes, ids, request.nan)
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
        """Compute the exact means of a random ranking over all orders of the recommendable items.

        A model that scores all items alike has these values under ``ties="expected"``. No scores
        are read.

        >>> from recmetrics import Metrics
        >>> Metrics.chance([[1, 0, 0, 1]], ["precision@3", "hit@2", "auc"])  # 1 - 2/4 * 1/3
        {'precision@3': array([0.5]), 'hit@2': array([0.83333333]), 'auc': array([0.5])}

        Parameters
        ----------
        ground_truth, exclude, candidates, undefined, convention
            As in ``compute``.
        metrics_list
            Metric strings of accuracy metrics.
        n_items
            The number of items, where truth lists item indices.

        Returns
        -------
        dict
            A float64 array of shape (n_users,) for each metric string.

        Raises
        ------
        MetricSpecError, InputError, InputTypeError, UndefinedMetricError
            As in ``compute``.
        ArgumentError
            Also for a list or catalogue metric, for a metric that divides by the hits found, such
            as ``map(denom=hits)``, and where ``n_items`` is missing.
        """
        request = Request(metrics_list, level="chance", **shared)
        users = read_whole_users(ground_truth, n_items, shared, request)
        scores = EqualScores.of(users)
        return values_of(find_hits(scores, users, request), request)

    @staticmethod
    @takes(ForTruth)
    def ceiling(
        ground_truth: Truth,
        metrics_list: MetricsList,
        *,
        n_items: int | None = None,
        **shared: Unpack[ForTruth],
    ) -> dict[str, UserValues]:
        """Compute the values of the best ranking: relevant items first, by relevance.

        A value is below 1 where relevant items may not be recommended, or where the metric divides
        by more items than can be hits.

        >>> from recmetrics import Metrics
        >>> Metrics.ceiling([[1, 0, 0, 1]], ["precision@3", "recall@3"], exclude=[[3]])
        {'precision@3': array([0.33333333]), 'recall@3': array([0.5])}

        Parameters
        ----------
        ground_truth, metrics_list, n_items, exclude, candidates, undefined, convention
            As in ``chance``.

        Returns
        -------
        dict
            As of ``chance``.

        Raises
        ------
        MetricSpecError, InputError, InputTypeError, UndefinedMetricError
            As in ``chance``.
        ArgumentError
            Also for a list or catalogue metric, for a metric without a ceiling, such as
            ``ndcg(ideal=retrieved, ideal_depth=full)``, and where ``n_items`` is missing.
        """
        request = Request(metrics_list, level="ceiling", **shared)
        users = read_whole_users(ground_truth, n_items, shared, request)
        scores = EqualScores.of(users)
        return values_of(find_hits(scores, users, request), request)

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
    serendipity_at_k = staticmethod(alone(beyond.serendipity_at_k))
    calibration_at_k = staticmethod(alone(beyond.calibration_at_k))
    coverage_at_k = staticmethod(alone(system.coverage_at_k))
    personalization_at_k = staticmethod(alone(system.personalization_at_k))
    gini_at_k = staticmethod(alone(system.gini_at_k))
    entropy_at_k = staticmethod(alone(system.entropy_at_k))
    exposure_gini_at_k = staticmethod(alone(system.exposure_gini_at_k))
