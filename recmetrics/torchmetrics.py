"""RankingMetrics: the Evaluator as a torchmetrics metric, for trainers that expect one.

>>> import torch
>>> from recmetrics.torchmetrics import RankingMetrics
>>> metric = RankingMetrics([[1, 0, 0], [0, 1, 1]], ["hit@1", "recall@2"], prefix="val/")
>>> metric.update(torch.tensor([[3.0, 2.0, 1.0]]), users=[1])
>>> metric.update(torch.tensor([[3.0, 2.0, 1.0]]), users=[0])
>>> metric.compute()
{'val/hit@1': tensor(0.5000), 'val/recall@2': tensor(0.7500)}
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any, Unpack

import numpy as np
import numpy.typing as npt

from recmetrics._core.errors import ArgumentError, InputTypeError, install
from recmetrics._core.evaluator import Evaluator
from recmetrics._core.options import ForBatches, NoShared, takes
from recmetrics._core.results import Store, UserRows, for_logger
from recmetrics._core.selection import read_scores
from recmetrics._core.spec import MetricsList
from recmetrics._core.types import Scores, Truth, WhichUsers

try:
    import torch
    from torchmetrics import Metric
except ImportError as error:
    msg = (
        f"recmetrics.torchmetrics needs torchmetrics, which cannot be imported ({error}); type: "
        f"{install('torchmetrics')}"
    )
    raise ImportError(msg) from error
__all__ = ["RankingMetrics"]

# The states that grow, each 1-d, so that those of all processes can be concatenated. Values are
# kept as the bits of float64: exact on every device, also without float64.
_GROWING_STATES = ("user_index", "value_bits", "list_items", "list_length")


class RankingMetrics(Metric):
    """Means of ranking metrics over the users of all batches and processes.

    The states of this ``torchmetrics.Metric`` are the values of each user and the lists that system
    metrics need, never the scores. A user who is added twice counts once, with the later values. If
    a distributed sampler gives the same user to two processes, the values of the process of higher
    rank count. The values are kept in float64: ``evaluator()`` has the same bits as an
    ``Evaluator``. ``compute`` and ``forward`` give the means in torch's default dtype, float32.

    >>> import torch
    >>> from recmetrics.torchmetrics import RankingMetrics
    >>> metric = RankingMetrics([[1, 0, 0], [0, 1, 1]], "hit@1")
    >>> metric(torch.tensor([[3.0, 2.0, 1.0]]), users=[0])  # forward: the value of this batch
    {'hit@1': tensor(1.)}
    >>> metric(torch.tensor([[3.0, 2.0, 1.0]]), users=[1])
    {'hit@1': tensor(0.)}
    >>> metric.compute()
    {'hit@1': tensor(0.5000)}

    In a ``LightningModule``, log the computed values, since Lightning cannot log a metric that has
    several values::

        def validation_step(self, batch, batch_idx):
            self.metric.update(self.scores(batch), batch)

        def on_validation_epoch_end(self):
            self.log_dict(self.metric.compute(), sync_dist=True)
            self.metric.reset()

    ``compute`` already gathers the values of all processes; ``sync_dist=True`` only informs
    Lightning of this.

    Parameters
    ----------
    ground_truth, metrics_list, n_items
        As in ``Evaluator``, and so are all other keywords: for all users, the same in every
        process.
    prefix, at
        The keys of ``compute``, as in ``Evaluator.mean``.
    dist_sync_on_step, process_group, sync_on_compute
        As in ``torchmetrics.Metric``.

    Raises
    ------
    MetricSpecError, InputError, InputTypeError, ArgumentError
        As in ``Evaluator``, and so are the warnings.

    Notes
    -----
    Users who were never updated are not part of any mean. There is no warning about them, because
    trainers evaluate a few batches first to test the loop. ``evaluator().counts()`` gives their
    number.
    """

    full_state_update = False  # forward then updates once
    is_differentiable = False
    higher_is_better = None

    offered: torch.Tensor  # (n_items,) 1 for the items that may be in a list
    key: torch.Tensor  # a hash of all that the values depend on

    @takes(ForBatches)
    def __init__(
        self,
        ground_truth: Truth,
        metrics_list: MetricsList,
        *,
        n_items: int | None = None,
        prefix: str = "",
        at: str = "@",
        dist_sync_on_step: bool = False,
        process_group: Any = None,
        sync_on_compute: bool = True,
        **shared: Unpack[ForBatches],
    ) -> None:
        super().__init__(
            dist_sync_on_step=dist_sync_on_step,
            process_group=process_group,
            sync_on_compute=sync_on_compute,
        )
        self._evaluator = Evaluator(ground_truth, metrics_list, n_items=n_items, **shared)
        store = self._evaluator._results
        for_logger(store.request.definitions, prefix, at)  # refused before the first epoch
        self._prefix = prefix
        self._at = at
        for name in _GROWING_STATES:
            self.add_state(name, [], dist_reduce_fx="cat")
        self._n_values = len(store.request.per_user)  # of a user
        n_offered = 0
        if store.cutoffs.exposure:  # a metric of all lists reads which items may be in them
            n_offered = store.shape[1] or 0
        self.add_state("offered", torch.zeros(n_offered, dtype=torch.uint8), dist_reduce_fx="max")
        # A hash of all that the values depend on, the same in all processes. States of two metrics
        # with other hashes are not merged, also not by a MetricCollection, where they are equal.
        schema = repr(store.schema._replace(version=""))
        digest = hashlib.blake2b(schema.encode(), digest_size=8).digest()
        self._own_key = int.from_bytes(digest, "little", signed=True)
        self.add_state("key", torch.tensor(self._own_key), dist_reduce_fx=_one_key)

    @takes(NoShared)
    def update(self, scores: Scores, users: WhichUsers) -> None:
        """Add users, as ``Evaluator.update`` does.

        Parameters
        ----------
        scores
            As in ``Evaluator.update``.
        users
            The users of these rows: a slice of the rows of the truth, or their indices.

        Raises
        ------
        InputError, InputTypeError
            As in ``Evaluator.update``.
        """
        if users is None:  # a process with a share of the users does not know the next rows
            msg = "users must be a slice or a 1-d array of integer user indices, got None"
            raise InputTypeError(msg)
        if isinstance(users, torch.Tensor):
            users = users.cpu()
        user_index, selection = self._evaluator._find(read_scores(scores), users)
        rows = self._evaluator._results.measured(selection, user_index)
        is_item = rows.lists >= 0
        batch_states = (  # in the order of their names
            rows.users,
            np.ascontiguousarray(rows.values.T).view(np.int64).reshape(-1),
            rows.lists[is_item],
            np.count_nonzero(is_item, axis=1),
        )
        states = {}
        for name, array in zip(_GROWING_STATES, batch_states, strict=True):
            states[name] = [*getattr(self, name), torch.from_numpy(array).to(self.device)]
        offered_by_batch = torch.from_numpy(rows.offered.astype(np.uint8)).to(self.device)
        offered = torch.maximum(self.offered, offered_by_batch)
        # All states by one statement: Ctrl-C between two of them would leave half a batch.
        self.__dict__.update(states, offered=offered)

    def forward(self, *args: Any, **kwargs: Any) -> Any:
        """Add a batch of users, and return the values of this batch alone.

        The parameters are those of ``update``.
        """
        with self._all_or_nothing():  # torchmetrics empties the states for the batch
            # It copies each of their tensors first. Without those of earlier batches, a batch after
            # 1,000 others takes 1 ms, not 20.
            earlier = {name: getattr(self, name) for name in _GROWING_STATES}
            self.__dict__.update((name, []) for name in _GROWING_STATES)
            values = super().forward(*args, **kwargs)
            for name, tensors in earlier.items():
                setattr(self, name, [*tensors, *getattr(self, name)])
        return values

    @takes(NoShared)
    def compute(self) -> dict[str, torch.Tensor]:
        """Compute the mean of each metric over the updated users who have a value, as scalars.

        Raises
        ------
        UndefinedMetricError
            As in ``Metrics.compute``.
        ArgumentError
            If a state was loaded or merged that was made with another truth, other metrics or
            options.
        """
        means = self.evaluator()._means(self._prefix, self._at)
        return {key: torch.tensor(value, device=self.device) for key, value in means.items()}

    def evaluator(self) -> Evaluator:
        """Make an Evaluator with the users of this process, for values per user and counts.

        It gives results but takes no updates, like one from ``Evaluator.from_state``. Its
        ``all_gather`` adds the users of the other processes.
        """
        _one_key(torch.tensor([self._own_key, int(self.key)]))  # of a state that was loaded
        users, value_bits, items, length = map(self._array, _GROWING_STATES)
        is_item = np.arange(length.max(initial=0)) < length[:, np.newaxis]
        lists = np.full(is_item.shape, -1, np.int64)
        lists[is_item] = items
        values = value_bits.view(np.float64).reshape(len(users), self._n_values).T
        offered = self.offered.cpu().numpy().astype(np.bool_)
        own_store = self._evaluator._results
        rows = UserRows(users, values, lists, offered)
        store = Store.holding(own_store.request, own_store.schema, rows)
        store.user_weights = own_store.user_weights
        return Evaluator._of(store)

    def _array(self, name: str) -> npt.NDArray[np.int64]:
        """Give a growing state as one array of all batches, empty without any.

        torchmetrics makes one tensor of the list of batches when it gathers processes.
        """
        state = getattr(self, name)
        tensors = state if isinstance(state, list) else [state]
        arrays = [tensor.cpu().numpy() for tensor in tensors]
        return np.concatenate([np.empty(0, np.int64), *arrays])

    def sync(
        self,
        dist_sync_fn: Callable[..., Any] | None = None,
        process_group: Any = None,
        should_sync: bool = True,
        distributed_available: Callable[..., Any] | None = None,
    ) -> None:
        """Gather the states of all processes, even of those without a batch.

        The parameters are those of ``torchmetrics.Metric.sync``.
        """
        with self._all_or_nothing():
            for name in _GROWING_STATES:
                state = getattr(self, name)
                if isinstance(state, list) and not state:
                    # For an empty list torchmetrics would send a tensor of another dtype.
                    state.append(torch.zeros(0, dtype=torch.int64, device=self.device))
            super().sync(dist_sync_fn, process_group, should_sync, distributed_available)

    @contextmanager
    def sync_context(
        self,
        dist_sync_fn: Callable[..., Any] | None = None,
        process_group: Any = None,
        should_sync: bool = True,
        should_unsync: bool = True,
        distributed_available: Callable[..., Any] | None = None,
    ) -> Iterator[None]:
        """Gather the states of all processes for a ``with`` block, also for one that raises.

        The parameters are those of ``torchmetrics.Metric.sync_context``.
        """
        self.sync(dist_sync_fn, process_group, should_sync, distributed_available)
        try:
            yield
        finally:
            self.unsync(should_unsync=self._is_synced and should_unsync)

    def merge_state(self, incoming_state: dict[str, Any] | Metric) -> None:
        """Add the states of another metric of the same truth, metrics and options.

        The parameter is that of ``torchmetrics.Metric.merge_state``.
        """
        with self._all_or_nothing():
            super().merge_state(incoming_state)
            self._settle()

    def reset(self) -> None:
        """Remove all users."""
        self._settle()
        super().reset()

    def _load_from_state_dict(self, *args: Any, **kwargs: Any) -> None:
        super()._load_from_state_dict(*args, **kwargs)
        self._settle()

    def _settle(self) -> None:
        """Make lists of the growing states, and forget what was computed of other states.

        torchmetrics makes one tensor of each list where it gathers processes, and may save it.
        """
        for name in _GROWING_STATES:
            state = getattr(self, name)
            if not isinstance(state, list):
                setattr(self, name, [state])
        self._computed = None

    @contextmanager
    def _all_or_nothing(self) -> Iterator[None]:
        """Put all states back if the ``with`` block raises or is interrupted within it."""
        # Copies, since torchmetrics empties lists; [:] also takes the tensors of gathered states.
        growing_states = {name: getattr(self, name)[:] for name in _GROWING_STATES}
        before = self.__dict__ | growing_states
        try:
            yield
        except BaseException:
            self.__dict__.update(before)
            raise

    def set_dtype(self, dst_type: str | torch.dtype) -> RankingMetrics:  # noqa: ARG002
        """Do nothing: the states contain indices and exact values."""
        return self


def _one_key(keys: torch.Tensor) -> torch.Tensor:
    """The key of states to merge, which must have the same one; ``keys`` are 1-d."""
    if (keys != keys[0]).any():
        msg = (
            "states of RankingMetrics with different truth, metrics or options cannot be merged or "
            "loaded; expected the same in all"
        )
        raise ArgumentError(msg)
    return keys[0]
