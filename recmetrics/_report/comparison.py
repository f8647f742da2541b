"""``Comparison``: the numbers, their output as text, tables and pictures, and questions to them."""

from __future__ import annotations

import math
from collections.abc import Sequence
from os import PathLike
from typing import TYPE_CHECKING, Any, Literal, NamedTuple, TypeAlias, overload

import numpy as np
import numpy.typing as npt

from recmetrics._core.errors import ArgumentError, at_fault
from recmetrics._core.options import check_count, check_share, one_of
from recmetrics._core.spec import expand_cutoffs
from recmetrics._core.types import Convention
from recmetrics._printing import Grid, Printed
from recmetrics._report import comparison_pages
from recmetrics._report.bounds import MOST_USERS, POWER, bounds_of
from recmetrics._report.comparison_pages import CompactTable
from recmetrics._report.gate import Gate, judge
from recmetrics._report.movers import Movers, movers_of
from recmetrics._report.records import Compared, Frames, document, frame_of, widened_ends
from recmetrics._report.rules import PER_CENT, margin_of_share, refuse_beyond, share_beyond
from recmetrics._report.settings import check_known, read_seed, several

if TYPE_CHECKING:
    import pandas
    import polars
    import pyarrow
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

Table: TypeAlias = Literal["differences", "means"]


def _is_finite(value: Any) -> bool:
    """Say whether a value is a finite number."""
    is_number = isinstance(value, int | float | np.number) and not isinstance(value, bool)
    return is_number and bool(-math.inf < value < math.inf)


class UsersNeeded(NamedTuple):
    """The number of users who show a difference; ``Comparison.users_needed`` computes it."""

    with_value: int  # users who have a value of the metric in both models
    all_users: int  # if as large a share of them has a value, and a weight above 0


class Comparison(Compared, Printed):
    """The result of ``recmetrics.compare``; it prints as a table.

    >>> import recmetrics
    >>> old = {"ndcg@10": [0.1, 0.4, 0.2, 0.3, 0.0, 0.5]}
    >>> new = {"ndcg@10": [0.3, 0.5, 0.2, 0.6, 0.1, 0.7]}
    >>> comparison = recmetrics.compare({"old": old, "new": new}, rng=0)
    >>> [(mean["model"], mean["best"]) for mean in comparison.to_records("means")]
    [('old', False), ('new', True)]

    Attributes
    ----------
    models, levels, metrics, groups
        The names, in the order given. ``groups`` is empty without ``by=``.
    means, differences
        ``Mean`` and ``Difference`` records: first those of all users, whose ``group`` is None, then
        those of each group. Levels, such as chance, are only in ``means``.
    baseline, confidence, tests, correction, lower_is_better, n_resamples, paired_runs
        The settings of the comparison.
    """

    __slots__ = ()

    def _page(self) -> tuple[list[Grid], list[str]]:
        return comparison_pages.tables(self), comparison_pages.legend(self)

    def compact(
        self,
        metrics: str | Sequence[str] | None = None,
        *,
        groups: bool = False,
        digits: int | None = None,
    ) -> CompactTable:
        """Return the means as a table, models by metrics, with marks of significance.

        The p-values are corrected for all metrics of the comparison, even if only some are shown.

        Parameters
        ----------
        metrics
            The metrics to show, in this order; None shows all.
        groups
            True adds a table for each group of users.
        digits
            The number of decimals of the means. None shows four, or more if the means are small.

        Raises
        ------
        ArgumentError
            If the comparison does not have one of the metrics, or no groups, or ``digits`` is no
            integer >= 0.
        """
        texts = self.metrics if metrics is None else several(metrics)
        with at_fault("metrics"):
            columns = tuple(metric for text in texts for metric in expand_cutoffs(str(text)))
        for metric in columns or [columns]:  # no metric at all is refused as an unknown one
            check_known("metrics", metric, self.metrics)
        if groups and not self.groups:
            msg = (
                "the comparison has no groups to show; type by=labels in compare(...), with the "
                "label of each user"
            )
            raise ArgumentError(msg, argument="groups")
        if digits is not None:
            digits = check_count("digits", digits, 0)
        return CompactTable(
            comparison=self, metrics=columns, has_groups=bool(groups), digits=digits
        )

    def gate(
        self,
        rules: str | Sequence[str],
        *,
        min_users: int = 30,
        looks: int = 1,
        rng: int | np.random.Generator | None = 0,
    ) -> Gate:
        """Judge the models by rules for their differences to the baseline.

        >>> import recmetrics
        >>> old = {"ndcg@10": [0.1, 0.4, 0.2, 0.3, 0.0, 0.5] * 20}
        >>> new = {"ndcg@10": [0.3, 0.5, 0.2, 0.6, 0.1, 0.7] * 20}
        >>> comparison = recmetrics.compare({"old": old, "new": new}, baseline="old")
        >>> gate = comparison.gate("ndcg@10 > 0")
        >>> gate.passed, round(gate.verdicts[0].at_least, 4)
        (True, 0.1185)

        Parameters
        ----------
        rules
            One or several rules: a metric, ``>=`` or ``>`` (``<=`` or ``<`` where lower is better),
            and the margin, a number with its sign, or 0: ``"ndcg@10 >= -0.002"`` allows a loss of
            0.002, ``"recall@20 > 0"`` asks for a gain. ``"ndcg@10 >= -1%"`` allows a loss of 1 %
            of the baseline, tested by the mean of new - 0.99 old. With ``in every group``, the rule
            is judged in each group of ``by=`` in place of all users; with ``in vip``, in the group
            "vip" alone. A label with blanks stands in quotes.
        min_users
            ``in every group`` lists smaller groups and does not judge them, so the others alone
            decide. A rule that names a group judges it.
        looks
            How many times you plan to judge at most, each time with more users, planned before the
            first time. Each look has its part of 1 - confidence.
        rng
            The seed of the bootstrap; only read for several runs, with ``n_resamples`` in
            ``compare``.

        Returns
        -------
        Gate
            ``passed`` is True, False or None for an open verdict.

        Raises
        ------
        ArgumentError
            A rule that cannot be read or names no metric or group of the comparison, a margin
            without a sign or as large as the range of the metric, a margin of -100% or less where
            no value is below 0, a margin in % where the mean of the baseline is 0 or less, or no
            baseline among several models.

        Notes
        -----
        A rule holds if the lower bound of the paired differences, at the confidence of the
        comparison, is above the margin (or equal to it, with ``>=``); it fails if the upper bound
        is below it; otherwise it is open.
        The bounds are those of ``compare``, one-sided, and always count one more user at the end of
        the range of the metric: if 10 % of all users lose, a sample of 30 may contain none of them.
        So a rule stays open with few users, even for equal models. With weights, the bound uses the
        linearised variance, and the skewness of the differences is multiplied by mean(w^3) /
        mean(w^2)^1.5. With several runs, the variance over runs is added; with ``n_resamples`` in
        ``compare``, the nested bootstrap counts where its bound is wider. A bound that is not
        defined, as of values without spread and of unknown range, leaves the rule open.

        All rules must hold, which is an intersection-union test: its level is that of one rule
        (Berger: Multiparameter hypothesis testing and acceptance sampling, Technometrics 1982). One
        failing rule suffices, so these bounds are corrected by Holm over rules and groups. Several
        candidates share the risk, 1 - confidence, since any that passes may be chosen. The value of
        a metric of all lists is compared as it is.
        """
        with at_fault("rules"):
            return judge(self, rules, min_users=min_users, looks=looks, seed=read_seed(rng))

    def users_needed(
        self,
        metric: str,
        difference: float | str,
        *,
        power: float = POWER,
        margin: float | str | None = None,
        model: str | None = None,
        against: str | None = None,
    ) -> UsersNeeded:
        """Compute how many users a comparison needs to show a true difference of this size.

        A difference is shown if the interval at the confidence of the comparison leaves out 0, or,
        with ``margin``, if the rule of a gate holds. The interval is not corrected for the number
        of tests; for m of them (metrics x pairs), ``compare(..., confidence=1 - 0.05 / m)`` is
        safe. The spread of the differences, and the shares of users who gain and who lose, are
        taken to be those of these users. Give the least difference that would matter. Do not give
        the observed difference: the number computed from it only repeats what its p-value says.

        Parameters
        ----------
        metric, difference
            The metric, and the size of the true difference: a number, such as 0.01, or a share of
            the old mean, such as "1%"; 0 only with ``margin``.
        power
            The probability that it is then shown.
        margin
            The margin of a gate's rule for all users, one new model and one look: -0.003 for
            "ndcg@10 >= -0.003", "-1%" for "ndcg@10 >= -1%". The number of users is then computed
            from the bounds of the gate in place of the interval.
        model, against
            The pair; not needed if the comparison has one.

        Returns
        -------
        UsersNeeded
            The number of users with a value of the metric, and with ``weights`` a weight above 0;
            and the number of all users, if the same share of them has these.

        Raises
        ------
        ArgumentError
            If the pair or metric is not in the comparison, if a model of the pair has several runs,
            if no user has a value for both models, if the true difference breaks the rule with
            ``margin``, if the differences have no spread (with ``margin``, only where the range of
            the metric is not known), or if more than 10^15 users are needed.
        """
        pair = self._pair(model, against)
        check_known("metric", metric, self.metrics)
        if metric in self.samples.system:
            msg = f"{metric} is one value of all lists; expected a metric with a value of each user"
            raise ArgumentError(msg, argument="metric")
        for name in pair:
            if name in self.n_runs:
                msg = (
                    f"{name!r} has {self.n_runs[name]} runs, and more users do not reduce the "
                    "variation between runs; to plan users alone, compare one run of each model"
                )
                raise ArgumentError(msg)
        if not self.samples.of(None, metric, *pair).n_users:
            msg = f"no user has a value of {metric} for both {pair[0]!r} and {pair[1]!r}"
            raise ArgumentError(msg)

        with at_fault("difference"):
            difference = self._read_difference(
                metric, difference, pair, may_be_0=margin is not None
            )
        power = check_share("power", power, 0.5)
        # The difference beyond a margin is new - share x old - offset, as that of a rule.
        share = 1.0
        offset = 0.0
        if margin is not None:
            margin, share, offset = self._read_margin(metric, margin, pair)

        differences = self.samples.of(None, metric, *pair, share)
        limits = self.samples.limits(metric).of_difference(share)
        with np.errstate(all="ignore"):  # of squares that overflow
            sides = differences.sides(0.0, 0.0)
        # Without spread, the added user of a gate bounds the mean, where its value is known.
        has_range = margin is not None and bool(np.isfinite(limits.floor))
        if sides is None or not (sides[0].squares > 0 or has_range):
            msg = f"the differences of {metric} have no spread, from which the users are computed"
            raise ArgumentError(msg)
        moments, n_lose, n_gain = sides

        if margin is None:
            size = abs(difference)
            alpha = (1 - self.confidence) / 2
            bounds = bounds_of(moments, limits, n_lose, n_gain)
            plans = list(bounds.plans())
        else:
            size = self._beyond_margin(metric, difference, margin)
            alpha = 1 - self.confidence
            bounds = bounds_of(moments, limits.moved(-offset))
            lower, upper = bounds.plans()
            plans = [upper if metric in self.lower_is_better else lower]

        n_users = 0  # who are enough for both sides
        for plan in plans:
            n_equal = plan.users(size, alpha, power)
            if n_equal is None:
                msg = (
                    f"a difference of {difference!r} needs more than {MOST_USERS:.0e} users; give "
                    "one that would matter, such as 0.01"
                )
                raise ArgumentError(msg)
            n_users = max(n_users, bounds.users_for(n_equal))
        n_defined = differences.n_users
        n_all = n_defined + differences.n_undefined + (self.samples.n_weightless or 0)
        all_users = -(-n_users * n_all // n_defined)  # rounded up
        return UsersNeeded(n_users, all_users)

    def _read_difference(
        self, metric: str, difference: float | str, pair: tuple[str, str], *, may_be_0: bool
    ) -> float:
        """Read a true difference, a number or text in % of the old mean, with or without a sign."""
        subject = f"difference={difference!r}"
        value = difference
        if isinstance(difference, str):
            text = difference.strip()
            if not text.startswith(("+", "-")):
                text = f"+{text}"
            if per_cent := PER_CENT.fullmatch(text):
                share = float(per_cent[1]) / 100
                value = margin_of_share(share, self.samples, None, metric, pair, subject)
        if isinstance(value, str) or not _is_finite(value) or (value == 0 and not may_be_0):
            nonzero = "" if may_be_0 else " other than 0"
            msg = (
                f"difference must be a finite number{nonzero}, such as 0.01, or a share of the old "
                f"mean, such as '1%', got {difference!r}"
            )
            raise ArgumentError(msg)
        refuse_beyond(self.samples.limits(metric), metric, value, subject)
        return float(value)

    def _read_margin(
        self, metric: str, margin: float | str, pair: tuple[str, str]
    ) -> tuple[float, float, float]:
        """Read a margin, a number or text in %: the number, and its share and offset."""
        if isinstance(margin, str) and (per_cent := PER_CENT.fullmatch(margin)):
            share = float(per_cent[1]) / 100
            if too_large := share_beyond(self.samples.limits(metric), metric, share):
                msg = f"margin={margin!r} is {too_large}"
                raise ArgumentError(msg, argument="margin")
            with at_fault("margin"):
                number = margin_of_share(
                    share, self.samples, None, metric, pair, f"margin={margin!r}"
                )
            return number, 1 + share, 0.0
        if not _is_finite(margin):
            msg = f"margin must be a number, such as -0.01, or text such as '-1%', got {margin!r}"
            raise ArgumentError(msg, argument="margin")
        number = float(margin)
        with at_fault("margin"):
            refuse_beyond(self.samples.limits(metric), metric, number, f"margin={margin!r}")
        return number, 1.0, number

    def _beyond_margin(self, metric: str, difference: float, margin: float) -> float:
        """How far a true difference is beyond the margin of a rule; refuse one that is not."""
        direction = -1 if metric in self.lower_is_better else 1
        if not 0 < (difference - margin) * direction < np.inf:
            sign, side = (">=", "below") if direction > 0 else ("<=", "above")
            msg = (
                f"a true difference of {difference:g} breaks the rule '{metric} {sign} "
                f"{margin!r}'; expected a margin {side} {difference:g}"
            )
            raise ArgumentError(msg, argument="margin")
        return float(difference - margin) * direction

    def movers(
        self,
        metric: str,
        n: int = 10,
        *,
        model: str | None = None,
        against: str | None = None,
        users: npt.ArrayLike | Sequence[Any] | None = None,
    ) -> Movers:
        """Find the users whom a model helps and hurts most.

        >>> import recmetrics
        >>> old, new = {"mrr": [0.5, 1.0, 0.2]}, {"mrr": [1.0, 0.5, 0.3]}
        >>> comparison = recmetrics.compare({"old": old, "new": new})
        >>> movers = comparison.movers("mrr", users=["a", "b", "c"])
        >>> [(mover.user, round(mover.difference, 2)) for mover in movers.gains + movers.losses]
        [('a', 0.5), ('c', 0.1), ('b', -0.5)]

        Parameters
        ----------
        metric, n
            A metric of users, and the number of users of each kind.
        model, against
            As in ``users_needed``.
        users
            The ids of all users, in the order of the results: an array, a list or a Series, whose
            index is not read. None takes the ids of data frames. Arrays have no ids: a user is then
            a row number, from 0.

        Returns
        -------
        Movers
            ``gains`` and ``losses`` are its records.

        Raises
        ------
        ArgumentError, InputTypeError, ShapeError
            If the metric or pair is not in the comparison, or the ids are not of all users.
        """
        check_known("metric", metric, self.metrics)
        pair = self._pair(model, against)
        return movers_of(self, metric, n, pair, users)

    def _pair(self, model: str | None, against: str | None) -> tuple[str, str]:
        """The one pair of models that was compared and fits the names given; None fits any."""
        pairs = list(dict.fromkeys((record.model, record.against) for record in self.differences))
        fitting = [
            (new, old) for new, old in pairs if model in (None, new) and against in (None, old)
        ]
        if len(fitting) != 1:
            choices = " or ".join(f"model={new!r}, against={old!r}" for new, old in pairs)
            if (against, model) in pairs:
                choices = f"model={against!r}, against={model!r}, whose difference has this order"
            msg = f"model={model!r}, against={against!r} is not one pair; type {choices}"
            raise ArgumentError(msg)
        return fitting[0]

    def to_records(self, table: Table = "differences") -> list[dict[str, Any]]:
        """Return a dict of plain values for each row of ``table``, "differences" or "means"."""
        one_of("table", table, Table)
        return [record.as_dict() for record in getattr(self, table)]

    @overload
    def to_frame(self, table: Table = ..., *, backend: Literal["pandas"]) -> pandas.DataFrame: ...

    @overload
    def to_frame(self, table: Table = ..., *, backend: Literal["polars"]) -> polars.DataFrame: ...

    @overload
    def to_frame(self, table: Table = ..., *, backend: Literal["pyarrow"]) -> pyarrow.Table: ...

    @overload
    def to_frame(self, table: Table = ..., *, backend: Frames | None = None) -> Any: ...

    def to_frame(self, table: Table = "differences", *, backend: Frames | None = None) -> Any:
        """Return a table as a data frame.

        Parameters
        ----------
        table
            "differences" or "means".
        backend
            "pandas", "polars" or "pyarrow". None uses the first of these that is installed.

        Raises
        ------
        ArgumentError
            If the package is not installed.
        """
        return frame_of(self.to_records(table), backend)

    def to_dict(self, convention: Convention | None = None) -> dict[str, Any]:
        """As ``Summary.to_dict``, with the differences of the models."""
        return document(
            self,
            self.metrics,
            self.samples.origin,
            convention,
            means=self.to_records("means"),
            differences=self.to_records(),
            widened=widened_ends(self.means),
            widened_differences=widened_ends(self.differences),
            notes=comparison_pages.legend(self),
        )

    def to_latex(self) -> str:
        r"""Write LaTeX tables and their legend: models by metrics, then the differences.

        The models have a table for all users, and one for each group.
        The best means are bold. Superscripts name the models that a model is significantly better
        than. Needs ``\usepackage{booktabs}``.
        """
        return comparison_pages.to_latex(self)

    def plot(
        self,
        target: str | PathLike[str] | Axes | None = None,
        *,
        table: Table = "differences",
        x: str | None = None,
        y: str | None = None,
    ) -> Figure:
        """Draw means and differences with their intervals, also of groups.

        A metric with three cutoffs or more is drawn as a curve over k, with bands for the
        intervals and dots at significant differences. On axes, only if it is the only metric.
        With ``x`` and ``y``, one metric is drawn against another.

        Parameters
        ----------
        target
            A file name (.png, .pdf, .svg): the figure is written to this file. It has a row for
            each metric, with means on the left and differences on the right. Matplotlib axes: one
            table of all metrics and all users is drawn on them. None: the figure is only returned.
        table
            The table to draw if ``target`` is matplotlib axes.
        x, y
            Two metrics, such as "ndcg@10" and "coverage@10": each model is a point, its intervals
            are a cross.

        Returns
        -------
        matplotlib.figure.Figure

        Raises
        ------
        ArgumentError
            If matplotlib is not installed, or ``target`` is of another kind; if one of ``x`` and
            ``y`` is missing, or is no metric of the comparison.
        """
        from recmetrics._report.plots import draw, draw_against

        one_of("table", table, Table)
        if x is not None or y is not None:
            check_known("x", x, self.metrics)
            check_known("y", y, self.metrics)
            return draw_against(
                self.means,
                (str(x), str(y)),
                self.lower_is_better,
                self.models,
                self.levels,
                comparison_pages.legend_of_means(self, (str(x), str(y))),
                target,
            )
        notes = comparison_pages.plot_legend(self)
        if not {*self.metrics} <= self.untested:  # else there are curves without dots alone
            notes.append("filled dot: the best mean, or a significant difference")
        return draw(self.means, self.differences, self.models, self.levels, notes, target, table)
