"""``identify_table``: the definitions of a metric that give a number, of tables."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Unpack

import narwhals.stable.v2 as nw
import numpy as np

from recmetrics._identify import Identification, identify_by
from recmetrics._options import takes
from recmetrics._spec import Definition
from recmetrics._types import UserValues
from recmetrics.tables._evaluate import DEFAULTS, ListOptions, evaluate_table
from recmetrics.tables._frames import Table


@takes(ListOptions, **DEFAULTS)
def identify_table(
    recs: Table, truth: Table, value: str | float, metric: str, **options: Unpack[ListOptions]
) -> Identification:
    """Find the definitions of a metric that give a number, of a table of recommendations.

    The lists have one order, and no item is excluded from them: the definitions differ in their
    options, in the treatment of users without relevant items, and in the cutoff.

    >>> import pandas as pd
    >>> from recmetrics.tables import identify_table
    >>> recs = pd.DataFrame({"user": ["a", "a", "b"], "item": [7, 8, 7], "score": [0.9, 0.4, 0.5]})
    >>> truth = pd.DataFrame({"user": ["a", "a", "b"], "item": [8, 9, 9]})
    >>> identify_table(recs, truth, "25 %", "recall@2").matches[0].metric
    'recall@2'

    Parameters
    ----------
    recs, truth
        As in ``evaluate_table``.
    value, metric
        As in ``recmetrics.identify``.
    **options
        As in ``evaluate_table``.

    Returns
    -------
    Identification
        As in ``recmetrics.identify``.

    Raises
    ------
    MetricSpecError, InputError, InputTypeError, ArgumentError
        As in ``recmetrics.identify`` and ``evaluate_table``.
    """

    def measure(definitions: Mapping[str, Definition], _: object) -> Mapping[str, UserValues]:
        asked = [*dict.fromkeys([*definitions, "hit"])]
        native: Any = evaluate_table(recs, truth, asked, **options)
        frame: Any = nw.from_native(native, eager_only=True)
        values = {text: frame.get_column(text).to_numpy() for text in asked}
        without_truth = np.isnan(values["hit"])  # of these, sums are 0
        return {text: np.where(without_truth, np.nan, values[text]) for text in definitions}

    return identify_by(measure, value, metric, policies=["index"])
