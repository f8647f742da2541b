"""The store of an evaluator: a log of batches, and the rows or totals of those before.

Python's overhead for a metric is the same for ten users as for ten thousand. So the hits of batches
wait in the log until the metrics of a few thousand users can be computed together.

A batch is added by one statement, which appends it to the log. Writing the log into the rows can be
repeated: where it is interrupted, the next caller writes them again. So an interrupted or failed
call has added a batch as a whole, or not at all.

A *row* is a user or an event. A batch *waits* if its hits are in the log and its metrics are still
to be computed. The *sink* of a batch keeps the lists that metrics of all lists read.
"""

from __future__ import annotations  # help() shows the names of types, not what they stand for

import copy
import functools
import math
import operator
import sys
import threading
from collections.abc import Iterable, Mapping, Sequence
from itertools import groupby
from typing import Any, NamedTuple, Self, cast

import numpy as np
import numpy.typing as npt

from recmetrics._core.errors import ArgumentError, InputError, InputTypeError
from recmetrics._core.inputs import InvalidItems, Side, UserIndex, Users, as_indices, digests_of
from recmetrics._core.results.keys import key_of
from recmetrics._core.results.means import check_groups
from recmetrics._core.results.measure import system_values, user_rows
from recmetrics._core.results.rows import Batch, Events, KeptLists, UserRows, UserTable
from recmetrics._core.results.saved import Schema, Shape, reading, this_version
from recmetrics._core.results.settle import (
    EVENTS,
    ROWS_ARE_USERS,
    RowNames,
    refuse_missing,
    settled,
)
from recmetrics._core.results.totals import Totals
from recmetrics._core.selection import Selection, Slots, exposures, join
from recmetrics._core.spec import Cutoffs, Request, number_for
from recmetrics._core.types import BoolArray, FloatArray, IntArray, UserValues

# At most so many users, relevant items, and bytes of lists, values or sums wait: 8 MB together.
MAX_WAITING = 1 << 15, 1 << 17, 1 << 22
MAX_WAITING_BATCHES = 256  # the arrays of a batch take a kilobyte even without a user
_SMALL_PART = 8  # more of the users than 1 in 8 are found faster in a table of all


class Kept(NamedTuple):
    """All that changes in a store, replaced as a whole by one statement."""

    n_items: int | None  # the size of the catalogue, None until a batch gives it
    content: Any = None  # rows or totals of earlier batches, made when they are first needed
    # Batches, and the totals of streams that were merged, which are joined many at once.
    log: tuple[Batch | Totals, ...] = ()
    size: tuple[int, int, int] = (0, 0, 0)  # of the log, see ``MAX_WAITING``
    next_user: int = 0  # the first row of the next batch where it does not name its users
    has_merged: bool = False  # users that no batch named may have been updated
    models: tuple[str, ...] | None = None  # of the events, None without any
    groups: frozenset[Any] | None = None  # of the events, empty without ``by``; None without any


class Store:
    """A log of batches of users, who have an index, or of events, which have none.

    ``keep`` is "rows" for users, "values" or "means" for events. One thread at a time reads or
    changes the store.
    """

    def __init__(
        self,
        request: Request,
        keep: str,
        shape: Shape,
        data: Any,
        version: str | None = None,
        of_part: IntArray | None = None,
    ) -> None:
        self.request = request
        self.of_part = of_part  # the users of the truth's rows, among all; None: all
        self.version = version or this_version()  # that computed the values
        self.keep = keep
        self.n_users = shape[0] or 0  # 0 for events
        self.shape = shape
        self._data = data  # ``Users`` or ``Side``, which will be hashed; or the hashes
        self._per_user = request.per_user  # the metrics with a value for each row, as in content
        self._kept = Kept(shape[1])
        self._lock = threading.RLock()
        # The weights of users in the mean of each metric whose system weighs them; None where no
        # truth tells them.
        self.user_weights: dict[str, FloatArray] | None = None

    @classmethod
    def holding(cls, request: Request, schema: Schema, part: UserRows | Totals) -> Self:
        """Make the store of a part that was saved."""
        of_part = None
        n_users = schema.shape[0] or 0
        if isinstance(part, UserRows) and len(part.users) < n_users // _SMALL_PART:
            of_part = np.unique(part.users)  # so that thousands of parts need no tables of all
        store = cls(request, schema.keep, schema.shape, schema.data, schema.version, of_part)
        store._schema = schema
        store.take(schema, part)
        return store

    def __getstate__(self) -> dict[str, Any]:
        with self._lock:
            # A copy, since the state is pickled after the lock is free again.
            content = copy.deepcopy(self.content())
            return vars(self) | {"_kept": self._kept._replace(content=content), "_lock": None}

    def __setstate__(self, state: dict[str, Any]) -> None:
        vars(self).update(state, _lock=threading.RLock())

    def clear(self) -> None:
        """Remove all rows, and the size of the catalogue if a batch gave it."""
        self._kept = Kept(self.shape[1])

    @functools.cached_property
    def cutoffs(self) -> Cutoffs:
        """The cutoffs of the metrics for the catalogue that was given."""
        return self.request.cutoffs(self.shape[1])

    @functools.cached_property
    def data(self) -> dict[str, str]:
        """A hash of each set of items and of each piece of side information, by name."""
        if isinstance(self._data, Side | Users):
            return digests_of(self._data, is_part=self.of_part is not None)
        return self._data  # type: ignore[no-any-return]

    @property
    def schema(self) -> Schema:
        """The schema that a store must share for its rows to be merged."""
        shape = self.shape[0], self.n_items
        if shape == self.shape:
            return self._schema
        return self._schema._replace(shape=shape)

    @functools.cached_property
    def _schema(self) -> Schema:
        """The schema with the size of the catalogue that was given, which may be unknown."""
        return Schema.of(self.request, self.keep, self.shape, self.data, self.version)

    @property
    def n_items(self) -> int | None:
        """The size of the catalogue, None until something gives it."""
        return self._kept.n_items

    @property
    def has_models(self) -> bool:
        """True if the events are of models with names."""
        return self._kept.models not in (None, ("",))

    @property
    def next_user(self) -> int:
        """The first row of the next batch where it does not name its users."""
        return self._kept.next_user

    @property
    def updated(self) -> BoolArray:
        """True for the users who were updated, (n_users,)."""
        return cast(UserTable, self.content()).whole().updated

    def is_merged(self, users: slice) -> bool:
        """Say whether any of the users was updated in an evaluator that was merged."""
        return self._kept.has_merged and bool(self.updated[self._among_all(users)].any())

    def _among_all(self, users: UserIndex) -> UserIndex:
        """The users in rows of the truth, among all users."""
        return users if self.of_part is None else self.of_part[users]

    # --- Adding

    def check_size(self, n_items: int | None, n_rows: int = 0) -> None:
        """Refuse a batch of ``n_rows`` whose catalogue is not that of the rows before.

        ``n_items`` is the size of its catalogue, or None. Without rows, a batch whose size is
        unknown is not refused: its truth may still give it.
        """
        known_size = self.n_items
        if n_items is not None and known_size is not None:
            if n_items != known_size:
                msg = (
                    f"scores have {n_items} items, expected {known_size}, as in n_items= or an "
                    "earlier batch; call reset() before using another catalogue"
                )
                raise InputError(msg)
            return
        # One of the sizes is unknown, or both are. The k of rows without a size is not limited to
        # the catalogue, so these rows do not go together with others.
        n_unlimited = n_rows if n_items is None else self.n_rows
        if n_items != known_size and n_unlimited:
            msg = (
                "earlier rankings were added without the size of the catalogue, so k was not "
                "limited to it; give n_items= to StreamEvaluator"
            )
            raise ArgumentError(msg)

    def sink(self, n_rows: int, cutoffs: Cutoffs) -> KeptLists | None:
        """Make what keeps the lists of a batch; None if no metric of all lists reads them."""
        if not self.request.of_exposure:
            return None
        if cutoffs.n_items is None:
            exposures(self.request, cutoffs)  # refuses an unknown size
        return KeptLists(n_rows, cutoffs.n_items or 0, cutoffs.exposure)

    def measured(self, selection: Selection, users: UserIndex) -> UserRows:
        """Compute the rows of a batch of users without adding them to the store."""
        values = user_rows(selection, self.request)
        return UserRows(
            as_indices(self._among_all(users)), values, *_lists_of(selection), selection.n_invalid
        )

    def add(self, selection: Selection, users: UserIndex, *, in_order: bool) -> None:
        """Add a batch of users; the metrics of several batches are computed together.

        ``in_order`` says that the users were chosen as those after the previous batch, so no other
        batch may have come in between.
        """
        batch = self._batch(selection)
        n_rows = batch.size[0]
        if not n_rows:
            return  # a batch without rows must not change the next users
        with self._lock:
            self.check_size(batch.n_items, n_rows)
            if isinstance(users, slice):
                if in_order and users.start != self.next_user:
                    msg = (
                        "another thread updated this evaluator during this update, so the next "
                        "users are not known; give users= if several threads update one evaluator"
                    )
                    raise ArgumentError(msg)
                next_user = users.stop
            else:
                next_user = int(users[-1]) + 1
            batch = batch._replace(users=self._among_all(users))
            self._append(batch, n_items=batch.n_items, next_user=next_user)

    def add_events(self, selections: Mapping[str, Selection], **labels_and_weights: Any) -> None:
        """Add a batch of events with the hits of each model by name, "" for the only one.

        ``labels`` and ``weights`` are those of ``Events``.
        """
        may_wait = len(selections) == 1
        batch, *others = [self._batch(hits, may_wait=may_wait) for hits in selections.values()]
        events = Events(tuple(selections), **labels_and_weights, others=tuple(others))
        n_rows, n_relevant, n_bytes = batch.size
        if not n_rows:
            return  # a batch without rows must not change the catalogue
        n_bytes += sum(other.size[2] for other in others)
        batch = batch._replace(events=events, size=(n_rows, n_relevant, n_bytes))
        models = events.models
        with self._lock:
            self.check_size(batch.n_items, n_rows)
            self._check_models(models)
            groups = self._with_groups(np.unique(events.labels).tolist())
            self._append(batch, n_items=batch.n_items, models=models, groups=groups)

    def _batch(self, selection: Selection, *, may_wait: bool = True) -> Batch:
        """Make the batch of a selection; its values are computed at once unless it ``may_wait``."""
        hits = selection.hits
        lists, offered = _lists_of(selection)
        size = len(hits.n_hits), len(hits.rank), lists.nbytes + offered.nbytes
        values: Any = selection._replace(exposure=None)
        # A batch with an invalid callable is refused, so it must not wait.
        if not may_wait or self.request.has_callable or not _fits(size):
            values = user_rows(selection, self.request)
            size = len(hits.n_hits), 0, lists.nbytes + offered.nbytes + values.nbytes
        swallowed = (0, 0, 0)
        if self.keep != "rows":
            swallowed = selection.swallowed()
        n_items = selection.cutoffs.n_items
        return Batch(values, lists, offered, selection.n_invalid, size, n_items, swallowed)

    def _check_models(self, models: tuple[str, ...]) -> None:
        """Refuse events of other models than those before."""
        known_models = self._kept.models
        if known_models is None or sorted(models) == sorted(known_models):
            return
        msg = (
            f"the update or part has {_models_in_words(models)}, and earlier ones "
            f"{_models_in_words(known_models)}; expected the same models in every update and part"
        )
        raise ArgumentError(msg)

    def _with_groups(self, labels: Iterable[Any]) -> frozenset[Any]:
        """Give the groups so far with those of more events.

        Too many are refused, and labels of another type, of which no report can be made.
        """
        groups = frozenset(labels)
        known_groups = self._kept.groups
        if known_groups is not None:
            words = _groups_in_words(groups)
            known_words = _groups_in_words(known_groups)
            if words != known_words:
                msg = (
                    f"earlier updates had {known_words}, and this one has {words}; expected the "
                    "group of each event in every update, all integers or all strings, or in none"
                )
                raise ArgumentError(msg, argument="by")
            groups |= known_groups
        check_groups(groups)
        return groups

    def _append(self, entry: Batch | Totals, **changes: Any) -> None:
        """Append an entry to the log, which is written into the content first if it is full.

        ``changes`` are other fields of ``Kept`` that change with it.
        """
        log = self._kept.log
        if isinstance(entry, Totals) and self._kept.content is None and not log:
            self._kept = self._kept._replace(content=entry, **changes)
            return
        entry_size = entry.size
        size: Any = tuple(map(operator.add, self._kept.size, entry_size))
        if log and not (_fits(size) and len(log) < MAX_WAITING_BATCHES):
            self.content()
            log = ()
            size = entry_size
        self._kept = self._kept._replace(log=(*log, entry), size=size, **changes)

    # --- Reading

    def content(self) -> UserTable | Totals:
        """The rows or totals of all batches, with the log written into them."""
        with self._lock:
            state = self._kept
            content: UserTable | Totals | None = state.content
            if content is not None and not state.log:
                return content
            if content is None and self.keep == "rows":
                of_part = None if self.of_part is None else np.sort(self.of_part)
                content = UserTable(self.request, self.n_users, self.n_items or 0, of_part)
            elif content is None:
                content = Totals.none(self.request, self.keep)
            # Each group is a run of totals, of batches that wait, whose metrics are computed
            # together, or of batches that have their values.
            for _, group in groupby(state.log, _kind_of_entry):
                entries = list(group)
                if isinstance(entries[0], Totals):
                    content = cast(Totals, content).joined(cast(list[Totals], entries))
                    continue
                batches = cast(list[Batch], entries)
                values_of_batches = [batch.values for batch in batches]
                if isinstance(values_of_batches[0], Selection):
                    values = user_rows(_joined(values_of_batches), self.request)
                else:
                    values = np.concatenate(values_of_batches, axis=1)
                content = content.plus(batches, values, self.request)
            self._kept = state._replace(content=content, log=(), size=(0, 0, 0))
            return content

    @property
    def n_rows(self) -> int:
        """The number of updated users, or of events."""
        return self.content().n_rows

    def describe(self, noun: str) -> str:
        """Write the numbers of rows that are counted and that wait, without computing anything."""
        state = self._kept
        n_rows = 0 if state.content is None else state.content.n_rows
        n_rows += sum(entry.n_rows for entry in state.log if isinstance(entry, Totals))
        text = f"{n_rows} {noun}"
        n_waiting_rows = state.size[0]
        if n_waiting_rows:
            text += f", {n_waiting_rows} more not computed yet"
        return text

    def compute(self) -> dict[str, UserValues]:
        """Give the values of all rows and the metrics of all lists, with ``undefined=`` applied."""
        users, values = self.values_of_rows()
        for text, values_of_part in values.items():
            if values_of_part.ndim and not isinstance(users, slice):
                values[text] = np.full(self.n_users, np.nan)
                values[text][users] = values_of_part
        return values

    def values_of_rows(self) -> tuple[UserIndex, dict[str, UserValues]]:
        """Give the users whose rows are kept, and what ``compute`` gives of these rows alone.

        The users are a slice of all rows, or those of a part in ascending order.
        """
        row_names = EVENTS
        users: UserIndex = slice(None)
        updated = None  # all events count
        definitions = self.request.definitions
        with self._lock:
            table = self.content()
            if isinstance(table, UserTable):
                row_names = ROWS_ARE_USERS
                updated = table.updated
                of_part = table.of_part
                if of_part is not None:
                    users = of_part
                    row_names = RowNames(name=lambda row: f"user {of_part[row]}", n=self.n_users)
            values = dict(zip(self._per_user, table.values.copy(), strict=True))
            values |= self.list_values()
            return users, {
                text: settled(values[text], text, definitions[text], updated, row_names)
                for text in definitions
            }

    def means(self) -> dict[str, tuple[float, float]]:
        """Compute the mean of each metric of events, and half of its 95 % interval.

        The half is NaN for a metric of all lists.
        """
        definitions = self.request.definitions
        means: dict[str, tuple[float, float]] = {}
        with self._lock:
            totals = cast(Totals, self.content())
            list_values = self.list_values()
        for place, (model, n_defined) in enumerate(totals.n_defined.items()):
            for text, definition in definitions.items():
                key = key_of(model, text)
                if key in list_values:
                    value = settled(list_values[key], text, definition, rows=EVENTS)
                    means[key] = float(value), math.nan
                    continue
                metric = self._per_user.index(text)
                n_missing = totals.n_rows - int(n_defined[metric])
                refuse_missing(text, definition, n_missing, totals.n_rows, EVENTS)
                means[key] = totals.mean(place, metric)
        return means

    @property
    def swallowed(self) -> tuple[int, int, int]:
        """Events whose relevant items are all excluded, those that have any, and all items."""
        n_swallowed, n_events, n_relevant = cast(Totals, self.content()).swallowed.tolist()
        return n_swallowed, n_events, n_relevant

    def list_values(self) -> dict[str, UserValues]:
        """Compute the metrics of all lists, one value each, NaN where they are undefined."""
        if not self.request.of_exposure:
            return {}
        with self._lock:
            content = self.content()
        exposures_of_models = content.exposures_of(self.request)
        values: dict[str, UserValues] = {}
        for model in content.n_defined:
            of_model = {text: np.array(math.nan) for text in self.request.of_exposure}  # no event
            if model in exposures_of_models:
                cutoffs = self.request.cutoffs(self.n_items)
                of_model = system_values(exposures_of_models[model], self.request, cutoffs)
            values |= {key_of(model, text): value for text, value in of_model.items()}
        return values

    def counts(self) -> dict[str, tuple[int, int]]:
        """Count the rows for which each metric is defined, and undefined.

        A metric counts as defined where ``undefined=`` puts a number, and for all lists.
        """
        with self._lock:
            n_rows = self.n_rows
            n_defined = self.content().n_defined
        counts: dict[str, tuple[int, int]] = {}
        for model, numbers in n_defined.items():
            counts |= {key_of(model, text): (n_rows, 0) for text in self.request.definitions}
            for text, count in zip(self._per_user, numbers.tolist(), strict=True):
                if number_for(self.request.definitions[text].undefined) is None:
                    counts[key_of(model, text)] = count, n_rows - count
        return counts

    # --- Merging, saving

    def part(self) -> tuple[Schema, UserRows | Totals]:
        """The schema and all rows, for another store."""
        with self._lock:
            return self.schema, self.content().part()

    def take(self, schema: Schema, part: UserRows | Totals) -> None:
        """Add the part of another store, which has ``schema``; another schema is refused."""
        self.schema.check_same(schema)
        part_texts = [text for text in schema.metrics if text in self._per_user]
        if part_texts != self._per_user:  # the same metrics in another order
            part = part.in_order([part_texts.index(text) for text in self._per_user])
        with self._lock:
            if isinstance(part, UserRows):
                self._append(part.batch(), has_merged=True)
                return
            self.check_size(schema.shape[1], part.n_rows)
            models = self._kept.models
            groups = self._kept.groups
            if part.has_events:
                models = part.joint.models
                self._check_models(models)
                groups = self._with_groups(part.joint.groups)
            n_items = self.n_items if schema.shape[1] is None else schema.shape[1]
            self._append(part, n_items=n_items, models=models, groups=groups)

    def empty(self) -> Self:
        """Make a store of the same schema without rows."""
        store = type(self)(self.request, self.keep, self.shape, self.data, self.version)
        store.user_weights = self.user_weights
        return store


class Accumulator:
    """Merging and saving of the evaluators, which add batches to a store."""

    _results: Store
    _keeps: tuple[str, ...]  # the values of ``Store.keep`` that the class has

    @classmethod
    def _of(cls, store: Store) -> Self:
        """Make an evaluator of a store that gives results but takes no updates."""
        evaluator = cls.__new__(cls)
        evaluator._results = store
        return evaluator

    def __copy__(self) -> Self:
        # Of the attributes, the store alone changes in place; its copy has rows of its own.
        evaluator = object.__new__(type(self))
        vars(evaluator).update(vars(self), _results=copy.copy(self._results))
        return evaluator

    def invalid_items(self) -> InvalidItems:
        """Count the items of rankings that ``repeats`` or ``unknown`` wasted or dropped.

        >>> from recmetrics import Evaluator
        >>> evaluator = Evaluator([[1, 0, 0], [0, 1, 1]], "hit@1")
        >>> evaluator.update_ranked([[0, 0], [7, 8]], repeats="drop", unknown="waste")
        >>> evaluator.invalid_items()
        InvalidItems(repeats=1, lists_with_repeats=1, unknown=2, lists_with_unknown=1)
        """
        return self._results.content().invalid_items

    def merge(self, other: Self) -> Self:
        """Add the users or events of another evaluator of the same class, metrics and items.

        If both have values of a user, those of ``other`` are kept. Events have no index: those of
        ``other`` come after those of this one. The values are the same, bit for bit, as those of
        one evaluator with all batches. Returns this evaluator, for use with ``functools.reduce``.

        Raises
        ------
        InputTypeError
            If ``other`` is of another class.
        ArgumentError
            If the two differ in metrics, policies, ``keep``, users or items, or were built with
            different data, such as another truth or other side information.

        Warns
        -----
        RecmetricsWarning
            If another version of the package computed the values of ``other``.
        """
        if getattr(other, "_keeps", None) != self._keeps:
            msg = f"merge takes another {type(self).__name__}, got {type(other).__name__}"
            raise InputTypeError(msg)
        self._results.take(*other._results.part())
        return self

    def all_gather(self, group: Any = None) -> Self:
        """Gather the users or events of all processes of ``torch.distributed``, in every process.

        Every process of the group must call it, even one without a batch. This evaluator does not
        change. The returned evaluator gives results but takes no updates, like one from
        ``from_state``.

        If two processes have the same user, as with samplers that pad, the user counts once, with
        the values of the process of higher rank. Events have no index, so duplicates are not
        detected: an event that a ``DistributedSampler`` repeats as padding counts twice.

        Parameters
        ----------
        group
            The process group; None means the default one.

        Raises
        ------
        ArgumentError
            If torch.distributed is not initialised, or the evaluators cannot be merged.
        """
        # Who has processes of torch.distributed has imported torch; nobody else waits for it.
        torch: Any = sys.modules.get("torch")
        distributed = None if torch is None else torch.distributed
        if distributed is None or not (distributed.is_available() and distributed.is_initialized()):
            msg = (
                "all_gather needs the processes of torch.distributed, which is not initialised; "
                "call torch.distributed.init_process_group(...) first, or use merge()"
            )
            raise ArgumentError(msg)
        if distributed.get_rank(group) < 0:
            msg = (
                "all_gather was called by a process outside the group; expected only members of "
                "the group"
            )
            raise ArgumentError(msg)
        gathered: list[Any] = [None] * distributed.get_world_size(group)
        distributed.all_gather_object(gathered, self._results.part(), group=group)
        whole = self._results.empty()
        for schema, part in gathered:
            whole.take(schema, part)
        return self._of(whole)

    def reset(self) -> None:
        """Remove all users or events, for the next epoch; truth and metrics stay.

        A catalogue size that a stream took from scores is also removed.
        """
        self._results.clear()

    # Any: type checkers refuse ``np.savez(file, **arrays)``, where "allow_pickle" may be a key.
    def state(self) -> dict[str, Any]:
        """Export all users or events as plain arrays: for checkpoints, files and other machines.

        The arrays contain neither truth nor scores.

        >>> import numpy as np
        >>> from recmetrics import Evaluator
        >>> evaluator = Evaluator([[1, 0, 0], [0, 1, 1]], "hit@1")
        >>> evaluator.update([[1, 2, 3]], users=[1])
        >>> state = evaluator.state()  # np.savez("state.npz", **state) writes it
        >>> state["users"], state["values"]
        (array([1]), array([[1.]]))
        >>> Evaluator.from_state(state).counts() == evaluator.counts()
        True
        """
        schema, part = self._results.part()
        return schema.arrays(self._results.request) | part.arrays()

    @classmethod
    def from_state(cls, state: Mapping[str, npt.ArrayLike]) -> Self:
        """Make an evaluator from the arrays of ``state``, for results and merging.

        It has neither truth nor side information, so it takes no updates. To continue updating,
        merge it into an evaluator built with the same arguments as the first one; an ``Evaluator``
        then needs ``users`` with each batch. The arrays are kept without a copy, so do not write
        into them, such as into a buffer that receives the next state.

        Raises
        ------
        InputError
            If the arrays are not those of ``state``, or have the form of another version.

        Warns
        -----
        RecmetricsWarning
            If the state does not say which version wrote it.
        """
        with reading(state, cls.__name__, cls._keeps) as (fields, request, schema):
            part_class: type[UserRows | Totals] = UserRows if schema.keep == "rows" else Totals
            part = part_class.read(fields, request, schema)
        return cls._of(Store.holding(request, schema, part))


def _lists_of(selection: Selection) -> tuple[IntArray, BoolArray]:
    """The lists of a batch, (rows, width), and a mask of the items that may be in one, (n_items,).

    Both are empty where no metric of all lists reads them.
    """
    sink = selection.exposure
    if isinstance(sink, KeptLists):
        return sink.joined(), sink.offered
    return np.empty((len(selection.hits.n_hits), 0), np.int64), np.zeros(0, np.bool_)


def _groups_in_words(groups: frozenset[Any]) -> str:
    """Say of what type the labels of groups are; no label is of events without groups."""
    if not groups:
        return "no by="
    is_text = isinstance(next(iter(groups)), str)
    return "by= of strings" if is_text else "by= of integers"


def _models_in_words(models: tuple[str, ...]) -> str:
    """Name the models of events in an error."""
    return "a model without a name" if models == ("",) else f"the models {sorted(models)}"


def _fits(size: tuple[int, int, int]) -> bool:
    """Say whether batches of this size may wait: users, relevant items, and bytes."""
    return all(map(operator.le, size, MAX_WAITING))


def _kind_of_entry(entry: Batch | Totals) -> object:
    """The key that groups a log: totals, or batches that wait or not, of the same models in order.

    Batches with labels of one kind, or without, are together: text would make text of numbers.
    """
    if isinstance(entry, Totals):
        return Totals
    events = entry.events
    of_events = events and (events.models, events.labels.dtype.kind)
    return isinstance(entry.values, Selection), of_events


def _joined(selections: Sequence[Selection]) -> Selection:
    """Join the hits of batches, in order, into those of one batch."""
    if len(selections) == 1:
        return selections[0]
    hits = join([selection.hits for selection in selections])
    list_values = {
        text: np.concatenate([selection.list_values[text] for selection in selections])
        for text in selections[0].list_values
    }
    slots = None
    slots_of_batches = [selection.slots for selection in selections if selection.slots is not None]
    if slots_of_batches:
        slots = Slots.join(slots_of_batches)
    return selections[0]._replace(hits=hits, list_values=list_values, slots=slots)
