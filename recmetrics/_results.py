"""What batches of users add up to: values per user, and the lists that system metrics need.

A user has one row. What is recorded later replaces what was recorded before, so a user who comes
twice, as distributed samplers pad, counts once; sums per item could not take the first list back.
"""

import warnings
from collections.abc import Mapping
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from recmetrics._errors import ArgumentError, InputError, InputTypeError
from recmetrics._itemsets import Chosen, as_indices
from recmetrics._lists import exposures, system_depth
from recmetrics._measure import Ranked, defined, measure_ranked, measure_system
from recmetrics._options import CallOptions, UserValues
from recmetrics._plan import Plan, Specs
from recmetrics._spec import parse
from recmetrics._topk import FloatArray, IntArray, TopK, empty_topk
from recmetrics._waiting import Waiting

_ADDED = 1 << 20  # items of lists read at once
_WAITING = 1 << 15, 1 << 17  # users, and relevant items of theirs, whose metrics wait: 4 MB
_STATE = (
    "metrics",
    "specs",
    "undefined",
    "convention",
    "ties",
    "shape",
    "users",
    "values",
    "lists",
    "offered",
)


class NotUpdatedWarning(UserWarning):
    """Results were asked for before every user was updated."""


class UserCounts(NamedTuple):
    """Of how many users a metric has a value."""

    defined: int
    undefined: int
    not_updated: int


class Part(NamedTuple):
    """Some users' rows, and what they are rows of."""

    of: dict[str, Any]
    users: IntArray
    values: Any  # (metrics, users)
    lists: IntArray  # (users, width)
    offered: npt.NDArray[np.bool_]  # (n_items,)


class KeptLists:
    """The lists of one batch, kept rather than added up."""

    def __init__(self, n_users: int, n_items: int, depth: int) -> None:
        self._shape = n_users, depth
        self._blocks: list[tuple[slice, IntArray, IntArray]] = []
        self.offered = np.zeros(n_items if depth else 0, np.bool_)

    def offer(self, rows: slice, items: IntArray | slice) -> None:  # noqa: ARG002
        """Note which items may be in a list; every thread writes the same value."""
        self.offered[items] = True

    def add(self, rows: slice, items: IntArray, length: IntArray) -> None:
        """Keep the lists of a block of rows."""
        self._blocks.append((rows, items, length))

    def joined(self) -> IntArray:
        """(n_users, longest) items as deep as they are read, -1 after the end of a list."""
        n_users, depth = self._shape
        width = max((int(length.max(initial=0)) for _, _, length in self._blocks), default=0)
        lists = np.full((n_users, min(depth, width)), -1, np.int64)
        for rows, items, length in self._blocks:
            width = min(lists.shape[1], items.shape[1])
            listed = np.arange(width) < length[:, np.newaxis]
            lists[rows, :width] = np.where(listed, items[:, :width], -1)
        return lists


class UserResults:
    """One row per user for each metric; NaN where it is undefined or the user never came."""

    def __init__(self, specs: Specs, n_users: int, n_items: int, options: CallOptions) -> None:
        self.plan = Plan(specs, options, n_items)
        self.specs = self.plan.specs
        self.n_users = n_users
        self.n_items = n_items
        self.options = options
        self._texts = [text for text, spec in specs.items() if spec.metric.kind != "system"]
        self._depth = system_depth(specs.values(), n_items)
        self._item = np.int32 if n_items < 1 << 31 else np.int64
        self.of = {
            "metrics": {text: str(spec) for text, spec in specs.items()},
            # Without a convention, to say "nan" or "index" and to say nothing is the same.
            "undefined": options.undefined or (None if options.convention else "nan"),
            "convention": options.convention,
            "ties": options.ties or (None if options.convention else "index"),
            "users and items": (n_users, n_items),
        }
        self._waiting: Waiting | None = None
        self.clear()

    def __getstate__(self) -> dict[str, Any]:
        """Nothing waits in a copy, so that it needs no room for it."""
        self._measure()
        return self.__dict__ | {"_waiting": None}

    def clear(self) -> None:
        """Forget all users."""
        self._first = True  # the next batch is
        if self._waiting is not None:
            self._waiting.clear()
        self._values = np.full((len(self._texts), self.n_users), np.nan)
        self.updated = np.zeros(self.n_users, np.bool_)
        self._lists = np.full((self.n_users, 0), -1, self._item)
        self._offered = np.zeros(self.n_items if self._depth else 0, np.bool_)

    def empty(self) -> "UserResults":
        """The same without users."""
        return UserResults(self.specs, self.n_users, self.n_items, self.options)

    def sink(self, n_users: int) -> KeptLists:
        """Where the lists of a batch go."""
        return KeptLists(n_users, self.n_items, self._depth)

    def measured(self, users: Chosen, ranked: Ranked, kept: KeptLists) -> Part:
        """The rows of a batch of users, not taken in."""
        return Part(self.of, as_indices(users), self._rows(ranked), kept.joined(), kept.offered)

    def record(self, start: IntArray, relevance: FloatArray, *, ties: bool) -> TopK:
        """What selection writes the hits of the next batch into."""
        waiting = self._room_for(len(start) - 1, len(relevance))
        if waiting is None:
            return empty_topk(start, relevance, ties=ties)
        return waiting.record(start, relevance)

    def add(self, users: Chosen, ranked: Ranked, kept: KeptLists) -> None:
        """Take in a batch of users; the metrics of several batches are computed together.

        The first batch's at once, so that an option that no metric can be computed with is
        refused with it.
        """
        waiting = self._room_for(len(ranked.top.n_hits), len(ranked.top.rank))
        if self._first or waiting is None:
            self._values[:, users] = self._rows(ranked)
            self._first = False
        else:
            waiting.append(users, ranked)
        if self._depth:
            self._take_lists(users, kept.joined(), kept.offered)
        self.updated[users] = True

    def _room_for(self, n_users: int, n_slots: int) -> Waiting | None:
        """Where a batch may wait; None for one that is too large."""
        if self._waiting is None:
            self._waiting = Waiting(*_WAITING, ties=self.plan.ties)
        if not self._waiting.fits(n_users, n_slots):
            self._measure()
        return self._waiting if self._waiting.fits(n_users, n_slots) else None

    def _measure(self) -> None:
        """Compute the metrics of the batches that wait for it, the later rows of a user last."""
        if self._waiting is not None:
            users, ranked = self._waiting.joined()
            if len(users):
                self._values[:, users] = self._rows(ranked)
                self._waiting.clear()

    def _rows(self, ranked: Ranked) -> FloatArray:
        """(metrics, users) the values of the user metrics."""
        values = measure_ranked(ranked, self.plan)
        rows = [values[text] for text in self._texts]
        return np.stack(rows) if rows else np.empty((0, len(ranked.top.n_hits)))

    def take(self, part: Part) -> None:
        """Take in rows of the same metrics; of a user who is in them twice the later row stands."""
        self._measure()
        self._values[:, part.users] = part.values
        if self._depth:
            self._take_lists(part.users, part.lists, part.offered)
        self.updated[part.users] = True

    def _take_lists(self, users: Chosen, lists: IntArray, offered: npt.NDArray[np.bool_]) -> None:
        if lists.shape[1] > self._lists.shape[1]:
            wider = np.full((self.n_users, lists.shape[1]), -1, self._item)
            wider[:, : self._lists.shape[1]] = self._lists
            self._lists = wider
        self._lists[users, : lists.shape[1]] = lists
        self._lists[users, lists.shape[1] :] = -1
        self._offered |= offered

    def compute(self) -> dict[str, UserValues]:
        """The values of all users, and of all lists."""
        self._measure()
        values = {text: row.copy() for text, row in zip(self._texts, self._values, strict=True)}
        values |= self._system()
        return {
            text: defined(values[text], text, spec, self.options, self.updated)
            for text, spec in self.specs.items()
        }

    def _system(self) -> dict[str, UserValues]:
        state = exposures(self.specs.values(), self.n_items)
        if self._depth:
            state.offer(slice(0, self.n_users), np.flatnonzero(self._offered))
            rows = max(1, _ADDED // max(1, self._lists.shape[1]))
            for first in range(0, self.n_users, rows):
                block = slice(first, min(first + rows, self.n_users))
                lists = self._lists[block].astype(np.int64)
                state.add(block, lists, np.count_nonzero(lists >= 0, axis=1))
        return measure_system(state, self.specs, self.n_items)

    def counts(self) -> dict[str, UserCounts]:
        """Of how many users each metric has a value."""
        self._measure()
        n_updated = int(np.count_nonzero(self.updated))
        missing = self.n_users - n_updated
        counts = dict.fromkeys(self.specs, UserCounts(n_updated, 0, missing))
        for text, row in zip(self._texts, self._values, strict=True):
            n_defined = int(np.count_nonzero(~np.isnan(row)))
            counts[text] = UserCounts(n_defined, n_updated - n_defined, missing)
        return counts

    def warn_of_missing(self) -> None:
        """Say how many users were never updated; called by what the user called."""
        missing = np.flatnonzero(~self.updated)
        if missing.size:
            msg = (
                f"{missing.size} of {self.n_users} users were never updated, the first is user "
                f"{missing[0]}; their values are NaN and no mean counts them"
            )
            warnings.warn(msg, NotUpdatedWarning, stacklevel=3)

    def part(self) -> Part:
        """The users who were updated, for another evaluator of the same metrics."""
        self._measure()
        users = np.flatnonzero(self.updated)
        return Part(self.of, users, self._values[:, users], self._lists[users], self._offered)

    def merge(self, other: Part) -> None:
        """Take in another's users; where both have a user, the other's row stands."""
        for what, own in self.of.items():
            if own != other.of[what]:
                msg = (
                    f"evaluators of different {what} cannot be merged: {own} and "
                    f"{other.of[what]}; expected the same in both"
                )
                raise ArgumentError(msg)
        self.take(other)

    def state(self) -> dict[str, npt.NDArray[Any]]:
        """All of it as plain arrays, of the users who were updated."""
        for text, spec in self.specs.items():
            if any(callable(value) for _, value in spec.options):
                msg = f"{text} holds a callable, which no array can hold; pickle the evaluator"
                raise ArgumentError(msg)
        part = self.part()
        return {
            "metrics": np.array(list(self.specs), np.str_),
            "specs": np.array([str(spec) for spec in self.specs.values()], np.str_),
            "undefined": np.array(self.of["undefined"] or "", np.str_),
            "ties": np.array(self.of["ties"] or "", np.str_),
            "convention": np.array(self.options.convention or "", np.str_),
            "shape": np.array([self.n_users, self.n_items], np.int64),
            "users": part.users,
            "values": part.values,
            "lists": part.lists,
            "offered": part.offered.copy(),
        }

    @classmethod
    def from_state(cls, state: Mapping[str, Any]) -> "UserResults":
        """What ``state`` gave."""
        if not isinstance(state, Mapping):
            msg = f"state is a {type(state).__name__}; expected what Evaluator.state() gave"
            raise InputTypeError(msg)
        missing = [name for name in _STATE if name not in state]
        if missing:
            msg = f"state lacks {', '.join(missing)}; expected what Evaluator.state() gave"
            raise InputError(msg)
        fields = {name: np.asarray(state[name]) for name in _STATE}
        try:
            texts, canonical = fields["metrics"].tolist(), fields["specs"].tolist()
            specs = {text: parse(spec) for text, spec in zip(texts, canonical, strict=True)}
            n_users, n_items = fields["shape"].tolist()
            rules: dict[str, Any] = {
                name: fields[name].item() or None for name in ("undefined", "convention", "ties")
            }
            results = cls(specs, n_users, n_items, CallOptions(**rules))
            part = Part({}, *(fields[name] for name in ("users", "values", "lists", "offered")))
            results._check(part)
        except (IndexError, TypeError, ValueError) as error:
            msg = f"state is damaged ({error}); expected what Evaluator.state() gave"
            raise InputError(msg) from None
        results.take(part)
        return results

    def _check(self, part: Part) -> None:
        """Refuse arrays that came from outside and are no rows of these metrics and users."""
        n, n_items = len(part.users), self.n_items
        ends = np.diff((part.lists >= 0).astype(np.int8), axis=1)
        wrong = {
            "users": part.users.dtype.kind not in "iu"
            or part.users.shape != (n,)
            or not np.all((part.users >= 0) & (part.users < self.n_users)),
            "values": part.values.dtype != np.float64 or part.values.shape != (len(self._texts), n),
            "lists": part.lists.dtype.kind not in "iu"
            or part.lists.shape != (n, min(part.lists.shape[1], self._depth))
            or not np.all((part.lists >= -1) & (part.lists < n_items))
            or bool(np.any(ends > 0)),  # kernels follow these items: none may come after the end
            "offered": part.offered.dtype != np.bool_ or part.offered.shape != self._offered.shape,
        }
        for name, is_wrong in wrong.items():
            if is_wrong:
                msg = f"{name} does not fit"
                raise ValueError(msg)
