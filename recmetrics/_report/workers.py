"""``ValueReader``: values in data frames of some users each -> sums, which join to those of all."""

from __future__ import annotations

from functools import reduce
from typing import Any, NamedTuple, Self

from recmetrics._core.errors import ArgumentError, InputError, warn
from recmetrics._report.merged import ValueSums
from recmetrics._report.result_tables import Columns, Table, read_columns, read_table, spec_if_known
from recmetrics._report.samples import read_samples, tables_of_models
from recmetrics._report.summaries import read_models


class ValueReader(NamedTuple):
    """How the values in frames are read and summed, some users at a time."""

    columns: Columns
    by: str | None
    weights: str | None
    is_paired: bool  # every model has the same users
    models: tuple[str, ...] = ()  # those of all users, which have values of each if paired

    @classmethod
    def of(cls, metrics: Any, model: Any, by: Any, weights: Any, *, is_paired: bool) -> Self:
        """Read the arguments of ``compare`` that name columns."""
        for argument, column in (("by", by), ("weights", weights)):
            if not isinstance(column, str | None):
                kind = type(column).__name__
                msg = f"{argument} must be the name of a column of values, got a {kind}"
                raise ArgumentError(msg, argument=argument)
        return cls(read_columns(metrics, model, by, weights), by, weights, is_paired)

    def user_columns(self, head: Any) -> tuple[str, ...]:
        """Find the columns that identify a user, in a frame without rows; refuse other columns.

        Weights of the system of a convention are said to be left out.
        """
        table = self._read(head)
        if self.is_paired:
            table.require_model()
        if not table.keys:
            msg = "values has no column that identifies the user; expected one, such as 'user'"
            raise InputError(msg, argument="values")
        specs = {name: spec_if_known(name) for name in table.values}
        of_all_lists = [name for name, spec in specs.items() if spec and not spec.metric.per_user]
        if of_all_lists:
            others = [name for name in table.values if name not in of_all_lists]
            msg = (
                f"{of_all_lists[0]} has one value for all lists, not one per user; type "
                f"metrics={others}"
            )
            raise ArgumentError(msg, argument="metrics")
        if table.user_weights:
            warn(
                f"means of {', '.join(table.user_weights)} weigh all users equally: Spark does not "
                "apply the weights of the system of a convention; recmetrics.compare and "
                "recmetrics.summary of values.toPandas() do",
                argument="values",
            )
        return table.keys

    def model_columns(self, head: Any) -> tuple[str, ...]:
        """Find the columns that name the model, in a frame without rows."""
        return self._read(head).model

    def with_models(self, rows: Any) -> Self:
        """Take the models of a frame that has a row of each for those of all users."""
        return self._replace(models=tuple(self._read(rows).rows_by_model()))

    def sums(self, frame: Any) -> ValueSums:
        """Sum the values of a frame that has all rows of its users."""
        table = self._read(frame)
        if self.is_paired:
            tables = tables_of_models(table, self.models)
            models = [read_samples(tables, {}, self.by, self.weights, self.columns, is_part=True)]
        else:
            models = read_models(table, self.by, self.weights, self.columns, is_part=True)
        return reduce(ValueSums.joined, map(ValueSums.of, models))

    def _read(self, frame: Any) -> Table:
        forms = "a data frame with a row for each list and a float column per metric"
        return read_table("values", frame, self.columns, forms)
