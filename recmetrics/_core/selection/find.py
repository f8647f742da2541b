"""``find_hits``: from scores to hits, by the ranker of the scores."""

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np

from recmetrics._core.errors import ArgumentError, InputTypeError, ShapeError, at_fault, warn
from recmetrics._core.inputs import (
    ItemSets,
    Rankings,
    Rows,
    ScoreMatrix,
    SharedSet,
    SparseSets,
    Users,
    is_sparse_tensor,
    places_of_entries,
    read_matrix,
    users_of_entries,
)
from recmetrics._core.jit import add_work, counts_work
from recmetrics._core.selection.device import (
    DeviceFactors,
    DeviceRanker,
    DeviceScores,
    as_tensor,
    on_device,
)
from recmetrics._core.selection.exposure import exposures
from recmetrics._core.selection.factors import FactorRanker, FactorScores
from recmetrics._core.selection.hits import Hits, Slots, read_labels
from recmetrics._core.selection.lists import ListReader, ListSink
from recmetrics._core.selection.matrix import MatrixRanker
from recmetrics._core.selection.rankers import Ranker
from recmetrics._core.selection.rankings import ListRanker
from recmetrics._core.selection.tied import EqualScores, TiedRanker
from recmetrics._core.selection.work import work_beyond, work_of
from recmetrics._core.spec import Cutoffs, Request
from recmetrics._core.types import IntArray, UserValues

# Fewer users may all lack their relevant items, since candidates may come from a model.
_MIN_USERS = 10


AnyScores = ScoreMatrix | FactorScores | DeviceScores
Source = AnyScores | Rankings | EqualScores


class Selection(NamedTuple):
    """The result of selection: the hits, and the metrics computed from lists on the way."""

    hits: Hits
    list_values: Mapping[str, UserValues]  # of the metrics that read lists, by metric string
    exposure: ListSink | None  # the sink of the lists that metrics of all lists read
    cutoffs: Cutoffs
    n_swallowed_users: int  # users whose relevant items are all excluded
    # The repeats and the unknown items of each list, (2, users); None where they are errors.
    n_invalid: IntArray | None = None
    slots: Slots | None = None  # None where no metric names a stratum or weighs
    # Microseconds of work that the hits took beyond the estimate, see ``work_beyond``. They are
    # counted after the metrics: to load or to compile the kernels of these takes longer than to run
    # them as Python once more.
    unexpected_work: float = 0.0

    def owning_copy(self) -> "Selection":
        """The selection with copies of the arrays that it shares with the caller's truth.

        A batch waits to be measured, while the caller may write the next one into its arrays.
        """
        hits = self.hits._replace(start=self.hits.start.copy(), ideal=self.hits.ideal.copy())
        slots = self.slots
        if slots is not None:
            slots = slots._replace(items=slots.items.copy())
        return self._replace(hits=hits, slots=slots)

    def swallowed(self) -> tuple[int, int, int]:
        """Count the users whose relevant items are all excluded.

        Also gives the number of users with relevant items, and that of all relevant items.
        """
        n_relevant = self.hits.n_relevant
        return self.n_swallowed_users, int(np.count_nonzero(n_relevant)), int(n_relevant.sum())


def find_hits(
    scores: Source,
    users: Users,
    request: Request,
    sink: ListSink | None = None,
    cutoffs: Cutoffs | None = None,
    *,
    with_slots: bool = False,
    keeps_ideal: bool = False,
) -> Selection:
    """Find the rank of each relevant item in its user's ranking.

    Each relevant item has a slot in the hits. Of users with many relevant items, only the slots
    that the metrics read may be kept, unless ``keeps_ideal``. The lists that metrics of all lists
    read go to ``sink``, by default an ``Exposures`` of the call. ``request`` holds the metrics and
    the options of the call; ``cutoffs`` are those of the request, if the caller has them. With
    ``with_slots`` the result has ``slots``, which say which item each hit is; metrics that name a
    stratum or weigh get them anyway.
    """
    if cutoffs is None:
        cutoffs = request.cutoffs(users.n_items, longest_list(scores))
    count_work(scores, users, cutoffs.hits, cutoffs.lists)
    relevant = slots = reader = None
    if with_slots or users.side.strata or "propensity" in users.side.values:
        relevant, slots = _read_slots(users)
    if cutoffs.lists is not None:
        _refuse_wasted(scores, users.n_items, request)
        sink = _sink_of(request, cutoffs, sink)
        reader = ListReader(request, users.side, users.truth.n_users, cutoffs, sink, relevant)
        if users.candidates is None and users.truth.n_users:
            reader.offer(slice(None))  # any item may be in a list
    if relevant is not None:
        # Numbers in place of the relevances tell which item each hit is; they are put back below.
        users = users._replace(truth=SparseSets(_labelled(relevant), users.truth.n_items))

    most_slots = None
    if relevant is None and not keeps_ideal:
        most_slots = cutoffs.slots
    ranker = ranker_of(scores, users, most_slots)
    hits, n_swallowed_users = ranker.hits(cutoffs.hits, request, reader)
    unexpected_work = 0.0
    if counts_work():
        unexpected_work = work_beyond(scores, users, cutoffs.hits, hits)
    if cutoffs.hits is not None and users.candidates is not None:
        _warn_of_candidates(users, hits)
    list_values = {} if reader is None else reader.values
    n_invalid = getattr(ranker, "n_invalid", None)  # of lists
    if relevant is not None and slots is not None:
        # The numbers of ``_labelled`` are read, and the relevances put back.
        gain, place = read_labels(hits, relevant.values)
        slots = slots._replace(place=place)
        hits = hits._replace(ideal=relevant.values, gain=gain)
    return Selection(
        hits, list_values, sink, cutoffs, n_swallowed_users, n_invalid, slots, unexpected_work
    )


def count_work(scores: Source, users: Users, k: int | None, depth: int | None) -> None:
    """Count the work of hits to rank ``k`` and of lists of ``depth``, unless enough is counted.

    Once the work of the process pays for the compilation, its sum matters no more.
    """
    if counts_work():
        add_work(work_of(scores, users, k, depth))


def _refuse_wasted(scores: Source, n_items: int | None, request: Request) -> None:
    """Refuse lists with more ranks than the catalogue has items, for metrics of their items.

    Only wasted ranks make lists so long. The cutoffs of these metrics end at the catalogue.
    """
    if not isinstance(scores, Rankings) or "waste" not in (scores.repeats, scores.unknown):
        return
    is_item = scores.lists.items != -1
    longest = int(np.bincount(users_of_entries(scores.lists.start)[is_item]).max(initial=0))
    if n_items is None or longest <= n_items:
        return
    for text, definition in (request.of_lists | request.of_exposure).items():
        k = definition.spec.k
        if k is None or k > n_items:
            msg = (
                f"{text} cannot read lists of {longest} ranks, more than the {n_items} items of "
                "the catalogue; give repeats='drop', unknown='drop' in place of 'waste'"
            )
            raise ArgumentError(msg)


def _sink_of(request: Request, cutoffs: Cutoffs, sink: ListSink | None) -> ListSink | None:
    """The sink of the lists of a call, None if no metric of all lists reads them."""
    if not request.of_exposure:
        return None
    return exposures(request, cutoffs) if sink is None else sink


def _warn_of_candidates(users: Users, hits: Hits) -> None:
    """Warn of candidates that lack relevant items by mistake."""
    if isinstance(users.candidates, SharedSet):
        _warn_of_padding(users.truth, users.candidates)
    elif users.candidates is not None and not hits.n_hits.any():
        _warn_of_lacking(users.truth, users.candidates)


def _warn_of_lacking(truth: ItemSets, candidates: ItemSets) -> None:
    """Warn if the own candidates of most users have none of their relevant items.

    The caller has found no hit at all. Who samples negatives, and forgets to add the relevant item,
    sees no other sign than values of 0.
    """
    everyone = slice(0, truth.n_users)
    relevant = truth.rows(everyone)
    is_candidate = relevant.among(candidates.rows(everyone))
    n_with_relevant = int(np.count_nonzero(np.diff(relevant.start)))
    n_lacking = n_with_relevant - len(np.unique(relevant.users()[is_candidate]))
    if n_with_relevant >= _MIN_USERS and 2 * n_lacking > n_with_relevant:
        warn(
            f"candidates have no relevant item of {n_lacking:,} of the {n_with_relevant:,} users "
            "with relevant items, so these users cannot have a hit; add the relevant items to the "
            "candidates",
            argument="candidates",
        )


def _warn_of_padding(truth: ItemSets, candidates: SharedSet) -> None:
    """Warn if the targets of several rows are one item that the candidates of all users lack.

    Item 0 often pads sequences. A row that has it as its target counts as one without a hit.
    """
    if truth.mean_items > 1:
        return
    targets = truth.rows(slice(0, truth.n_users)).items
    lacking = targets[~np.isin(targets, candidates.items)]
    if lacking.size >= 2 and np.all(lacking == lacking[0]):
        item = int(lacking[0])
        warn(
            f"item {item} is the target of several rows and not among the candidates, so these "
            f"rows have no hit; if it pads sequences, type targets[targets == {item}] = -1, which "
            "leaves these rows out of the means",
            argument="candidates",
        )


def _read_slots(users: Users) -> tuple[Rows, Slots]:
    """The relevant items of all users, and facts about them in slots whose ``place`` is empty."""
    everyone = slice(0, users.truth.n_users)
    relevant = users.truth.in_memory().rows(everyone)
    strata = {}
    for name, sets in users.side.strata.items():
        if isinstance(sets, SharedSet) and users.n_items is not None:
            # A mask of all items: np.isin takes 6 to 13 times as long.
            in_stratum = np.zeros(users.n_items, np.bool_)
            in_stratum[sets.items] = True
            strata[name] = in_stratum[relevant.items]
        elif isinstance(sets, SharedSet):
            strata[name] = np.isin(relevant.items, sets.items)
        else:
            strata[name] = relevant.among(sets.in_memory().rows(everyone))

    weights = np.empty(0)
    propensity = users.side.values.get("propensity")
    if propensity is not None:
        last = int(relevant.items.max(initial=-1))
        if last >= len(propensity):
            msg = (
                f"propensity must hold a number for each item, got {len(propensity)} numbers; "
                f"truth names item {last}"
            )
            raise ShapeError(msg, argument="propensity")
        weights = 1.0 / propensity[relevant.items]
    return relevant, Slots(relevant.items, np.empty(0, np.int64), strata, weights)


def _labelled(relevant: Rows) -> Rows:
    """The relevant items with numbers 1, 2, 3, ... in place of their relevances.

    Selection moves the relevance of an item to the slot of its hit. As a number, it says which of
    the user's relevant items is there, and no kernel has to.
    """
    numbers = places_of_entries(relevant.start) + 1
    return relevant._replace(values=numbers.astype(np.float64))


def longest_list(scores: Source) -> int:
    """The most items that a list of these scores, or of these rankings, can have."""
    if isinstance(scores, Rankings):
        return int(scores.lengths.max(initial=0))
    return scores.shape[1]


def read_scores(scores: Any) -> ScoreMatrix | DeviceScores:
    """Read the caller's matrix of scores, on the device where it is."""
    if isinstance(scores, np.ndarray) or is_sparse_tensor(scores) or not on_device(scores):
        return read_matrix(scores)
    tensor = as_tensor(scores)
    if tensor is None:  # torch cannot read it; the error of ``read_matrix`` says what can be read
        return read_matrix(scores)
    with at_fault("scores"):
        return DeviceScores(tensor)


def read_factors(
    user_factors: Any, item_factors: Any, item_bias: Any
) -> FactorScores | DeviceFactors:
    """Read the scores of a factor model, on the device where its factors are."""
    on_host = isinstance(user_factors, np.ndarray) or isinstance(item_factors, np.ndarray)
    if not on_host and on_device(user_factors) and on_device(item_factors):
        users = as_tensor(user_factors)
        items = as_tensor(item_factors)
        if users is not None and items is not None:
            return DeviceFactors(users, items, item_bias)
    return FactorScores(user_factors, item_factors, item_bias)


def read_model(model: Any) -> AnyScores:
    """Read a matrix of scores, or a tuple of factors of users and items and, perhaps, a bias."""
    if isinstance(model, tuple) and hasattr(model, "indices"):  # of torch.topk or torch.sort
        msg = (
            "scores are the values and indices of the best items; expected the scores of all "
            "items; for lists of items type stream.update_ranked(scores.indices, truth)"
        )
        raise InputTypeError(msg, argument="scores")
    if isinstance(model, tuple) and len(model) in (2, 3) and all(map(_is_matrix, model[:2])):
        user_factors, item_factors, item_bias = (*model, None)[:3]  # of two, the bias is None
        return read_factors(user_factors, item_factors, item_bias)
    return read_scores(model)


def _is_matrix(value: Any) -> bool:
    """Say whether ``value`` is 2-d; a row of a score matrix is not."""
    ndim = getattr(value, "ndim", None)
    if ndim is None and isinstance(value, Sequence) and value:
        ndim = 1 + getattr(value[0], "ndim", isinstance(value[0], Sequence))
    return ndim == 2


def ranker_of(scores: Source, users: Users, most_slots: int | None = None) -> Ranker:
    """The ranker of these scores, which finds the hits of the users.

    The ranker of a matrix may keep only ``most_slots`` hits and relevances of a user, None for all.
    """
    if isinstance(scores, ScoreMatrix):
        return MatrixRanker(scores, users, most_slots)
    if isinstance(scores, Rankings):
        return ListRanker(scores, users)
    if isinstance(scores, EqualScores):
        return TiedRanker(scores, users)
    if isinstance(scores, DeviceScores):
        return DeviceRanker(scores, users)
    return FactorRanker(scores, users)  # FactorScores and DeviceFactors
