"""``Evaluation``: the values of a call with counts and notes; it prints as their summary."""

from __future__ import annotations  # help() shows the names of types, not what they stand for

from collections.abc import Iterable, Mapping
from functools import partial
from typing import Any, NamedTuple, Unpack

import numpy as np
import numpy.typing as npt

from recmetrics._core.errors import InputError, InputTypeError, ShapeError
from recmetrics._core.inputs import InvalidItems, as_array, check_real, half_to_single
from recmetrics._core.options import one_of
from recmetrics._core.results import advice_for
from recmetrics._core.spec import read_convention
from recmetrics._core.types import Convention, FloatArray, Ties, Undefined, UserValues
from recmetrics._printing import Grid, Printed, plural
from recmetrics._report.origins import Origin, definition_of
from recmetrics._report.result_tables import noun_of, read_values
from recmetrics._report.summaries import Summary, SummaryKeywords, summary

_NO_INVALID = InvalidItems()  # no repeated and no unknown item


class EvaluationCounts(NamedTuple):
    """The number of users, and of those without a value of each metric that has one per user.

    ``swallowed`` counts the users whose relevant items are all excluded, ``invalid`` the repeated
    and unknown items of lists.
    """

    users: int
    undefined: dict[str, int]
    swallowed: int = 0
    invalid: InvalidItems = _NO_INVALID


class Evaluation(Printed):
    """The result of ``Metrics.evaluate``; it prints, also in notebooks, as its summary.

    >>> from recmetrics import Metrics
    >>> evaluation = Metrics.evaluate([[3, 2, 1], [1, 2, 3]], [[1, 0, 0], [0, 0, 0]], "hit@1")
    >>> evaluation.values
    {'hit@1': array([ 1., nan])}
    >>> evaluation.counts.users, evaluation.counts.undefined
    (2, {'hit@1': 1})
    >>> evaluation.notes
    ("to count users without a value as 0, give undefined='zero'",)

    The values of other methods become an evaluation, too:

    >>> from recmetrics import Evaluation
    >>> values = Metrics.compute_groups([3, 2, 1], [0, 1, 0], "mrr", sizes=[2, 1])
    >>> evaluation = Evaluation(values, notes=["the queries of May"], noun="query")
    >>> evaluation.to_dict()["notes"][:2]
    ['left out: 1 of 2 queries has no relevant item', 'the queries of May']

    Parameters
    ----------
    values
        Numbers for each metric string, (n_users,), or one number for a metric of all lists, as
        ``Metrics.compute`` returns them.
    notes
        A sentence, or several, to print below the table.
    swallowed, invalid
        As in ``EvaluationCounts``.
    undefined, convention, ties
        The arguments with which the values were computed.
    noun
        The word for a user in print, such as "group".
    user_weights
        The weights of users, (n_users,), in the mean of each metric whose system weighs them.

    Attributes
    ----------
    values, notes, user_weights
        The dict of the values; a tuple of sentences, also on what may mislead; the dict of weights.
    counts
        The ``EvaluationCounts`` of the call.

    Raises
    ------
    InputError, InputTypeError, ShapeError
        If ``values`` is no dict of numbers by metric strings.
    ArgumentError
        If a policy or the convention is unknown, or ``noun`` is no word.
    """

    def __init__(
        self,
        values: Mapping[str, npt.ArrayLike],
        *,
        notes: str | Iterable[str] | None = (),
        swallowed: int = 0,
        invalid: InvalidItems = _NO_INVALID,
        undefined: Undefined | None = None,
        convention: Convention | None = None,
        ties: Ties | None = None,
        noun: str = "user",
        user_weights: Mapping[str, FloatArray] | None = None,
    ) -> None:
        if undefined is not None:
            one_of("undefined", undefined, Undefined)
        if convention is not None:
            convention = read_convention(convention)
        if ties is not None:
            one_of("ties", ties, Ties)
        if isinstance(notes, str):
            notes = [notes]

        self.values = _read_values(values)
        self.noun = noun = noun_of(None, noun)
        self.user_weights = dict(user_weights or {})
        # A definition is resolved where it is asked for: a table does not need it.
        of_key = partial(definition_of, convention=convention, ties=ties, undefined=undefined)
        self.origin = Origin(convention, of_key)

        user_values = {text: array for text, array in self.values.items() if array.ndim}
        n_users = next((array.size for array in user_values.values()), 0)
        n_undefined = {}
        undefined_specs = []
        for text, array in user_values.items():
            n_undefined[text] = int(np.count_nonzero(np.isnan(array)))
            # A system that weighs users gives those without a relevant item the weight 0.
            counts_by_value = n_undefined[text] and text not in self.user_weights
            if counts_by_value and (definition := self.origin.definition(text)) is not None:
                undefined_specs.append(definition.spec)
        self.counts = EvaluationCounts(n_users, n_undefined, swallowed, invalid)
        self.notes = tuple(notes or ())
        if undefined_specs:
            self.notes += tuple(advice_for(undefined_specs, plural(noun)))

    def summary(self, **keywords: Unpack[SummaryKeywords]) -> Summary:
        """Return the means with intervals, quantiles and counts, and the notes.

        >>> from recmetrics import Metrics
        >>> scores, truth = [[3, 2, 1], [2, 3, 1]], [[1, 0, 0], [1, 0, 0]]
        >>> evaluation = Metrics.evaluate(scores, truth, "hit@1")
        >>> chance = Metrics.chance(truth, "hit@1")
        >>> summary = evaluation.summary(levels={"chance": chance}, confidence=0.9)
        >>> print(summary.to_text(width=80))
        metric    mean  chance     90 % interval     q10  median     q90  users
        ------  ------  ------  ----------------  ------  ------  ------  -----
        hit@1   0.5000  0.3333  [0.0000, 1.0000]  0.0000  0.5000  1.0000      2
        <BLANKLINE>
        90 % intervals by Student's t over users, corrected for skewness
        hit@1: fewer than 10 users are below the highest possible value, and the sample
        may lack others, so the lower end of the interval is computed with an additional
        user of the lowest possible value
        hit@1: fewer than 10 users are above the lowest possible value, and the sample
        may lack others, so the upper end of the interval is computed with an additional
        user of the highest possible value
        q10, median, q90: quantiles of the users' values

        Parameters
        ----------
        **keywords
            Keywords of ``recmetrics.summary``, such as ``levels``, ``weights`` and ``confidence``.

        Raises
        ------
        InputError, InputTypeError, ShapeError, ArgumentError
            As in ``recmetrics.summary``: also if no user has a value.
        """
        return summary(self, **keywords)

    def to_dict(self, **keywords: Unpack[SummaryKeywords]) -> dict[str, Any]:
        """As ``Summary.to_dict``, with the policies and the counts of the call.

        ``undefined`` and ``ties`` are those of each metric, ``counts`` the fields of
        ``EvaluationCounts``.

        Parameters
        ----------
        **keywords
            As in ``summary``.

        Raises
        ------
        InputError, InputTypeError, ShapeError, ArgumentError
            As in ``summary``.
        """
        policies: dict[str, dict[str, str | None]] = {"undefined": {}, "ties": {}}
        for text in self.values:
            definition = self.origin.definition(text)
            if definition is not None:
                policies["undefined"][text] = definition.undefined
                ties_in_text = text.partition("[")[2].rstrip("]")  # as in ndcg@10[least]
                policies["ties"][text] = ties_in_text or definition.ties
        counts = self.counts._asdict() | {"invalid": self.counts.invalid._asdict()}
        return {**self.summary(**keywords).to_dict(), **policies, "counts": counts}

    def _page(self) -> tuple[list[Grid], list[str]]:
        try:
            return self.summary()._page()
        except InputError as error:  # no user has a value
            return [], [str(error), *self.notes]


def _read_values(values: Mapping[str, Any]) -> dict[str, UserValues]:
    """Read what ``Metrics.compute`` returns, or the same as lists or other numbers."""
    if not isinstance(values, Mapping):
        msg = (
            f"values must be a dict of what Metrics.compute returns, got {type(values).__name__}; "
            "type Evaluation({'ndcg@10': values})"
        )
        raise InputTypeError(msg)
    arrays: dict[str, UserValues] = {}
    for text, numbers in values.items():
        if not isinstance(text, str):
            msg = f"metric {text!r} of values: names of metrics must be strings"
            raise InputError(msg)
        is_number = isinstance(numbers, int | float) or getattr(numbers, "ndim", 1) == 0
        if is_number:  # of a metric of all lists, or a mean, which is refused
            array = read_values(f"metric {text!r} of values", text, numbers)
        else:
            name = f"values[{text!r}]"
            array = as_array(numbers, name)
            check_real(array, name)
            if array.ndim > 1:
                expected = "expected one number per user, (n_users,), or ()"
                msg = f"{name} has shape {array.shape}, {expected}"
                raise ShapeError(msg)
        arrays[text] = half_to_single(array).astype(np.float64, copy=False)
    return arrays
