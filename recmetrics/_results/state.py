"""The state of an evaluator: values per user, and the lists that system metrics need.

A user has one row, which later values replace. So a user who is added twice, as by padding
distributed samplers, counts once. Sums per item could not remove the first list again.
"""

import sys
import warnings
from collections.abc import Mapping
from typing import Any, NamedTuple, get_args

import numpy as np
import numpy.typing as npt

from recmetrics._errors import ArgumentError, InputError, InputTypeError
from recmetrics._inputs import UserIndex, as_indices
from recmetrics._options import one_of
from recmetrics._results.batches import KeptLists, Waiting
from recmetrics._results.measure import settled, system_values, user_values
from recmetrics._selection import Found, exposures
from recmetrics._spec import Definition, Request, parse
from recmetrics._threads import row_blocks
from recmetrics._types import FloatArray, IntArray, Ties, Undefined, UserValues

_ADDED = 1 << 20  # items of lists read at once
_WAITING = 1 << 15, 1 << 17  # users and relevant items of batches that wait: 4 MB
_STATE = ("metrics", "specs", "undefined", "ties", "shape", "users", "values", "lists", "offered")


class NotUpdatedWarning(UserWarning):
    """Results were requested before every user was updated."""


class UserCounts(NamedTuple):
    """The number of users for whom a metric is defined, undefined and never updated."""

    defined: int
    undefined: int
    not_updated: int


class Schema(NamedTuple):
    """The metrics, policies and shape of rows of results; rows of equal schemas can be merged."""

    metrics: dict[str, str]  # the canonical string of each
    undefined: dict[str, str]
    ties: dict[str, str]
    shape: tuple[int, int]


class UserRows(NamedTuple):
    """The rows of some users, and their schema."""

    schema: Schema
    users: IntArray
    values: Any  # (metrics, users)
    lists: IntArray  # (users, width)
    offered: npt.NDArray[np.bool_]  # (n_items,)


class UserResults:
    """One value per user and metric; NaN where undefined or the user was never updated."""

    def __init__(self, request: Request, n_users: int, n_items: int) -> None:
        self.request = request
        self.n_users = n_users
        self.n_items = n_items
        self._texts = request.per_user
        self.cutoffs = request.cutoffs(n_items)
        self._depth = self.cutoffs.exposure
        self._item = np.int32 if n_items < 1 << 31 else np.int64
        definitions = request.definitions.items()
        self.schema = Schema(
            metrics={text: str(definition.spec) for text, definition in definitions},
            undefined={text: definition.undefined for text, definition in definitions},
            ties={text: definition.ties for text, definition in definitions},
            shape=(n_users, n_items),
        )
        # Only a call shows whether the weights of a callable are valid. So the first batch is
        # measured at once: it is refused together with an invalid callable.
        self._has_callable = any(
            callable(value) for _, (spec, _, _) in definitions for value in spec.values.values()
        )
        self._waiting: Waiting | None = None
        self.clear()

    def __getstate__(self) -> dict[str, Any]:
        """Measure the batches that wait, so that a copy needs no buffer."""
        self._measure()
        return self.__dict__ | {"_waiting": None}

    def clear(self) -> None:
        """Remove all users."""
        self._unchecked = self._has_callable
        if self._waiting is not None:
            self._waiting.clear()
        self._values = np.full((len(self._texts), self.n_users), np.nan)
        self.updated = np.zeros(self.n_users, np.bool_)
        self._lists = np.full((self.n_users, 0), -1, self._item)
        self._offered = np.zeros(self.n_items if self._depth else 0, np.bool_)

    def empty(self) -> "UserResults":
        """Make results of the same request without users."""
        return UserResults(self.request, self.n_users, self.n_items)

    def sink(self, n_users: int) -> KeptLists | None:
        """Make a sink for the lists of a batch; None where no system metric reads them."""
        return KeptLists(n_users, self.n_items, self._depth) if self._depth else None

    def measured(self, users: UserIndex, found: Found) -> UserRows:
        """Compute the rows of a batch of users without adding them."""
        lists, offered = self._lists_of(found)
        return UserRows(self.schema, as_indices(users), self._rows(found), lists, offered)

    def add(self, users: UserIndex, found: Found) -> None:
        """Add a batch of users; the metrics of several batches are computed together."""
        n_users, n_slots = len(found.hits.n_hits), len(found.hits.rank)
        waiting = None if self._unchecked else self._room_for(n_users, n_slots)
        if waiting is None:
            self._measure()
            self._values[:, users] = self._rows(found)
            self._unchecked = False
        else:
            waiting.append(users, found)
        if self._depth:
            self._take_lists(users, *self._lists_of(found))
        self.updated[users] = True

    def _lists_of(self, found: Found) -> tuple[IntArray, npt.NDArray[np.bool_]]:
        """The lists of a batch, and the items that may be in them."""
        kept = found.exposure
        if isinstance(kept, KeptLists):
            return kept.joined(), kept.offered
        return np.empty((len(found.hits.n_hits), 0), np.int64), np.zeros(0, np.bool_)

    def _room_for(self, n_users: int, n_slots: int) -> Waiting | None:
        """The buffer for a batch; None for a batch that is too large."""
        if self._waiting is None:
            self._waiting = Waiting(*_WAITING, ties=self.request.ties)
        if not self._waiting.fits(n_users, n_slots):
            self._measure()
        return self._waiting if self._waiting.fits(n_users, n_slots) else None

    def _measure(self) -> None:
        """Compute the metrics of the batches that wait; of a repeated user the last row counts."""
        if self._waiting is not None:
            users, found = self._waiting.joined(self.cutoffs)
            if len(users):
                self._values[:, users] = self._rows(found)
                self._waiting.clear()

    def _rows(self, found: Found) -> FloatArray:
        """The values of the user metrics, (metrics, users)."""
        values = user_values(found, self.request)
        rows = [values[text] for text in self._texts]
        return np.stack(rows) if rows else np.empty((0, len(found.hits.n_hits)))

    def take(self, part: UserRows) -> None:
        """Add rows of the same metrics; of a repeated user the last row counts."""
        self._measure()
        self._values[:, part.users] = part.values
        if self._depth:
            self._take_lists(part.users, part.lists, part.offered)
        self.updated[part.users] = True

    def _take_lists(
        self, users: UserIndex, lists: IntArray, offered: npt.NDArray[np.bool_]
    ) -> None:
        if lists.shape[1] > self._lists.shape[1]:
            wider = np.full((self.n_users, lists.shape[1]), -1, self._item)
            wider[:, : self._lists.shape[1]] = self._lists
            self._lists = wider
        self._lists[users, : lists.shape[1]] = lists
        self._lists[users, lists.shape[1] :] = -1
        self._offered |= offered

    def compute(self) -> dict[str, UserValues]:
        """Compute the values of all users, and the system metrics."""
        self._measure()
        values = {text: row.copy() for text, row in zip(self._texts, self._values, strict=True)}
        values |= self._system()
        return {
            text: settled(values[text], text, definition, self.updated)
            for text, definition in self.request.definitions.items()
        }

    def _system(self) -> dict[str, UserValues]:
        if not self._depth:
            return {}
        state = exposures(self.request, self.cutoffs)
        state.offer(slice(0, self.n_users), np.flatnonzero(self._offered))
        for block in row_blocks(self.n_users, _ADDED // max(1, self._lists.shape[1])):
            lists = self._lists[block].astype(np.int64)
            state.add(block, lists, np.count_nonzero(lists >= 0, axis=1))
        return system_values(state, self.request, self.cutoffs)

    def counts(self) -> dict[str, UserCounts]:
        """Count the users for whom each metric is defined, undefined and not updated."""
        self._measure()
        n_updated = int(np.count_nonzero(self.updated))
        missing = self.n_users - n_updated
        counts = dict.fromkeys(self.request.definitions, UserCounts(n_updated, 0, missing))
        for text, row in zip(self._texts, self._values, strict=True):
            n_defined = int(np.count_nonzero(~np.isnan(row)))
            counts[text] = UserCounts(n_defined, n_updated - n_defined, missing)
        return counts

    def warn_of_missing(self) -> None:
        """Warn of users who were never updated, in the code that called the caller."""
        missing = np.flatnonzero(~self.updated)
        if missing.size:
            msg = (
                f"{missing.size} of {self.n_users} users were never updated, the first is user "
                f"{missing[0]}; their values are NaN and no mean counts them"
            )
            warnings.warn(msg, NotUpdatedWarning, stacklevel=3)

    def part(self) -> UserRows:
        """The rows of all updated users, for another evaluator of the same metrics."""
        self._measure()
        users = np.flatnonzero(self.updated)
        return UserRows(
            self.schema, users, self._values[:, users], self._lists[users], self._offered
        )

    def merge(self, other: UserRows) -> None:
        """Add the users of another evaluator; where both have a user, its row counts."""
        for field, own, its in zip(Schema._fields, self.schema, other.schema, strict=True):
            if own != its:
                what = "users and items" if field == "shape" else field
                msg = (
                    f"evaluators of different {what} cannot be merged: {_shortly(own)} and "
                    f"{_shortly(its)}; expected the same in both"
                )
                raise ArgumentError(msg)
        self.take(other)

    def state(self) -> dict[str, npt.NDArray[Any]]:
        """Export the rows of all updated users as plain arrays."""
        for text, (spec, _, _) in self.request.definitions.items():
            if any(callable(value) for _, value in spec.options):
                msg = f"{text} holds a callable, which no array can hold; pickle the evaluator"
                raise ArgumentError(msg)
        part = self.part()
        metrics, undefined, ties, shape = self.schema
        return {
            "metrics": np.array(list(metrics), np.str_),
            "specs": np.array(list(metrics.values()), np.str_),
            "undefined": np.array(list(undefined.values()), np.str_),
            "ties": np.array(list(ties.values()), np.str_),
            "shape": np.array(shape, np.int64),
            "users": part.users,
            "values": part.values,
            "lists": part.lists,
            "offered": part.offered.copy(),
        }

    @classmethod
    def from_state(cls, state: Mapping[str, Any]) -> "UserResults":
        """Read the arrays of ``state``."""
        if not isinstance(state, Mapping):
            msg = f"state is a {type(state).__name__}; expected what Evaluator.state() gave"
            raise InputTypeError(msg)
        missing = [name for name in _STATE if name not in state]
        if missing:
            msg = f"state lacks {', '.join(missing)}; expected what Evaluator.state() gave"
            raise InputError(msg)
        fields = {name: np.asarray(state[name]) for name in _STATE}
        try:
            texts, canonical, undefined, ties = (fields[name].tolist() for name in _STATE[:4])
            definitions = {
                text: Definition(parse(spec), each_ties, each_undefined)
                for text, spec, each_ties, each_undefined in zip(
                    texts, canonical, ties, undefined, strict=True
                )
            }
            for _, each_ties, each_undefined in definitions.values():
                one_of("ties", each_ties, Ties)
                one_of("undefined", each_undefined, Undefined)
            n_users, n_items = fields["shape"].tolist()
            results = cls(Request.of(definitions), n_users, n_items)
            part = UserRows(results.schema, *(fields[name] for name in _STATE[-4:]))
            results._check(part)
        except (IndexError, TypeError, ValueError) as error:
            msg = f"state is damaged ({error}); expected what Evaluator.state() gave"
            raise InputError(msg) from None
        results.take(part)
        return results

    def _check(self, part: UserRows) -> None:
        """Refuse arrays from outside that are not rows of these metrics and users."""
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
            or bool(np.any(ends > 0)),  # kernels do not check items: none may come after the end
            "offered": part.offered.dtype != np.bool_ or part.offered.shape != self._offered.shape,
        }
        for name, is_wrong in wrong.items():
            if is_wrong:
                msg = f"{name} does not fit"
                raise ValueError(msg)


def _shortly(value: object) -> object:
    """The one policy that all metrics have, or the value unchanged."""
    policies = set(value.values()) if isinstance(value, dict) else set()
    is_policy = policies <= {*get_args(Ties), *get_args(Undefined)}
    return policies.pop() if len(policies) == 1 and is_policy else value


def gather(results: UserResults, group: Any) -> UserResults:
    """Merge the ``results`` of every process of the group, in the order of their ranks."""
    torch: Any = sys.modules.get("torch")
    distributed = None if torch is None else torch.distributed
    if distributed is None or not (distributed.is_available() and distributed.is_initialized()):
        msg = (
            "all_gather needs the processes of torch.distributed, which is not initialised; call "
            "torch.distributed.init_process_group(...) first, or use merge()"
        )
        raise ArgumentError(msg)
    if distributed.get_rank(group) < 0:
        msg = "all_gather was called by a process outside the group; expected its members alone"
        raise ArgumentError(msg)
    parts: list[Any] = [None] * distributed.get_world_size(group)
    distributed.all_gather_object(parts, results.part(), group=group)
    whole = results.empty()
    for part in parts:
        whole.merge(part)
    return whole
