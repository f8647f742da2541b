"""Mutation: typical faults, planted one at a time in a copy of the package; tests must see each.

    python tests/campaigns/mutate.py

Each fault is a text that stands in a file exactly once, and what is put in its place; where code
has moved on, the script says so and ends. Every fault names the tests that shall see it, so that a
run takes seconds; the kernels run as plain Python. The closing line says how many faults died.
"""

import argparse
import os
import shlex
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import NamedTuple

_ROOT = Path(__file__).resolve().parents[2]
_LIMIT = 600  # seconds; a fault that makes a loop endless dies by it

FUZZ = "tests/campaigns/test_fuzz.py"
KERNELS = f"tests/metrics/test_kernels.py {FUZZ} -k 'hand or (problems and ranked)'"
TIES = f"tests/selection/test_ties.py {FUZZ} -k 'hand or (problems and (chance or ceiling))'"
SCORES = f"{FUZZ} -k 'problems and (compute or methods)'"
TILES = "tests/selection/test_selection.py -k from_tile"
FACTORS = f"{FUZZ} -k 'problems and factors and not dask'"
BATCHES = f"{FUZZ} -k 'problems and evaluator'"
DEVICE = "tests/selection/test_device.py -k 'every_dtype and (float32 or int8)'"
SORTED_ROWS = "tests/selection/test_device.py -k rows_sorted"


class Fault(NamedTuple):
    """One wrong edit, and the tests that see it."""

    what: str
    file: str
    text: str
    instead: str
    tests: str


FAULTS = [
    # --- Metrics
    Fault(
        "a discount that begins one rank late", "_selection/hits.py",
        '"log2": lambda rank: np.log2(rank + 1.0)', '"log2": lambda rank: np.log2(rank + 2.0)',
        KERNELS,
    ),
    Fault(
        "dcg reads the discount of the next rank", "metrics/accuracy.py",
        "weight += hits.discount[rank - 1]\n            if last",
        "weight += hits.discount[min(rank, hits.discount.size - 1)]\n            if last",
        KERNELS,
    ),
    Fault(
        "capped and relevant exchanged", "metrics/accuracy.py",
        "if denom != _RECALL_RELEVANT:", "if denom == _RECALL_RELEVANT:",
        KERNELS,
    ),
    Fault(
        "map divides by R where it is capped", "metrics/accuracy.py",
        "            divisor = min(relevant, cut)\n            if denom == _MAP_LIST",
        "            divisor = relevant\n            if denom == _MAP_LIST",
        KERNELS,
    ),
    Fault(
        "precision divides by the list as k", "metrics/accuracy.py",
        "min(cut, hits.length[user]) if denom == _BY_LIST else cut",
        "min(cut, hits.length[user])",
        KERNELS,
    ),
    Fault(
        "R counted within k only", "metrics/accuracy.py",
        "    return last - first  # type: ignore[no-any-return]",
        "    return min(last - first, hits.n_hits[user])",
        KERNELS,
    ),
    Fault(
        "rel excludes its own value", "metrics/accuracy.py",
        "hits.ideal[last - 1] < rel", "hits.ideal[last - 1] <= rel",
        KERNELS,
    ),
    Fault(
        "a hit at rank k is missed", "metrics/accuracy.py",
        "hits.first[slot] <= depth:\n", "hits.first[slot] < depth:\n",
        KERNELS,
    ),
    Fault(
        "a hit at rank k is not counted", "metrics/accuracy.py",
        "hits.first[slot] <= depth:  #", "hits.first[slot] < depth:  #",
        KERNELS,
    ),
    Fault(
        "the ideal ascends", "_selection/hits.py",
        "own[place - gap] < value", "own[place - gap] > value",
        SCORES,
    ),
    Fault(
        "exp2 without the - 1", "_selection/hits.py",
        "np.exp2(relevance) - 1.0)", "np.exp2(relevance))",
        KERNELS,
    ),
    Fault(
        "auc counts a tie as a pair in order", "metrics/full_ranking.py",
        "0.5 * (hits.first[slot] + hits.last[slot])", "hits.first[slot]",
        "tests/metrics/test_kernels.py -k 'within_the_bounds and auc'",
    ),
    Fault(
        "coverage of the items listed, not offered", "metrics/system.py",
        "n_items = np.count_nonzero(exposure.offered)", "n_items = len(exposure.offered)",
        "tests/metrics/test_system.py -k catalogue",
    ),
    Fault(
        "personalization counts empty lists", "_selection/exposure.py",
        "n_lists += n_listed > 0", "n_lists += 1",
        KERNELS,
    ),
    # --- Selection
    Fault(
        "reversed ties", "_selection/kernels.py",
        "least = _count_reaching(tile[:n_before], score)\n"
        "            more = _count_above(tile[n_before:], score)",
        "least = _count_above(tile[:n_before], score)\n"
        "            more = _count_reaching(tile[n_before + 1 :], score)",
        SCORES,
    ),
    Fault(
        "reversed ties of lists", "_selection/kernels.py",
        "while j > begin and values[j - 1] < score:", "while j > begin and values[j - 1] <= score:",
        SCORES,
    ),
    Fault(
        "equal scores are the worst of a merge", "_selection/kernels.py",
        "values[right] > spare_values[left]:", "values[right] >= spare_values[left]:",
        "tests/metrics/test_beyond.py -k lists",
    ),
    Fault(
        "the last score of a count is dropped", "_selection/kernels.py",
        "    for i in range(values.size):\n"
        "        count = np.int32(count + np.int32(values[i] > score))",
        "    for i in range(values.size - 1):\n"
        "        count = np.int32(count + np.int32(values[i] > score))",
        SCORES,
    ),
    Fault(
        "an item below k - 1 others is no hit", "_selection/kernels.py",
        "if _count_above(lanes, score) >= k:", "if _count_above(lanes, score) >= k - 1:",
        SCORES,
    ),
    Fault(
        "a list of a few lanes is full", "_selection/kernels.py",
        "if _count_above(best, lowest) >= k:", "if n_lanes > 0:",
        "tests/selection/test_selection.py -k fewer_recommendable",
    ),
    Fault(
        "items in no order take the places of others", "_inputs/sets.py",
        "place += own[j] < own[i]", "place += own[j] <= own[i]",
        "tests/inputs/test_inputs.py",
    ),
    Fault(
        "a repeated item in no order is not noticed", "_inputs/sets.py",
        "if 2 * total < own.size * (own.size - 1):", "if False:",
        "tests/inputs/test_inputs.py",
    ),
    Fault(
        "many items of a user are not sorted", "_inputs/sets.py",
        "while place >= first + gap and items[place - gap] > item:", "while False:",
        "tests/inputs/test_inputs.py",
    ),
    Fault(
        "the first users are measured in every block", "_results/measure.py",
        "measure(everyone.part(rows), rows)", "measure(everyone, rows)",
        f"{FUZZ} -k compute",
    ),
    Fault(
        "a bound that fewer than k reach", "_selection/kernels.py",
        "            if count >= k:\n                reached",
        "            if count >= k - 1:\n                reached",
        SCORES,
    ),
    Fault(
        "stale lanes between rows", "_selection/kernels.py",
        "    for j in range(lanes.size):\n        lanes[j] = lowest\n    begin",
        "    begin",
        SCORES,
    ),
    Fault(
        "an excluded item holds up the bound", "_selection/kernels.py",
        "if row[item] >= lanes[lane]:", "if row[item] > lanes[lane]:",
        "tests/selection/test_selection.py -k excluded_item",
    ),
    Fault(
        "exclude ignored", "_selection/matrix.py",
        "if self.exclude is not None:\n                excluded",
        "if self.exclude is False:\n                excluded",
        SCORES,
    ),
    Fault(
        "exclude ignored beside candidates", "_selection/matrix.py",
        "rest = ~own.among(excluded)",
        "rest = np.ones(len(own.items), bool)",
        SCORES,
    ),
    Fault(
        "a score of -inf is listed", "_inputs/scores.py",
        "np.float64(-np.inf), np.finfo(np.float64).min", "np.float64(-np.inf), np.float64(-np.inf)",
        SCORES,
    ),
    Fault(
        "NaN as the best", "_inputs/scores.py",
        "np.float32(np.nan) if magnitude > infinity", "np.float32(32_767) if magnitude > infinity",
        SCORES,
    ),
    Fault(
        "the order of halves of one sign", "_inputs/scores.py",
        "key = -magnitude if signed < 0 else magnitude", "key = signed",
        SCORES,
    ),
    Fault(
        "large integers rounded", "_inputs/scores.py", "_EXACT = 1 << 53", "_EXACT = 1 << 60",
        "tests/inputs/test_inputs.py -k large_integers",
    ),
    Fault(
        "unsigned scores compared as signed", "_inputs/scores.py",
        "block = (block ^ np.uint64(1 << 63)).view(np.int64)", "block = block.view(np.int64)",
        SCORES,
    ),
    Fault(
        "a rank list that ends one early", "_selection/kernels.py",
        "for i in range(min(k, n_ranked)):\n            item",
        "for i in range(min(k, n_ranked) - 1):\n            item",
        KERNELS,
    ),
    Fault(
        "sparse scores of other entries", "_inputs/scores.py",
        "values = self.array[entries]", "values = self.array[: entries.stop - entries.start]",
        "tests/inputs/test_sparse_scores.py",
    ),
    Fault(
        "scores that are stored twice are added", "_inputs/sparse.py",
        "    if repeats:\n        user", "    if False:\n        user",
        "tests/inputs/test_errors.py -k store_an_item_twice",
    ),
    Fault(
        "item 0 is no item", "_inputs/read_sets.py",
        "known = classes >= 0", "known = classes > 0", "tests/inputs/test_inputs.py -k one_item",
    ),
    Fault(
        "groups in order of their ids", "_inputs/flat_groups.py",
        "appearance = np.argsort(first)", "appearance = np.arange(len(first))",
        "tests/metrics/test_groups.py -k ids",
    ),
    # --- Streams
    Fault(
        "a sum that forgets what rounding took", "_results/totals.py",
        "lost + one[..., 1] + other[..., 1]", "lost + other[..., 1]",
        "tests/evaluators/test_stream.py -k pairs",
    ),
    Fault(
        "of merged streams the larger count of excluded truth stands", "_results/totals.py",
        "swallowed=self.swallowed + other.swallowed",
        "swallowed=np.maximum(self.swallowed, other.swallowed)",
        "tests/evaluators/test_stream.py -k excluded_truth",
    ),
    Fault(
        "an infinite mean has an interval", "_results/totals.py",
        "if n == 1 or math.isinf(mean):", "if n == 1:",
        "tests/evaluators/test_stream.py -k too_large_for_one",
    ),
    Fault(
        "the spread of parts without the distance of their means", "_results/totals.py",
        "return _added(_added(one, other), between)", "return _added(one, other)",
        "tests/evaluators/test_stream.py -k vary_little",
    ),
    Fault(
        "a merged stream takes a size that is not known", "_results/store.py",
        "self.n_items if schema.shape[1] is None else schema.shape[1]", "schema.shape[1]",
        "tests/evaluators/test_stream.py -k size_of_a_catalogue",
    ),
    Fault(
        "a batch without events decides the size", "_results/store.py",
        "        if not size[0]:\n", "        if False:\n",
        "tests/evaluators/test_stream.py -k decides_no_size",
    ),
    # --- Blocks, batches, tiles
    Fault(
        "the last row block is dropped", "_threads.py",
        "starts = range(0, max(1, n_rows), rows)", "starts = range(0, max(1, n_rows - 1), rows)",
        SCORES,
    ),
    Fault(
        "the last tile of items is dropped", "_selection/factors.py",
        "for part in row_blocks(n_items, _TILE_ITEMS):",
        "for part in row_blocks(max(1, n_items - _TILE_ITEMS), _TILE_ITEMS):",
        FACTORS,
    ),
    Fault(
        "stale bound between users of a tile", "_selection/kernels.py",
        "        row = tile[user, :width]\n        bound = bounds[user]",
        "        row = tile[user, :width]\n        bound = bounds[max(0, user - 1)]",
        FACTORS,
    ),
    Fault(
        "a full buffer keeps every equal score", "_selection/kernels.py",
        "equal = k - _count_above(values[:count], bound)", "equal = count",
        FACTORS,
    ),
    Fault(
        "a list of a full pool loses its worst", "_selection/kernels.py",
        "_shrink(values, items, count, k, lowest)\n            count = np.int64(k)",
        "_shrink(values, items, count, k, bound)\n            count = np.int64(k)",
        "tests/metrics/test_beyond.py -k 'lists_are_those_of_a_sort and random-767'",
    ),
    Fault(
        "a bias of other items", "_selection/factors.py",
        "scores += self._bias[own.items]", "scores += self._bias[np.sort(own.items)]",
        FACTORS,
    ),
    Fault(
        "the slots of a block without its offset", "_selection/hits.py",
        "starts = [b.start[:-1] + o for", "starts = [b.start[:-1] + 0 * o for",
        SCORES,
    ),
    Fault(
        "a merge where the first user stands", "_results/store.py",
        "                self._append(part.batch(), has_merged=True)\n",
        "                new = ~self.updated[part.users]\n"
        "                values, lists = part.values[:, new], part.lists[new]\n"
        "                part = part._replace(users=part.users[new], values=values, lists=lists)\n"
        "                self._append(part.batch(), has_merged=True)\n",
        BATCHES,
    ),
    Fault(
        "the list of a repeated user keeps its end", "_results/rows.py",
        "        self.lists[batch.users, added:] = -1\n", "",
        "tests/evaluators/test_evaluator.py -k replaced_by_shorter",
    ),
    Fault(
        "the next batch begins where the last began", "_results/store.py",
        "next_user = users.stop", "next_user = users.start + 1",
        "tests/evaluators/test_evaluator.py -k follow_one_another",
    ),
    Fault(
        "batches that wait stand over what is merged later", "_results/store.py",
        "                self._append(part.batch(), has_merged=True)\n",
        "                log = part.batch(), *self._kept.log\n"
        "                self._kept = self._kept._replace(log=log)\n",
        "tests/evaluators/test_evaluator.py -k later_merge",
    ),
    Fault(
        "of batches that wait together the first one stands", "_results/rows.py",
        "        self.values[:, users] = values\n",
        "        users = np.arange(len(self.updated))[users][::-1]\n"
        "        self.values[:, users] = values[:, ::-1]\n",
        "tests/evaluators/test_evaluator.py -k last_rows",
    ),
    Fault(
        "a batch that waits lies over the one before", "_results/store.py",
        "hits = join([each.hits for each in found])", "hits = join([found[0].hits for _ in found])",
        "tests/evaluators/test_evaluator.py -k last_rows",
    ),
    # --- Ties, undefined
    Fault(
        "best and worst exchanged", "_selection/hits.py",
        'best_first=ties == "best"', 'best_first=ties == "worst"',
        SCORES,
    ),
    Fault(
        "the range of a metric where lower is better is upside down", "_spec/request.py",
        "least, greatest = greatest, least", "pass",
        "tests/selection/test_ties.py -k three_keys",
    ),
    Fault(
        "gains of a tie group stay in place", "_selection/hits.py",
        "gain[tied] = gain[tied[order]]", "gain[tied] = gain[tied]",
        SCORES,
    ),
    Fault(
        "a tie group without those after it", "_selection/kernels.py",
        "reaching[p] += least + _count_reaching(tile[n_before:], score)",
        "reaching[p] += least + (_count_reaching(tile[n_before:], score) if n_before else 0)",
        SCORES,
    ),
    Fault(
        "ties of an earlier tile come later", "_selection/kernels.py",
        "n_before = min(max(places[p] - begin, 0), tile.size)",
        "n_before = places[p] - begin if begin <= places[p] < begin + tile.size else 0",
        TILES,
    ),
    Fault(
        "a slot without a hit keeps its place", "_selection/kernels.py",
        "            tied.first[slot] = 0\n            tied.last[slot] = 0\n", "",
        SCORES,
    ),
    Fault(
        "chance counts excluded items", "_selection/tied.py",
        "n_recommendable = n_items - np.diff(excluded.start)",
        "n_recommendable = np.full(len(n_recommendable), n_items)",
        TIES,
    ),
    Fault(
        "zero where a user never came", "_results/measure.py",
        "        missing &= known\n", "        pass\n",
        "tests/evaluators/test_evaluator.py -k 'zero or undefined'",
    ),
    Fault(
        "a convention wins over what is typed", "_spec/grammar.py",
        "checked = {**line.options, **typed}", "checked = {**typed, **line.options}",
        "tests/spec/test_conventions.py -k wins",
    ),
    # --- Inputs
    Fault(
        "explicit zeros are relevant", "_inputs/sets.py",
        "return rows if smallest > 0.0 or values.all() else rows.keep(values != 0.0)",
        "return rows",
        SCORES,
    ),
    Fault(
        "the users of a sparse block from the first on", "_inputs/sets.py",
        "slice(own[0], own[-1])", "slice(0, own[-1] - own[0])",
        SCORES,
    ),
    Fault(
        "a device ranks equal scores from right to left", "_selection/device.py",
        "columns < item", "columns > item",
        DEVICE,
    ),
    Fault(
        "a device forgets the equal scores of a tie group", "_selection/device.py",
        "above + is_equal.sum(1)", "above + 1",
        DEVICE,
    ),
    Fault(
        "a device ranks -inf", "_selection/device.py",
        "found[0] *= own.gather(1, items) > lowest", "pass",
        DEVICE,
    ),
    Fault(
        "a device lists any of the equal scores", "_selection/device.py",
        "is_equal.cumsum(1) <= room", "is_equal.flip(1).cumsum(1).flip(1) <= room",
        DEVICE,
    ),
    Fault(
        "a device hides an integer behind the smallest one", "_selection/device.py",
        "if (whole == lowest).any():", "if False:",
        "tests/selection/test_device.py -k 'every_dtype and int64'",
    ),
    Fault(
        "a device reads unsigned numbers as signed ones", "_selection/device.py",
        "whole = whole ^ lowest", "pass",
        "tests/selection/test_device.py -k 'every_dtype and uint64'",
    ),
    Fault(
        "a device ranks excluded items", "_selection/device.py",
        "        if excluded is not None:\n            scores =",
        "        if excluded is None:\n            scores =",
        DEVICE,
    ),
    Fault(
        "a device forgets an excluded NaN", "_selection/device.py",
        "scores, lowest = _comparable(self._scores.block(rows))",
        "scores, lowest = _comparable(self._scores.block(rows))\n"
        "        if excluded is not None:\n"
        "            scores = scores.index_put(_entries(excluded, scores), scores.new_tensor(0))",
        "tests/selection/test_device.py -k nan",
    ),
    Fault(
        "a sort on a device loses ties", "_selection/device.py",
        "torch.searchsorted(ascending, own, right=True)", "torch.searchsorted(ascending, own)",
        SORTED_ROWS,
    ),
    Fault(
        "a sort on a device ranks equal scores anyhow", "_selection/device.py",
        "ranks = torch.arange(1, n_items + 1, device=scores.device)",
        "ranks = torch.arange(n_items, 0, -1, device=scores.device)",
        SORTED_ROWS,
    ),
    # --- Numbers that may not mean what they seem to
    Fault(
        "a swallowed truth is counted in the first block alone", "_selection/matrix.py",
        "else everyone, sum(n_swallowed)", "else everyone, n_swallowed[0]",
        "tests/inputs/test_warnings.py -k blocks",
    ),
    Fault(
        "users without relevant items are swallowed, too", "_inputs/sets.py",
        "within = start[user] < start[user + 1]", "within = True",
        "tests/inputs/test_warnings.py -k every_form",
    ),
    Fault(
        "half of the users are enough to warn", "_results/measure.py",
        "return 2 * n_swallowed > n_relevant", "return 2 * n_swallowed >= n_relevant",
        "tests/inputs/test_warnings.py -k 'half and compute'",
    ),
    Fault(
        "a list that lacks items has an auc", "_selection/rankings.py",
        "(length < n_recommendable) &", "(length < 0) &",
        "tests/inputs/test_errors.py -k auc",
    ),
    Fault(
        "n_items does not limit the truth of rankings", "_inputs/read_sets.py",
        "shape = shape[0], None if is_matrix else n_items", "shape = shape[0], None",
        "tests/inputs/test_errors.py -k 'catalogue'",
    ),
    Fault(
        "nobody says how many users a mean is over", "_results/measure.py",
        "if n_lacking:", "if False:",
        "tests/test_public.py -k progress_says",
    ),
    # --- Interruption, threads, and what comes damaged
    Fault(
        "machine code is not compiled anew where a helper has changed", "_jit.py",
        "digest.update(entry.read_bytes())", "digest.update(b'')",
        "tests/test_jit.py -k has_changed",
    ),
    Fault(
        "of two errors the last is raised", "_threads.py",
        "errors.pop(min(errors))", "errors.pop(max(errors))",
        "tests/selection/test_threads.py -k two_errors",
    ),
    Fault(
        "the log is emptied before it is written", "_results/store.py",
        "            kept = self._kept\n            content",
        "            kept = self._kept\n            self._kept = kept._replace(log=())\n"
        "            content",
        "tests/evaluators/test_interruption.py -k 'any_line_leaves and compute'",
    ),
    Fault(
        "a batch is marked before it can fail", "_results/store.py",
        "        lists, offered = _lists_of(found)\n        size",
        "        self.updated[users] = True\n"
        "        lists, offered = _lists_of(found)\n        size",
        "tests/evaluators/test_interruption.py -k metrics_fail",
    ),
    Fault(
        "threads share an evaluator without a lock", "_results/store.py",
        "with self._lock:\n            self._check_size", "if True:\n            self._check_size",
        "tests/evaluators/test_interruption.py -k waits_for_a_call",
    ),
    Fault(
        "two threads add the same next rows", "_results/store.py",
        "if in_order and users.start != self.next_user:", "if False:",
        "tests/evaluators/test_interruption.py -k next_rows",
    ),
    Fault(
        "metrics are merged by position", "_results/store.py",
        "        part = part.in_order([rows.index(text) for text in self._texts])\n", "",
        "tests/evaluators/test_store.py -k another_order",
    ),
    Fault(
        "an evaluator reads the truth of its caller", "_evaluator.py",
        "= known.own()", "= known",
        "tests/evaluators/test_evaluator.py -k changes_later",
    ),
    Fault(
        "a pickle is written from what changes", "_results/store.py",
        "copy.deepcopy(self.content())", "self.content()",
        "tests/evaluators/test_interruption.py -k written_from",
    ),
    Fault(
        "every waiting batch keeps a catalogue", "_results/store.py",
        "lists.nbytes + offered.nbytes", "lists.nbytes",
        "tests/evaluators/test_evaluator.py -k few_catalogues",
    ),
    Fault(
        "evaluators of another truth are merged", "_results/saved.py",
        "if self.data.get(name) != other.data.get(name):", "if False:",
        "tests/evaluators/test_evaluator.py -k other_data",
    ),
    Fault(
        "evaluators of another NaN policy are merged", "_results/saved.py",
        "            nan=request.nan,", '            nan="raise",',
        "tests/evaluators/test_store.py -k different_questions",
    ),
    Fault(
        "float8 is read as an integer", "_inputs/arrays.py",
        'return (own and dtype.kind in "biuf"', 'return (dtype.kind in "biuf"',
        "tests/inputs/test_inputs.py -k fewer_bits",
    ),
    Fault(
        "the negative bit of a tensor is lost", "_inputs/arrays.py",
        "        value = value.resolve_neg()\n", "        pass\n",
        "tests/inputs/test_inputs.py -k negative",
    ),
    Fault(
        "the indices of sparse matrices are followed unchecked", "_inputs/sparse.py",
        "    made.check_format()\n", "",
        "tests/inputs/test_errors.py -k 'damaged and (csr or lil)'",
    ),
    Fault(
        "a lil_array with values of other items is read", "_inputs/sparse.py",
        '    if matrix.format == "lil" and', "    if False and",
        "tests/inputs/test_errors.py -k 'damaged and lil'",
    ),
    Fault(
        "the weights of long lists are kept", "_selection/hits.py",
        "_REMEMBERED = 1 << 12", "_REMEMBERED = 1 << 30",
        "tests/metrics/test_kernels.py -k not_kept",
    ),
    Fault(
        "a NaN is hidden with what is excluded", "_selection/matrix.py",
        'if nan == "raise" and not (values[users, items] >= lowest).all():', "if False:",
        "tests/selection/test_selection.py -k nan_among_excluded",
    ),
    Fault(
        "the lowest integer is hidden", "_selection/matrix.py",
        "if values.min() == lowest:", "if False:",
        "tests/selection/test_selection.py -k hidden_items",
    ),
    Fault(
        "a wasted item takes its rank with it", "_inputs/ranked.py",
        '(is_repeat & (repeats == "drop"))', "is_repeat",
        "tests/inputs/test_invalid_items.py -k wasted_rank_is",
    ),
    Fault(
        "an unknown item that is named again counts twice", "_inputs/ranked.py",
        "lists.named_before() & is_item & ~unknown", "lists.named_before() & is_item",
        "tests/inputs/test_invalid_items.py -k evaluator_counts",
    ),
    Fault(
        "invalid items of a replaced row stay counted", "_results/rows.py",
        "self.invalid[:, batch.users] = 0 if batch.invalid is None else batch.invalid",
        "self.invalid[:, batch.users] += 0 if batch.invalid is None else batch.invalid",
        "tests/inputs/test_invalid_items.py -k evaluator_counts",
    ),
    Fault(
        "metrics of items read k items behind wasted ranks", "_selection/lists.py",
        "if self.ranks is None or k == WHOLE_LIST:", "if True:",
        "tests/inputs/test_invalid_items.py -k metrics_of_items",
    ),
    Fault(
        "a list ends with its last valid item", "_inputs/ranked.py",
        "(self.items != -1) & ~dropped", "(self.items != -1) & ~invalid",
        "tests/tables/test_tables_evaluate.py -k invalid_items_are",
    ),
    Fault(
        "a stratum keeps the ideal of the whole truth", "_selection/hits.py",
        "            hits = _chosen(hits, among, self._among(self._slots, among))",
        "            hits = _chosen(hits, among | True, self._among(self._slots, among))",
        "tests/inputs/test_strata.py -k hand_worked",
    ),
    Fault(
        "strata of two batches are mixed up", "_selection/hits.py",
        'for name in ("items", "place", "weights")\n        )',
        'for name in ("items", "place", "weights")\n        )\n        place = place[::-1]',
        "tests/inputs/test_strata.py -k given_strata_once",
    ),
    Fault(
        "metrics of lists read numbers in place of relevances", "_selection/lists.py",
        "        if self._relevant is not None:\n", "        if False:\n",
        "tests/inputs/test_strata.py -k beside_them",
    ),
    Fault(
        "an evaluator shares its strata with the caller", "_inputs/sets.py",
        "{name: sets.own() for name, sets in self.strata.items()}", "dict(self.strata)",
        "tests/inputs/test_strata.py -k keeps_its_own",
    ),
    Fault(
        "inverse propensities weigh the ideal, too", "_selection/hits.py",
        'ideal=gains if weigh == "ps" else hits.ideal', "ideal=gains",
        "tests/metrics/test_kernels.py -k hand_worked_value",
    ),
    Fault(
        "tied items of unequal weight are in the order of their relevance", "_selection/hits.py",
        "            hits = self._once(key, under, self._once(asked, self._weighed, *asked), ties)",
        "            weighed = self._once(asked, self._weighed, *asked)\n"
        "            hits = under(self._hits, ties)._replace(gain=weighed.gain)",
        "tests/selection/test_ties.py -k range_is_the_mean",
    ),
    Fault(
        "equal differences have a t test", "comparison/_statistics.py",
        "return 2.0 ** (1 - n)", "return 0.0",
        "tests/comparison/test_compare.py -k 'differ or equal or same'",
    ),
    Fault(
        "a resample of weighted users is divided by their number", "comparison/_statistics.py",
        "over[start:stop] = _dot(times, each.weights)", "pass",
        "tests/comparison/test_summary.py -k 'scipy or cover'",
    ),
    Fault(
        "many users are resampled in blocks of neighbours", "comparison/_statistics.py",
        ".permutation(n) % _MOST_DRAWN", "and np.arange(n) * _MOST_DRAWN // n",
        "tests/comparison/test_summary.py -k 'blocks'",
    ),
    Fault(
        "users of weight 0 are counted", "comparison/_summarise.py",
        "members[read.weights[members] > 0]", "members",
        "tests/comparison/test_summary.py -k 'weight'",
    ),
    Fault(
        "every resample has all runs once", "comparison/_statistics.py",
        "times = np.count_nonzero(drawn == run, axis=1)", "times = np.ones(len(drawn))",
        "tests/comparison/test_compare_runs.py -k 'resample or variance'",
    ),
    Fault(
        "unpaired runs are drawn together", "comparison/_statistics.py",
        "side = 0 if sample.paired else 1", "side = 0",
        "tests/comparison/test_compare_runs.py -k 'apart or resample'",
    ),
    Fault(
        "a user who is undefined in a run counts once in each", "comparison/_statistics.py",
        "known / counts if weights is None", "1.0 * known if weights is None",
        "tests/comparison/test_compare_runs.py -k 'defined or define'",
    ),
    Fault(
        "the compact table marks the loser", "comparison/_render.py",
        "pair if (each.difference > 0) != is_lower", "pair if (each.difference > 0) == is_lower",
        "tests/comparison/test_compare_compact.py -k 'letters or text'",
    ),
]  # fmt: skip


def planted(fault, folder):
    """Put the fault into the copy of the package; returns the file and its text before."""
    path = folder / "recmetrics" / fault.file
    before = path.read_text()
    if before.count(fault.text) != 1:
        sys.exit(
            f"{fault.what}: the text stands {before.count(fault.text)} times in {fault.file}, "
            f"expected once:\n{fault.text}"
        )
    path.write_text(before.replace(fault.text, fault.instead))
    return path, before


def tested(tests, folder):
    """Whether these tests pass in the copy, and the last line that pytest printed."""
    words = shlex.split(tests)
    command = [sys.executable, "-m", "pytest", "-q", "-x", "-p", "no:cacheprovider", *words]
    environment = os.environ | {
        "PYTHONPATH": str(folder),
        "NUMBA_DISABLE_JIT": "1",
        "RECMETRICS_SHRINKING": "0",  # that a problem fails is enough
        "PYTHONDONTWRITEBYTECODE": "1",
    }
    try:
        done = subprocess.run(
            command, cwd=folder, env=environment, timeout=_LIMIT, capture_output=True, text=True,
            check=False,
        )  # fmt: skip
    except subprocess.TimeoutExpired:
        return False, "timed out"
    if done.returncode > 1:  # 1: tests ran and failed; below 0: a fault killed the process
        sys.exit(f"pytest {tests} did not run:\n{done.stdout}{done.stderr}")
    if done.returncode < 0:
        return False, f"killed by signal {-done.returncode}"
    return done.returncode == 0, done.stdout.strip().splitlines()[-1]


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("words", nargs="*", help="only faults whose description has one of these")
    words = parser.parse_args().words
    chosen = [f for f in FAULTS if not words or any(word in f.what for word in words)]
    died = 0
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        for part in ("recmetrics", "tests", "docs", "pyproject.toml", "README.md"):
            copy = shutil.copytree if (_ROOT / part).is_dir() else shutil.copy
            copy(_ROOT / part, folder / part)
        for fault in chosen:  # all texts are looked for before anything runs
            path, before = planted(fault, folder)
            path.write_text(before)
        sound = set()
        for number, fault in enumerate(chosen, start=1):
            if fault.tests not in sound:
                passed, line = tested(fault.tests, folder)
                if not passed:
                    sys.exit(f"without any fault, {fault.tests} fails: {line}")
                sound.add(fault.tests)
            path, before = planted(fault, folder)
            passed, line = tested(fault.tests, folder)
            path.write_text(before)
            died += not passed
            state = "SURVIVED" if passed else "died"
            print(f"{number:2} {state:8} {fault.what} ({fault.file}): {line}", flush=True)
    print(f"{died} of {len(chosen)} faults died")
    return 0 if died == len(chosen) else 1


if __name__ == "__main__":
    sys.exit(main())
