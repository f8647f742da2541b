"""The state of an evaluator: values per user, and the lists that metrics of all lists need.

A user has one row, which later values replace. So a user who is added twice, as by distributed
samplers that pad, counts once. This needs the lists of each user: sums per item could not remove
the first list again.

A batch is added by one statement, which appends it to a log. Writing the log into the rows can be
repeated: where it is interrupted, the next caller writes them again. So an interrupted or failed
call has added a batch as a whole, or not at all.
"""

import copy
import sys
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from itertools import groupby
from typing import Any, NamedTuple, Protocol, TypeVar, cast, get_args

import numpy as np
import numpy.typing as npt

from recmetrics._errors import ArgumentError, InputError, InputTypeError, RecmetricsWarning, warn
from recmetrics._inputs import InvalidItems, UserIndex, Users, as_indices, digests_of, n_chosen
from recmetrics._options import one_of
from recmetrics._results.batches import Added, KeptLists, item_dtype, joined
from recmetrics._results.measure import settled, system_values, user_rows
from recmetrics._selection import Found, exposures
from recmetrics._spec import LEAST, NUMBERS, Definition, Request, parse
from recmetrics._threads import Exclusive, cached_property, exclusive, row_blocks, surely
from recmetrics._types import (
    BoolArray,
    FloatArray,
    IntArray,
    NaNPolicy,
    TiePolicy,
    Undefined,
    UserValues,
)

_ADDED = 1 << 20  # items of lists read at once
# Users, relevant items, and bytes of lists, of batches that wait: 8 MB together.
WAITING = 1 << 15, 1 << 17, 1 << 22
MOST = 256  # batches that wait; the arrays of one take a kilobyte without any user
_NAMES = ("metrics", "specs", "undefined", "ties", "nan", "data")


class NotUpdatedWarning(RecmetricsWarning):
    """Results were requested although some users were never updated."""


class UserCounts(NamedTuple):
    """The number of users for whom a metric is defined, undefined and never updated."""

    defined: int
    undefined: int
    not_updated: int


class Schema(NamedTuple):
    """The metrics, policies, data and shape of results; rows of equal schemas can be merged."""

    metrics: dict[str, str]  # the canonical string of each
    undefined: dict[str, str]
    ties: dict[str, str]
    nan: str
    shape: tuple[Any, ...]  # users and items, or what a stream keeps and its items
    data: dict[str, str]  # a hash of the truth, of the other sets and of the side information

    @property
    def is_range(self) -> bool:
        """True with the keys of ``ties="range"``."""
        return any(key.endswith(LEAST) for key in self.metrics)

    def check_same(self, other: "Schema") -> None:
        """Refuse the schema of another evaluator whose rows cannot be merged into these."""
        if self.is_range != other.is_range:
            own, its = ("range" if each.is_range else _shortly(each.ties) for each in (self, other))
            msg = (
                f"evaluators of different ties cannot be merged: {own} and {its}; expected the "
                "same in both"
            )
            raise ArgumentError(msg)
        for name, own, its in zip(self._fields, self, other, strict=True):
            if name != "data" and own != its:
                what = "users and items" if name == "shape" else name
                msg = (
                    f"evaluators of different {what} cannot be merged: {_shortly(own)} and "
                    f"{_shortly(its)}; expected the same in both"
                )
                raise ArgumentError(msg)
        for name in self.data | other.data:
            if self.data.get(name) != other.data.get(name):
                msg = f"evaluators of different {name} cannot be merged; expected the same in both"
                raise ArgumentError(msg)


class UserRows(NamedTuple):
    """The rows of some users."""

    users: IntArray
    values: FloatArray  # (metrics, users)
    lists: IntArray  # (users, width)
    offered: BoolArray  # (n_items,)
    invalid: IntArray | None = None  # (2, users) repeats and unknown items


@dataclass
class _Table:
    """The rows of all users."""

    values: FloatArray  # (metrics, users) NaN where undefined or never updated
    updated: BoolArray  # (users,)
    lists: IntArray  # (users, width)
    offered: BoolArray  # (n_items,)
    invalid: IntArray | None = None  # (2, users) repeats and unknown items, where there were any

    def copy(self) -> "_Table":
        return copy.deepcopy(self)


@dataclass
class _Kept:
    """All that changes: the rows of all users, and the batches not yet written into them."""

    table: _Table | None = None  # made when it is first needed: ``from_state`` only reads
    next_user: int = 0
    log: list[Added] = field(default_factory=list)
    busy: bool = False  # the log is being written; only a signal handler can find it true
    has_merged: bool = False  # users that no batch named may have been updated

    def copy(self) -> "_Kept":
        table = None if self.table is None else self.table.copy()
        return _Kept(table, self.next_user, self.log.copy(), has_merged=self.has_merged)


class UserResults(Exclusive):
    """One value per user and metric; NaN where undefined or the user was never updated."""

    def __init__(
        self, request: Request, n_users: int, n_items: int, data: Users | dict[str, str]
    ) -> None:
        super().__init__()
        self.request = request
        self.n_users = n_users
        self.n_items = n_items
        self._data = data
        self._texts = request.per_user
        self.cutoffs = request.cutoffs(n_items)
        self._depth = self.cutoffs.exposure
        self._item = item_dtype(n_items)  # of kept lists
        # A batch with an invalid callable is refused, so it must not wait.
        self._has_callable = request.has_callable
        self._kept = _Kept()

    @cached_property
    def schema(self) -> Schema:
        """The schema that an evaluator must share for its rows to be merged."""
        data = digests_of(self._data) if isinstance(self._data, Users) else self._data
        return schema_of(self.request, (self.n_users, self.n_items), data)

    @exclusive
    def __getstate__(self) -> dict[str, Any]:
        self._settled()
        # A copy: pickling goes on when the lock is free again.
        return super().__getstate__() | {"_kept": self._kept.copy()}

    @exclusive
    def clear(self) -> None:
        """Remove all users."""
        self._kept = _Kept()

    def empty(self) -> "UserResults":
        """Make results of the same request without users."""
        return UserResults(self.request, self.n_users, self.n_items, self.schema.data)

    @property
    def next_user(self) -> int:
        """The first row of the next batch where it does not name its users."""
        kept = self._kept
        log = kept.log[-1:]  # another thread may empty it
        return log[0].next_user if log else kept.next_user

    @property
    def updated(self) -> BoolArray:
        """True for the users who were updated, (n_users,)."""
        return self._settled().updated

    def is_merged(self, users: slice) -> bool:
        """Say whether any of the users was updated in an evaluator that was merged."""
        return self._kept.has_merged and bool(self.updated[users].any())

    def sink(self, n_users: int) -> KeptLists | None:
        """Make a sink for the lists of a batch; None where no metric of all lists reads them."""
        return KeptLists(n_users, self.n_items, self._depth) if self._depth else None

    def measured(self, users: UserIndex, found: Found) -> UserRows:
        """Compute the rows of a batch of users without adding them."""
        rows = user_rows(found, self.request)
        return UserRows(as_indices(users), rows, *lists_of(found), found.invalid)

    def add(self, users: UserIndex, found: Found, *, in_order: bool) -> None:
        """Add a batch of users; the metrics of several batches are computed together.

        A batch ``in_order`` follows the one before it, which must not have changed since its users
        were chosen.
        """
        lists, offered = lists_of(found)
        lists = lists.astype(self._item)
        size = len(found.hits.n_hits), len(found.hits.rank), lists.nbytes
        values: Any = found._replace(exposure=None)
        if self._has_callable or not fits(size):
            values = user_rows(found, self.request)
        batch = Added(users, values, lists, offered, found.invalid, 0, size)
        self._append(batch, moves=n_chosen(users) > 0, in_order=in_order)

    @exclusive
    def _append(self, batch: Added, *, moves: bool, in_order: bool = False) -> None:
        """Append a batch to the log, by the last line; ``moves`` where the next rows follow it."""
        kept = self._kept
        for last in kept.log[-1:]:  # which a signal handler may empty meanwhile
            size = [own + waiting for own, waiting in zip(batch.waiting, last.waiting, strict=True)]
            if np.array_equal(batch.offered, last.offered) if self._depth else True:
                offered = last.offered  # one array for all
            else:
                offered = batch.offered
                size[-1] += offered.nbytes
            both_wait = isinstance(batch.values, Found) and isinstance(last.values, Found)
            if both_wait and fits(size, len(kept.log) + 1):
                batch = batch._replace(waiting=tuple(size), offered=offered)
            elif not kept.busy:
                self._settled()
        next_user = self.next_user
        if in_order and isinstance(batch.users, slice) and batch.users.start != next_user:
            msg = (
                "another thread updated this evaluator during this update, so the next users are "
                "not known; give users= if several threads update one evaluator"
            )
            raise ArgumentError(msg)
        if moves:
            users = batch.users
            next_user = users.stop if isinstance(users, slice) else int(users[-1]) + 1
        kept.log.append(batch._replace(next_user=next_user))

    @exclusive
    def _settled(self) -> _Table:
        """The rows of all users, with the log written into them."""
        kept = self._kept
        if kept.busy:  # a signal handler asks, in the middle of ``_written``
            kept = kept.copy()

        def end() -> None:
            kept.busy = False

        return surely(lambda: self._written(kept), end)

    def _written(self, kept: _Kept) -> _Table:
        """Write the log into the rows; of a user the last row counts."""
        kept.busy = True
        if kept.table is None:
            kept.table = _Table(
                values=np.full((len(self._texts), self.n_users), np.nan),
                updated=np.zeros(self.n_users, np.bool_),
                lists=np.empty((self.n_users, 0), self._item),
                offered=np.zeros(self.n_items if self._depth else 0, np.bool_),
            )
        table, log = kept.table, kept.log.copy()
        # The metrics of batches that wait are computed together, those of another were before.
        for _, together in groupby(log, lambda each: isinstance(each.values, Found) or id(each)):
            added = list(together)
            users, values = added[0].users, added[0].values
            if isinstance(values, Found):
                users = added[0].users if len(added) == 1 else _all_users(added)
                values = user_rows(joined([batch.values for batch in added]), self.request)
            for batch in added:
                if self._depth:
                    _write_lists(table, batch)
                _write_invalid(table, batch)
            table.values[:, users] = values
            table.updated[users] = True
        if log:
            kept.next_user = log[-1].next_user
            del kept.log[: len(log)]  # a signal handler may have added more
        return table

    def take(self, part: UserRows, metrics: Iterable[str] | None = None) -> None:
        """Add rows of the same ``metrics``, if in another order; the last row of a user counts."""
        users, values, lists, offered, invalid = part
        if metrics is not None:
            values = values[places_of(self._texts, metrics)]
        self._kept.has_merged = True
        self._append(Added(users, values, lists, offered, invalid, 0, (0, 0, 0)), moves=False)

    @exclusive
    def compute(self) -> dict[str, UserValues]:
        """Compute the values of all users, and the metrics of all lists."""
        table = self._settled()
        values = {text: row.copy() for text, row in zip(self._texts, table.values, strict=True)}
        values |= self._system(table)
        return {
            text: settled(values[text], text, definition, table.updated)
            for text, definition in self.request.definitions.items()
        }

    def _system(self, table: _Table) -> dict[str, UserValues]:
        if not self._depth:
            return {}
        state = exposures(self.request, self.cutoffs)
        state.offer(np.flatnonzero(table.offered))
        for block in row_blocks(self.n_users, _ADDED // max(1, table.lists.shape[1])):
            lists = table.lists[block].astype(np.int64)
            state.add(block, lists, np.full(len(lists), lists.shape[1]))
        return system_values(state, self.request, self.cutoffs)

    @exclusive
    def counts(self) -> dict[str, UserCounts]:
        """Count the users for whom each metric is defined, undefined and not updated."""
        table = self._settled()
        n_updated = int(np.count_nonzero(table.updated))
        missing = self.n_users - n_updated
        counts = dict.fromkeys(self.request.definitions, UserCounts(n_updated, 0, missing))
        for text, row in zip(self._texts, table.values, strict=True):
            n_defined = int(np.count_nonzero(~np.isnan(row)))
            if self.request.definitions[text].undefined in NUMBERS:
                n_defined = n_updated
            counts[text] = UserCounts(n_defined, n_updated - n_defined, missing)
        return counts

    @exclusive
    def invalid_items(self) -> InvalidItems:
        """Count the invalid items in the rankings of all users."""
        invalid = self._settled().invalid
        return InvalidItems() if invalid is None else InvalidItems.of(invalid)

    def warn_of_missing(self) -> None:
        """Warn of users who were never updated, in the code that called the caller."""
        missing = np.flatnonzero(~self.updated)
        if missing.size:
            msg = (
                f"{missing.size} of {self.n_users} users were never updated, the first is user "
                f"{missing[0]}; their values are NaN, and means leave them out"
            )
            warn(msg, NotUpdatedWarning)

    @exclusive
    def part(self) -> UserRows:
        """The rows of all updated users, for another evaluator of the same metrics."""
        table = self._settled()
        users = np.flatnonzero(table.updated)
        return UserRows(
            users,
            table.values[:, users],
            table.lists[users],
            table.offered.copy(),
            None if table.invalid is None else table.invalid[:, users],
        )

    def check_same(self, other: Schema) -> None:
        """Refuse the schema of another evaluator whose rows cannot be merged into these."""
        self.schema.check_same(other)

    def state(self) -> dict[str, npt.NDArray[Any]]:
        """Export the rows of all updated users as plain arrays."""
        named = named_arrays(self.schema, self.request)
        shape = np.array(self.schema.shape, np.int64)
        part = self.part()
        if part.invalid is None:
            part = part._replace(invalid=np.zeros((2, len(part.users)), np.int64))
        return {**named, "shape": shape, **part._asdict()}

    @classmethod
    def from_state(cls, state: Mapping[str, Any]) -> "UserResults":
        """Read the arrays of ``state``."""
        with reading_state(state, ("shape", *UserRows._fields), "Evaluator") as (fields, named):
            n_users, n_items = fields["shape"].tolist()
            results = cls(named.request, n_users, n_items, named.data)
            part = UserRows(*(fields[name].copy() for name in UserRows._fields))
            results._check(part)
        results.take(part)
        return results

    def _check(self, part: UserRows) -> None:
        """Refuse arrays from outside that are not rows of these metrics and users."""
        n, n_items = len(part.users), self.n_items
        wrong = {
            "shape": not (
                type(self.n_users) is type(n_items) is int and self.n_users >= 0 <= n_items
            ),
            "users": part.users.dtype.kind not in "iu"
            or part.users.shape != (n,)
            or not np.all((part.users >= 0) & (part.users < self.n_users)),
            "values": part.values.dtype != np.float64 or part.values.shape != (len(self._texts), n),
            "lists": part.lists.dtype.kind not in "iu"
            or part.lists.shape != (n, min(part.lists.shape[1], self._depth))
            # Kernels do not check items; at -1 a rank has none.
            or not np.all((part.lists >= -1) & (part.lists < n_items)),
            "offered": part.offered.dtype != np.bool_
            or part.offered.shape != (n_items if self._depth else 0,),
            "invalid": part.invalid is not None
            and (
                part.invalid.dtype.kind not in "iu"
                or part.invalid.shape != (2, n)
                or bool(np.any(part.invalid < 0))
            ),
        }
        for name, is_wrong in wrong.items():
            if is_wrong:
                msg = f"{name} does not fit"
                raise ValueError(msg)


def named_arrays(schema: Schema, request: Request) -> dict[str, npt.NDArray[Any]]:
    """The metrics, policies and hashes of a schema as plain arrays."""
    for text, (spec, _, _) in request.definitions.items():
        if any(callable(value) for _, value in spec.options):
            msg = (
                f"{text} has a callable as an option, which arrays cannot hold; pickle the "
                "evaluator instead, with a function that a module defines, not a lambda"
            )
            raise ArgumentError(msg)
    return {
        "metrics": np.array(list(schema.metrics), np.str_),
        "specs": np.array(list(schema.metrics.values()), np.str_),
        "undefined": np.array(list(schema.undefined.values()), np.str_),
        "ties": np.array(list(schema.ties.values()), np.str_),
        "nan": np.array(schema.nan, np.str_),
        "data": np.array(list(schema.data.items()), np.str_),
    }


class Named(NamedTuple):
    """The request and the hashes that ``named_arrays`` exports."""

    request: Request
    data: dict[str, str]


@contextmanager
def reading_state(
    state: Mapping[str, Any], names: Iterable[str], of: str
) -> Iterator[tuple[dict[str, npt.NDArray[Any]], Named]]:
    """Read what ``state`` of the class ``of`` gave; an error says what is wrong with it."""
    expected = f"expected what {of}.state() gave"
    if not isinstance(state, Mapping):
        msg = f"state is a {type(state).__name__}; {expected}"
        raise InputTypeError(msg)
    names = (*_NAMES, *names)
    missing = [name for name in names if name not in state]
    if missing:
        msg = f"state lacks {', '.join(missing)}; {expected}"
        raise InputError(msg)
    try:
        fields = {name: np.asarray(state[name]) for name in names}
        yield fields, _named(fields)
    except (IndexError, OverflowError, RuntimeError, TypeError, ValueError) as error:
        msg = f"state is damaged ({error}); {expected}"
        raise InputError(msg) from None


def _named(fields: Mapping[str, npt.NDArray[Any]]) -> Named:
    if any(fields[name].dtype.kind != "U" for name in _NAMES):
        msg = "names are not text"
        raise ValueError(msg)
    texts, canonical, undefined, ties = (fields[name].tolist() for name in _NAMES[:4])
    definitions = {
        text: Definition(parse(spec), each_ties, each_undefined)
        for text, spec, each_ties, each_undefined in zip(
            texts, canonical, ties, undefined, strict=True
        )
    }
    for _, each_ties, each_undefined in definitions.values():
        one_of("ties", each_ties, TiePolicy)
        one_of("undefined", each_undefined, Undefined)
    nan = fields["nan"].item()
    one_of("nan", nan, NaNPolicy)
    data = {str(name): str(digest) for name, digest in fields["data"].tolist()}
    return Named(Request.of(definitions, nan=nan), data)


def schema_of(request: Request, shape: tuple[Any, ...], data: dict[str, str]) -> Schema:
    """Make the schema of the results of a request."""
    definitions = request.definitions.items()
    return Schema(
        metrics={text: str(definition.spec) for text, definition in definitions},
        undefined={text: definition.undefined for text, definition in definitions},
        ties={text: definition.ties for text, definition in definitions},
        nan=request.nan,
        shape=shape,
        data=data,
    )


def fits(size: Iterable[int], n_batches: int = 1) -> bool:
    """Say whether so many batches, together of this size, may wait."""
    small = all(own <= most for own, most in zip(size, WAITING, strict=False))
    return small and n_batches <= MOST


def lists_of(found: Found) -> tuple[IntArray, BoolArray]:
    """The lists of a batch, and the items that may be in them."""
    kept = found.exposure
    if isinstance(kept, KeptLists):
        return kept.joined(), kept.offered
    return np.empty((len(found.hits.n_hits), 0), np.int64), np.zeros(0, np.bool_)


def places_of(texts: Sequence[str], metrics: Iterable[str]) -> list[int]:
    """The row of each of ``texts`` among the ``metrics`` of another evaluator that have rows."""
    rows = [text for text in metrics if text in texts]
    return [rows.index(text) for text in texts]


def _write_lists(table: _Table, batch: Added) -> None:
    width, added = table.lists.shape[1], batch.lists.shape[1]
    if added > width:
        more = np.full((len(table.lists), added - width), -1, table.lists.dtype)
        table.lists = np.concatenate([table.lists, more], axis=1)
    table.lists[batch.users, :added] = batch.lists
    table.lists[batch.users, added:] = -1
    table.offered |= batch.offered


def _write_invalid(table: _Table, batch: Added) -> None:
    if batch.invalid is None and table.invalid is None:
        return
    if table.invalid is None:
        table.invalid = np.zeros((2, len(table.updated)), np.int64)
    table.invalid[:, batch.users] = 0 if batch.invalid is None else batch.invalid


def _shortly(value: object) -> object:
    """The one policy that all metrics have, or the value unchanged."""
    policies = set(value.values()) if isinstance(value, dict) else set()
    is_policy = policies <= {*get_args(TiePolicy), *get_args(Undefined)}
    return policies.pop() if len(policies) == 1 and is_policy else value


def _all_users(added: Sequence[Added]) -> IntArray:
    return np.concatenate([as_indices(batch.users) for batch in added])


class Results(Protocol):
    """What an evaluator keeps, which can be merged with that of another."""

    @property
    def schema(self) -> Schema: ...
    def part(self) -> Any: ...
    def check_same(self, other: Schema) -> None: ...
    def take(self, part: Any, metrics: Iterable[str]) -> None: ...
    def empty(self) -> "Results": ...


R = TypeVar("R", bound=Results)


def merge(results: Results, other: Results) -> None:
    """Add what another evaluator keeps; one of another schema is refused before it is read."""
    results.check_same(other.schema)
    results.take(other.part(), other.schema.metrics)


def gather(results: R, group: Any) -> R:
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
        msg = (
            "all_gather was called by a process outside the group; expected only members of the "
            "group"
        )
        raise ArgumentError(msg)
    parts: list[Any] = [None] * distributed.get_world_size(group)
    distributed.all_gather_object(parts, (results.schema, results.part()), group=group)
    whole = results.empty()
    for schema, part in parts:
        whole.check_same(schema)
        whole.take(part, schema.metrics)
    return cast(R, whole)
