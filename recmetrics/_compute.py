"""Metrics: scores and truth in, one value per user and metric out.

metric strings -> specs
scores, truth, exclude, candidates -> checked inputs (no copy of the scores)
row blocks, in threads: the rank of each relevant item among the k_max best -> TopK,
    and the lists themselves for the metrics that read them, dropped with the block
one kernel per spec over the TopK -> {metric string: (n_users,) float64}
"""

from __future__ import annotations  # help() shows the names of types, not what they stand for

from collections.abc import Iterable, Mapping
from typing import Any

from recmetrics._chance import measure_tied
from recmetrics._errors import ArgumentError
from recmetrics._inputs import ScoreMatrix, as_ranking
from recmetrics._itemsets import read_sets
from recmetrics._measure import measure
from recmetrics._options import (
    CallOptions,
    Candidates,
    Convention,
    ItemValues,
    Matrix,
    NaNPolicy,
    Progress,
    Scores,
    Ties,
    Truth,
    Undefined,
    UserValues,
)
from recmetrics._ranking import RankedInputs, read_ranked_truth
from recmetrics._registry import lookup
from recmetrics._selected import Selector, read_factors, read_scores, with_sets
from recmetrics._side import read_side, require_side
from recmetrics._spec import MetricSpec, make_spec, parse_all
from recmetrics._ties import (
    require_accuracy,
    require_ceiling,
    require_fixed_divisor,
    require_policy,
)
from recmetrics.metrics.accuracy import AccuracyMethods
from recmetrics.metrics.beyond import BeyondMethods
from recmetrics.metrics.full_ranking import FullRankingMethods
from recmetrics.metrics.system import SystemMethods

MetricsList = str | MetricSpec | Iterable[str | MetricSpec]


class Metrics(AccuracyMethods, FullRankingMethods, BeyondMethods, SystemMethods):
    """Ranking metrics per user, and of all lists together, from scores or from rankings."""

    @staticmethod
    def compute(
        pred_scores: Scores,
        ground_truth: Truth,
        metrics_list: MetricsList,
        *,
        exclude: Truth | None = None,
        candidates: Candidates | None = None,
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
        """Score every user's ranking with each of the metrics asked for.

        >>> from recmetrics import Metrics
        >>> Metrics.compute([[4, 3, 2, 1, 0]], [[1, 1, 0, 0, 1]], ["recall@3", "ndcg@2"])
        {'recall@3': array([0.66666667]), 'ndcg@2': array([1.])}

        Parameters
        ----------
        pred_scores
            (n_users, n_items) predicted preference, higher first; equal scores rank by the lower
            item index. Any real dtype and memory layout, memory maps, nested lists, tensors on the
            CPU; read in row blocks, never copied, never changed. An item scored -inf is not
            recommended.
        ground_truth
            (n_users, n_items) relevance, 0 = not relevant, binary or graded: a dense array, any
            SciPy sparse matrix, or a list with one array of relevant item indices per user.
        metrics_list
            Metric strings, ``name``, ``name@k`` or ``name(option=value, ...)@k``; see
            ``recmetrics metrics`` for all. Without ``@k`` the user's whole list counts.
        exclude
            Items that must not be recommended to a user, in any form that truth takes (what is
            not 0 is excluded). Relevant ones still count as relevant.
        candidates
            The only items that may be recommended, in any form that truth takes, or one array of
            item indices for all users. Only their scores are read.
        undefined
            What a user without relevant items gets where the metric is undefined: "nan", "zero",
            or "raise" for an error. None means what the convention says, without one "nan".
        convention
            The system whose numbers the plain names mean: "rectorch", "lenskit", "capri", "trec",
            "recbole", "rectools", "ranx", "sklearn", "torchmetrics" or "irspack". An option typed
            in a metric string wins, and so do ``undefined`` and ``ties``; ``recmetrics.explain``
            shows the definition.
        nan
            NaN among the scores: "raise" an error, or "exclude" the item like a score of -inf.
        ties
            How equal scores rank: "index", by the lower item index; "expected", the exact mean of
            each metric over all of their orders; "worst" and "best", the least and the greatest
            value over these orders. Metrics that read the lists themselves know "index" alone.
            ``auc`` averages over ties under "index", too: that is its definition. None means what
            the convention says of each metric, without one "index".
        n_threads
            Threads over row blocks; None means the environment variable
            RECMETRICS_NUM_THREADS, else the cores this process may use.
        progress
            True shows a tqdm bar where tqdm is installed; a callable gets (rows done, rows).
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

        ``recmetrics metrics`` says which metric needs which of the last five; the others do not
        look at them.

        Returns
        -------
        dict
            A float64 array of shape (n_users,) for each metric string as it was typed, in the
            order asked; of shape () for a system metric such as coverage, which has one value for
            all lists. The same bits whatever the threads, batches or memory layout.

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
        """
        options = CallOptions(
            exclude=exclude,
            candidates=candidates,
            undefined=undefined,
            convention=convention,
            nan=nan,
            ties=ties,
            n_threads=n_threads,
            progress=progress,
            popularity=popularity,
            features=features,
            similarity=similarity,
            genres=genres,
            profile=profile,
        )
        specs = parse_all(metrics_list, convention)
        return compute_specs(pred_scores, ground_truth, specs, options)

    @staticmethod
    def compute_ranked(
        ranking: Truth,
        ground_truth: Truth,
        metrics_list: MetricsList,
        *,
        undefined: Undefined | None = None,
        convention: Convention | None = None,
        n_threads: int | None = None,
        progress: Progress = None,
        popularity: ItemValues | None = None,
        features: Matrix | None = None,
        similarity: Matrix | None = None,
        genres: Matrix | None = None,
        profile: Matrix | None = None,
    ) -> dict[str, UserValues]:
        """Score rankings that exist already.

        >>> from recmetrics import Metrics
        >>> Metrics.compute_ranked([[2, 0], [1, -1]], [[0, 0, 1], [1, 0, 0]], ["mrr", "hit@1"])
        {'mrr': array([1., 0.]), 'hit@1': array([1., 0.])}

        Parameters
        ----------
        ranking
            (n_users, k) item indices, best first, -1 after the end of a shorter list; or a list
            with one array of item indices per user.
        ground_truth
            As in ``compute``. Lists of indices say nothing about the size of the catalogue; then k
            is never cut to it and any item index from 0 on is accepted, unless side information
            tells it; system metrics must know it. Plain nested lists that may be indices as well as
            relevances are an error.
        metrics_list, undefined, convention, n_threads, progress
            As in ``compute``. Metrics of the whole list read the items listed, no others.
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
            outside the catalogue, or an item after a -1.
        """
        options = CallOptions(
            undefined=undefined,
            convention=convention,
            n_threads=n_threads,
            progress=progress,
            popularity=popularity,
            features=features,
            similarity=similarity,
            genres=genres,
            profile=profile,
        )
        specs = parse_all(metrics_list, convention)
        require_side(specs, options)
        listed = as_ranking(ranking)
        inputs = RankedInputs(listed, read_ranked_truth(listed, ground_truth))
        side = read_side(specs.values(), options, inputs.n_users, inputs.truth.n_items)
        if side.n_items is not None:
            inputs.n_items = side.n_items
        return measure(inputs, specs, side, options)

    @staticmethod
    def compute_factors(
        user_factors: Scores,
        item_factors: Scores,
        ground_truth: Truth,
        metrics_list: MetricsList,
        *,
        item_bias: ItemValues | None = None,
        exclude: Truth | None = None,
        candidates: Candidates | None = None,
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
        """Score the rankings of a factor model, whose score matrix is never made.

        The scores are ``user_factors @ item_factors.T + item_bias``: tiles of the product are
        computed by BLAS and selected while in cache, so that memory does not grow with users times
        items. Metrics that read whole rows, those without a cutoff and those for which ties are
        not ranked by index, get the scores of a few users at a time.

        >>> from recmetrics import Metrics
        >>> users, items = [[1.0, 0.0], [0.0, 1.0]], [[3.0, 1.0], [2.0, 2.0], [1.0, 3.0]]
        >>> Metrics.compute_factors(users, items, [[1, 0, 0], [1, 0, 0]], ["hit@1", "mrr@3"])
        {'hit@1': array([1., 0.]), 'mrr@3': array([1.        , 0.33333333])}

        Parameters
        ----------
        user_factors
            (n_users, d). Any real dtype and memory layout, memory maps, tensors on the CPU; tensors
            on a GPU, both of them, are multiplied and selected there.
        item_factors
            (n_items, d).
        ground_truth, metrics_list
            As in ``compute``.
        item_bias
            (n_items,) added to the scores of each item.
        exclude, candidates, undefined, convention, nan, ties, n_threads, progress
            As in ``compute``. Our threads take the place of those of BLAS where threadpoolctl is
            installed.
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

        Notes
        -----
        The order is that of ``compute`` on the same products. float32, float16 and bfloat16 factors
        are multiplied as float32, others as float64. A tile rounds as BLAS does for its shape:
        against one product of all, two scores of d terms may differ by
        2 d u sum_j abs(p_j q_j), u = 6e-8 in float32 and 1e-16 in float64, and only items whose
        scores are that close may change places.
        """
        options = CallOptions(
            exclude=exclude,
            candidates=candidates,
            undefined=undefined,
            convention=convention,
            nan=nan,
            ties=ties,
            n_threads=n_threads,
            progress=progress,
            popularity=popularity,
            features=features,
            similarity=similarity,
            genres=genres,
            profile=profile,
        )
        specs = parse_all(metrics_list, convention)
        require_side(specs, options)
        require_policy(specs, options)
        factors = read_factors(user_factors, item_factors, item_bias)
        return _measured(factors, ground_truth, specs, options)

    @staticmethod
    def chance(
        ground_truth: Truth,
        metrics_list: MetricsList,
        *,
        exclude: Truth | None = None,
        candidates: Candidates | None = None,
        undefined: Undefined | None = None,
        convention: Convention | None = None,
        n_items: int | None = None,
    ) -> dict[str, UserValues]:
        """What a random ranking gets: the exact mean over all orders of what may be recommended.

        It is what a model that scores all items alike gets under ``ties="expected"``, and reads no
        scores.

        >>> from recmetrics import Metrics
        >>> Metrics.chance([[1, 0, 0, 1]], ["precision@3", "hit@2", "auc"])  # 1 - 2/4 * 1/3
        {'precision@3': array([0.5]), 'hit@2': array([0.83333333]), 'auc': array([0.5])}

        Parameters
        ----------
        ground_truth, exclude, candidates, undefined, convention
            As in ``compute``.
        metrics_list
            As in ``compute``, of accuracy metrics.
        n_items
            Size of the catalogue, where truth lists item indices.

        Returns
        -------
        dict
            A float64 array of shape (n_users,) for each metric string as it was typed.

        Raises
        ------
        MetricSpecError, InputError, InputTypeError, UndefinedMetricError
            As in ``compute``.
        ArgumentError
            Also for a metric that reads the lists themselves or divides by what they happen to
            hold, such as ``map(denom=hits)``, and where ``n_items`` is missing.
        """
        options = CallOptions(
            exclude=exclude,
            candidates=candidates,
            undefined=undefined,
            convention=convention,
            ties="expected",
        )
        specs = parse_all(metrics_list, convention)
        require_accuracy(specs, "chance level", "leave it out")
        require_fixed_divisor(specs, "chance level", "leave it out")
        return measure_tied(ground_truth, specs, options, n_items)

    @staticmethod
    def ceiling(
        ground_truth: Truth,
        metrics_list: MetricsList,
        *,
        exclude: Truth | None = None,
        candidates: Candidates | None = None,
        undefined: Undefined | None = None,
        convention: Convention | None = None,
        n_items: int | None = None,
    ) -> dict[str, UserValues]:
        """What the best ranking gets: relevant items first, the most relevant before the others.

        It is below 1 where relevant items may not be recommended, or where k is not what the
        metric divides by.

        >>> from recmetrics import Metrics
        >>> Metrics.ceiling([[1, 0, 0, 1]], ["precision@3", "recall@3"], exclude=[[3]])
        {'precision@3': array([0.33333333]), 'recall@3': array([0.5])}

        Parameters
        ----------
        ground_truth, exclude, candidates, undefined, convention
            As in ``compute``.
        metrics_list
            As in ``compute``, of accuracy metrics.
        n_items
            Size of the catalogue, where truth lists item indices.

        Returns
        -------
        dict
            A float64 array of shape (n_users,) for each metric string as it was typed.

        Raises
        ------
        MetricSpecError, InputError, InputTypeError, UndefinedMetricError
            As in ``compute``.
        ArgumentError
            Also for a metric that reads the lists themselves or has no ceiling, such as
            ``ndcg(ideal=retrieved, ideal_depth=full)``, and where ``n_items`` is missing.
        """
        options = CallOptions(
            exclude=exclude,
            candidates=candidates,
            undefined=undefined,
            convention=convention,
            ties="best",
        )
        specs = parse_all(metrics_list, convention)
        require_accuracy(specs, "ceiling", "leave it out")
        require_ceiling(specs)
        return measure_tied(ground_truth, specs, options, n_items)


def compute_specs(
    pred_scores: Scores,
    ground_truth: Truth,
    specs: Mapping[str, MetricSpec],
    options: CallOptions,
) -> dict[str, UserValues]:
    """The data flow of the package, from metric strings that are read."""
    require_side(specs, options)
    require_policy(specs, options)
    return _measured(read_scores(pred_scores), ground_truth, specs, options)


def _measured(
    scores: ScoreMatrix | Selector,
    ground_truth: Truth,
    specs: Mapping[str, MetricSpec],
    options: CallOptions,
) -> dict[str, UserValues]:
    sets = read_sets(ground_truth, options.exclude, options.candidates, scores.shape)
    side = read_side(specs.values(), options, *scores.shape)
    return measure(with_sets(scores, sets), specs, side, options)


def compute_one(
    name: str,
    metric_options: Mapping[str, Any],
    pred_scores: Scores,
    ground_truth: Truth,
    k: int | None = None,
    **shared: Any,
) -> UserValues:
    """What a method such as ``Metrics.ndcg_at_k`` returns."""
    if lookup(name).takes_k and (k is None or isinstance(k, str)):
        msg = f"k must be an integer >= 1, such as 10, got {k!r}; for the whole list ask compute"
        raise ArgumentError(msg)
    options = CallOptions(**shared)
    specs = {name: make_spec(name, k, metric_options, options.convention)}
    return compute_specs(pred_scores, ground_truth, specs, options)[name]
