"""``Metrics`` as users have it: the methods of the core, and ``evaluate``, which looks outward."""

from __future__ import annotations  # help() shows the names of types, not what they stand for

from typing import Any, Unpack

import scipy.sparse as sp

from recmetrics._core import compute
from recmetrics._core.inputs import read_users
from recmetrics._core.options import Shared, takes
from recmetrics._core.results import (
    Grades,
    how_graded,
    note_on_one_column,
    notes_of_signs,
    notes_on_users,
    system_weights,
    who_is_swallowed,
    whole_values,
)
from recmetrics._core.selection import find_hits, read_scores
from recmetrics._core.spec import MetricsList, Request
from recmetrics._core.types import Scores, Truth
from recmetrics._report import Evaluation


class Metrics(compute.Metrics):
    """Ranking metrics from scores or from rankings.

    ``compute`` computes several metrics in one pass. Methods such as ``ndcg_at_k`` and ``auc``
    compute one metric. They take the keyword arguments of ``compute`` in addition to their own
    options, and raise the same errors. They return a float64 array of shape (n_users,), or of shape
    () for a metric of all lists, such as coverage.

    ``k`` is a 1-based cutoff; ``precision`` divides by k even if there are fewer items. The value
    of a user without relevant items is undefined: NaN unless ``undefined=`` is given.
    """

    @staticmethod
    @takes(Shared)
    def evaluate(
        pred_scores: Scores,
        ground_truth: Truth,
        metrics_list: MetricsList,
        **shared: Unpack[Shared],
    ) -> Evaluation:
        """Compute metrics for every user, and count what may mislead.

        The result prints as the table of ``recmetrics.summary``, with notes below it.

        >>> from recmetrics import Metrics
        >>> scores, truth = [[4, 3, 2], [1, 2, 3], [2, 3, 1]], [[1, 1, 0], [0, 0, 1], [0, 1, 0]]
        >>> metrics = ["hit@1", "recall@2"]
        >>> evaluation = Metrics.evaluate(scores, truth, metrics, exclude=[[], [2], []])
        >>> evaluation.values
        {'hit@1': array([1., 0., 1.]), 'recall@2': array([1., 0., 1.])}
        >>> evaluation.counts.swallowed
        1
        >>> evaluation.notes[0]
        'exclude holds all relevant items of 1 of the 3 users with relevant items'

        Parameters
        ----------
        pred_scores, ground_truth, metrics_list
            As in ``compute``, and so are all keywords.

        Returns
        -------
        Evaluation
            ``values``, which ``compute`` returns; ``counts`` of users; ``notes``. ``to_dict`` gives
            all of it with means and intervals, for JSON. Its means weigh users as the system of
            the convention does.

        Raises
        ------
        MetricSpecError, InputError, InputTypeError, ArgumentError, UndefinedMetricError
            As in ``compute``.

        Notes
        -----
        The notes say how many relevant items ``exclude`` removes; ``compute`` warns only if these
        are most of them. They also say if a metric reads grades, such as ratings, if these may be
        sums of repeated entries, and if something else than the model may decide the ranking, such
        as candidates that are all relevant: the findings ``only_relevant``, ``sampled``,
        ``relevant_last`` and ``excluded_target`` of ``recmetrics.audit``. ``relevant_last`` needs a
        metric of whole lists, such as ``mrr`` without a cutoff. If the only relevant item of every
        row is in one column, as beside sampled negatives, they say in how many rows its score ties.
        """
        request = Request(metrics_list, **shared)
        scores = read_scores(pred_scores)
        users = read_users(scores, ground_truth, shared, request)
        selection = find_hits(scores, users, request, keeps_ideal=True)
        values = whole_values(selection, request)
        notes = notes_on_users(selection, request, users)
        specs = [definition.spec for definition in request.definitions.values()]
        is_sparse = sp.issparse(ground_truth)
        notes += how_graded(Grades.of(selection.hits.ideal), specs, is_sparse=is_sparse)
        notes += notes_of_signs(selection, users, specs)
        has_one_target = selection.hits.n_relevant.max(initial=0) == 1
        if has_one_target and not request.ties and shared.get("ties") is None:
            note = note_on_one_column(scores, users)
            if note and compute.have_expectations(metrics_list, shared):
                note += "; for the mean over all orders of equal scores, type ties='expected'"
            notes += filter(None, [note])
        if selection.n_swallowed_users:
            notes.insert(0, who_is_swallowed(*selection.swallowed()))
        policies: Any = {name: shared.get(name) for name in ("undefined", "convention", "ties")}
        user_weights = {}
        if request.weights:
            user_weights = system_weights(users, request)
        evaluation = Evaluation(
            values,
            notes=notes,
            swallowed=selection.n_swallowed_users,
            user_weights=user_weights,
            **policies,
        )
        # Not those of later, when a metric of the caller may have been declared anew.
        evaluation.origin = evaluation.origin._replace(definition=request.definitions.get)
        return evaluation
