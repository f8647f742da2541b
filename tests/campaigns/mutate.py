"""Mutation: typical faults, planted one at a time in a copy of the package; tests must see each.

    python tests/campaigns/mutate.py

Each fault is a text that stands in a file exactly once, and what is put in its place; where code
has moved on, the script says so and ends. Every fault names the tests that shall see it, so that a
run takes seconds; the kernels run as plain Python, with loops in place of their forms in NumPy, but
for faults in these. The closing line says how many faults died.
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

from runs import record

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
MANY = "tests/selection/test_many_relevant.py"
BINS = "tests/selection/test_selection.py -k ranks_are_those_of_a_sort"
LISTS = "tests/metrics/test_beyond.py -k lists_are_those_of_a_sort"
MANY_RELEVANT = "tests/selection/test_many_relevant.py -k 'among_many and index'"
SORTED_ROWS = "tests/selection/test_device.py -k rows_sorted"


class Fault(NamedTuple):
    """One wrong edit, and the tests that see it."""

    what: str
    file: str
    text: str
    instead: str
    tests: str


# By file of the package: what is wrong, the tests that see it, the text, and what takes its place.
_OF_FILES = {
    "_core/selection/hits.py": [
        ("a discount that begins one rank late", KERNELS,
         '"log2": lambda rank: np.log2(rank + 1.0)', '"log2": lambda rank: np.log2(rank + 2.0)'),
        ("R is the number of slots", MANY,
         "return hits._replace(n_relevant=n_relevant)", "return hits"),
        ("exp2 without the - 1", KERNELS, "np.exp2(relevance) - 1.0)", "np.exp2(relevance))"),
        ("the slots of a block without its offset", SCORES,
         "starts = [b.start[:-1] + o for", "starts = [b.start[:-1] + 0 * o for"),
        ("best and worst exchanged", SCORES,
         'best_first=ties == "best"', 'best_first=ties == "worst"'),
        ("gains of a tie group stay in place", SCORES,
         "gain[tied] = gain[tied[order]]", "gain[tied] = gain[tied]"),
        ("the weights of long lists are kept", "tests/metrics/test_kernels.py -k not_kept",
         "_REMEMBERED_RANKS = 1 << 12", "_REMEMBERED_RANKS = 1 << 30"),
        ("a stratum keeps the ideal of the whole truth",
         "tests/inputs/test_strata.py -k hand_worked",
         "_select(hits, among, hits_among)", "_select(hits, among | True, hits_among)"),
        ("strata of two batches are mixed up", "tests/inputs/test_strata.py -k given_strata_once",
         'for name in ("items", "place", "weights")\n        )',
         'for name in ("items", "place", "weights")\n        )\n        place = place[::-1]'),
        ("inverse propensities weigh the ideal, too",
         "tests/metrics/test_kernels.py -k hand_worked_value",
         'if weigh == "ps":', "if True:"),
        ("tied items of unequal weight are in the order of their relevance",
         "tests/selection/test_ties.py -k range_is_the_mean",
         'hits = self._once(("tied", *weighing, ties), under, weighed, ties)',
         "hits = under(self._hits, ties)._replace(gain=weighed.gain)"),
    ],
    "_core/metrics/accuracy.py": [
        ("dcg reads the discount of the next rank", KERNELS,
         "weight += hits.discount[rank - 1]\n            if last",
         "weight += hits.discount[min(rank, hits.discount.size - 1)]\n            if last"),
        ("capped and relevant exchanged", KERNELS,
         "if denom != _RECALL_RELEVANT:", "if denom == _RECALL_RELEVANT:"),
        ("map divides by R where it is capped", KERNELS,
         "            divisor = min(relevant, cut)\n            if denom == _MAP_LIST",
         "            divisor = relevant\n            if denom == _MAP_LIST"),
        ("precision divides by the list as k", KERNELS,
         "if denom == _PRECISION_LIST:", "if True:"),
        ("R counted within k only", KERNELS,
         "    n_relevant = hits.n_relevant[user]\n",
         "    n_relevant = min(hits.n_relevant[user], hits.n_hits[user])\n"),
        ("rel excludes its own value", KERNELS,
         "+= hits.ideal[slot] >= rel", "+= hits.ideal[slot] > rel"),
        ("a hit at rank k is missed", KERNELS,
         "hits.first[slot] <= depth:\n", "hits.first[slot] < depth:\n"),
        ("a hit at rank k is not counted", KERNELS,
         "hits.first[slot] <= depth:  #", "hits.first[slot] < depth:  #"),
    ],
    "_core/metrics/full_ranking.py": [
        ("auc counts a tie as a pair in order",
         "tests/metrics/test_kernels.py -k 'within_the_bounds and auc'",
         "0.5 * (hits.first[slot] + hits.last[slot])", "hits.first[slot]"),
    ],
    "_core/metrics/system.py": [
        ("coverage of the items listed, not offered", "tests/metrics/test_system.py -k catalogue",
         "n_items = np.count_nonzero(exposure.offered)", "n_items = len(exposure.offered)"),
    ],
    "_core/selection/counting.py": [
        ("reversed ties of lists in NumPy", SCORES,
         'ascending = np.argsort(values[::-1], kind="stable")\n'
         "    order = len(values) - 1 - ascending[::-1]",
         'order = np.argsort(values, kind="stable")[::-1]'),
        ("reversed ties of lists", SCORES,
         "count_reaching(run[:i], value) + count_above(run[i + 1 :], value)",
         "count_above(run[:i], value) + count_reaching(run[i + 1 :], value)"),
        ("equal scores are the worst of a merge", "tests/metrics/test_beyond.py -k lists",
         "values[right] > spare_values[left]:", "values[right] >= spare_values[left]:"),
        ("the last score of a count is dropped", SCORES,
         "    for i in range(values.size):\n"
         "        count = np.int32(count + np.int32(values[i] > threshold))",
         "    for i in range(values.size - 1):\n"
         "        count = np.int32(count + np.int32(values[i] > threshold))"),
        ("a bound that fewer than k reach",
         "tests/selection/test_factors.py -k lists_are_those_of_the_dense_product",
         "            if count >= k:\n                reached",
         "            if count >= k - 1:\n                reached"),
    ],
    "_core/selection/exposure.py": [
        ("personalization counts empty lists", KERNELS, "n_lists += n_listed > 0", "n_lists += 1"),
    ],
    "_core/selection/largest.py": [
        ("relevances at the bound are lost", "tests/selection/test_largest.py -k each_user",
         "if i < n_above else bound", "if i < n_above else 0.0"),
        ("relevances at the bound come twice", "tests/selection/test_largest.py -k in_any_order",
         "if row[i] < bound:", "if row[i] <= bound:"),
        ("the ideal is in no order", SCORES,
         "sort_best_first(above[:n_above], None, spare, None)", "pass"),
        ("lanes of the user before", "tests/selection/test_largest.py -k each_user",
         "        lane_maxima[lane] = -1.0\n", "        pass\n"),
    ],
    "_core/selection/kernels.py": [
        ("reversed ties", SCORES,
         "n_reaching_before = count_reaching(tile[:n_before], score)\n"
         "                n_above_after = count_above(tile[n_before:], score)",
         "n_reaching_before = count_above(tile[:n_before], score)\n"
         "                n_above_after = count_reaching(tile[n_before + 1 :], score)"),
        ("equal scores of lanes by the higher item", LISTS,
         "(items[j] < item))", "(items[j] > item))"),
        ("the last item of a lane is passed by", LISTS,
         "        if item < row.size:\n            count = _add_reaching",
         "        if item < row.size - 1:\n            count = _add_reaching"),
        ("lanes are folded with those beside them", LISTS,
         "lane = first + part * folded.size", "lane = first + part"),
        ("an item of a list behind k is a hit",
         "tests/selection/test_many_relevant.py -k made_anyway",
         "min(k, length[user])", "length[user]"),
        ("a NaN in the right half of a tile is overlooked",
         "tests/selection/test_selection.py -k no_nan",
         "has_nan |= (score != score) | (other != other)", "has_nan |= score != score"),
        ("a NaN beside many relevant items is overlooked",
         "tests/selection/test_selection.py -k no_nan",
         "has_nan[0] |= count_reaching(row, scores.lowest) < n_items", "pass"),
        ("lanes of excluded items lose their other items",
         "tests/metrics/test_beyond.py -k takes_no_other",
         "is_folded and excluded_items.size == 0 and", "is_folded and"),
        ("a user without relevant items has a hit of the next",
         "tests/selection/test_many_relevant.py -k values_are_those",
         "if size == 0:  # no relevant items", "if False:"),
        ("hits that are looked up have the first relevance",
         "tests/selection/test_many_relevant.py -k values_are_those",
         "0 if are_equal else places[i]", "0"),
        ("excluded items are not hidden in NumPy", SCORES,
         "    allowed[excluded] = lowest\n", ""),
        ("a score is above the equal relevant one in NumPy",
         "tests/selection/test_many_relevant.py",
         "np.searchsorted(relevant_scores, row)", 'np.searchsorted(relevant_scores, row, "right")'),
        ("an item below k - 1 others is no hit", SCORES,
         "if count_above(lane_maxima, score) >= k:",
         "if count_above(lane_maxima, score) >= k - 1:"),
        ("a list of a few lanes is full",
         "tests/selection/test_selection.py -k fewer_recommendable",
         "if count_above(maxima, lowest) < k:", "if n_lanes == 0:"),
        ("stale lanes between rows", "tests/selection/test_selection.py -k lanes_of_one_user",
         "    for j in range(lane_maxima.size):\n        lane_maxima[j] = lowest\n\n    begin",
         "    begin"),
        ("an excluded item holds up the bound",
         "tests/selection/test_selection.py -k excluded_item",
         "if row[item] >= lane_maxima[lane]:", "if row[item] > lane_maxima[lane]:"),
        ("a rank list that ends one early", KERNELS,
         "for i in range(n_ranked):\n            item",
         "for i in range(n_ranked - 1):\n            item"),
        ("stale bound between users of a tile", "tests/selection/test_factors.py -k of_the_dense",
         "        row = tile[user, :width]\n        bound = collected.bounds[user]",
         "        row = tile[user, :width]\n        bound = collected.bounds[max(0, user - 1)]"),
        ("a full buffer keeps every equal score", FACTORS,
         "equal = k - count_above(values[:count], bound)", "equal = count"),
        ("a list of a full pool loses its worst",
         "tests/metrics/test_beyond.py -k 'lists_are_those_of_a_sort and random-767'",
         "lowest)\n            count = np.int64(k)\n            if begin",
         "bound)\n            count = np.int64(k)\n            if begin"),
        ("a tie group without those after it", SCORES,
         "reaching[p] += n_reaching", "reaching[p] += n_above + (begin <= places[p])"),
        ("an equal score lies above the relevant one", BINS,
         "+ last)] < tile[i]", "+ last)] <= tile[i]"),
        ("scores of a crowded bucket are compared once", BINS,
         "for _ in range(1, most_in_bucket):", "for _ in range(1, min(2, most_in_bucket)):"),
        ("a bucket holds the relevant scores of those before", BINS,
         "return np.uint32(np.int32(bucket))",
         "return np.uint32(np.int32(buckets.last - bucket))"),
        ("scores equal to one of a relevant item are not counted", MANY_RELEVANT,
         "= n_matching > n_relevant or n_repeated > 0", "= n_repeated > 0"),
        ("equal scores of two relevant items are not counted", MANY_RELEVANT,
         "= n_matching > n_relevant or n_repeated > 0", "= n_matching > n_relevant"),
        ("the hits of bins come in item order", SCORES,
         "p = i if bins is None else bins.order[i]", "p = i"),
        ("a sort leaves the hits of ranks where they are",
         "tests/selection/test_many_relevant.py -k ranks_among",
         "table[place] = order[place]", "table[place] = place"),
        ("equal scores share a rank", MANY_RELEVANT,
         "rank[p] += bins.n_equal[b]", "rank[p] += 0"),
        ("a tie group ends with its last relevant item",
         "tests/selection/test_many_relevant.py -k 'among_many and False-worst'",
         "_count_equal_in_bins(row, n_passed, row.size, bins)", "pass"),
        ("bent buckets descend", MANY_RELEVANT,
         "bucket = buckets.last - buckets.last / (_ONE + bucket)",
         "bucket = buckets.last / (_ONE + bucket)"),
        ("the bound of bins forgets excluded items", BINS,
         ">= k + excluded_items.size:", ">= k:"),
        ("ties of an earlier tile come later", TILES,
         "if n_before < 0:", "if not 0 <= n_before <= tile.size:"),
        ("an item at the bound is no hit", MANY,
         "+= row[relevant_items[i]] >= bound", "+= row[relevant_items[i]] > bound"),
        ("an excluded item that reaches the bound is a hit", MANY,
         "        i = possible.places[p]\n        item = relevant_items[i]\n"
         "        if _position(excluded, item) < 0:",
         "        i = possible.places[p]\n        item = relevant_items[i]\n        if True:"),
    ],
    "_core/inputs/sets.py": [
        ("refused relevances are looked up", MANY,
         "n_refused += row.size - n_valid", "n_refused += 0"),
        ("items in no order take the places of others", "tests/inputs/test_inputs.py",
         "place += keys[j] < keys[i]\n", "place += keys[j] <= keys[i]\n"),
        ("a repeated item in no order is not noticed", "tests/inputs/test_inputs.py",
         "            any_repeated = True\n", "            any_repeated = False\n"),
        ("many items of a user are not sorted", "tests/inputs/test_inputs.py",
         "while place >= gap and keys[place - gap] > key:", "while False:"),
        ("explicit zeros are relevant", SCORES,
         "rows = rows.keep(values != 0.0)", "pass"),
        ("the users of a sparse block from the first on", SCORES,
         "slice(block[0], block[-1])", "slice(0, block[-1] - block[0])"),
        ("users without relevant items are swallowed, too",
         "tests/inputs/test_warnings.py -k every_form",
         "is_within = 0 < end - begin <=", "is_within = end - begin <="),
        ("an evaluator shares its strata with the caller",
         "tests/inputs/test_strata.py -k keeps_its_own",
         "{name: sets.owning_copy() for name, sets in self.strata.items()}", "dict(self.strata)"),
    ],
    "_core/results/measure.py": [
        ("the first users are measured in every block", f"{FUZZ} -k compute",
         "measure(everyone.part(rows), rows)", "measure(everyone, rows)"),
    ],
    "_core/results/settle.py": [
        ("zero where a user never came",
         "tests/evaluators/test_evaluator.py -k 'zero or undefined'",
         "        is_missing &= updated\n", "        pass\n"),
    ],
    "_core/results/notes.py": [
        ("users without a relevant item are counted among those without a list",
         "tests/report/test_evaluation.py -k 'cannot_be_hits or count_as_a_number'",
         "(hits.length == 0) & (hits.n_relevant > 0)", "hits.n_relevant == 0"),
        ("users without an item of a stratum are taken for those without any",
         "tests/report/test_evaluation.py -k count_as_a_number",
         " and reads_all:", ":"),
        ("half of the users are enough to warn",
         "tests/inputs/test_warnings.py -k 'half and compute'",
         "return 2 * n_swallowed > n_users", "return 2 * n_swallowed >= n_users"),
        ("nobody says how many users a mean is over", "tests/test_public.py -k progress_says",
         "        if n_missing:\n", "        if False:\n"),
    ],
    "_core/selection/matrix.py": [
        ("bool truth looked up has the gains of its bytes", MANY,
         "hits.gain.fill(1.0)", "pass"),
        ("exclude ignored beside candidates", SCORES,
         "is_allowed = ~rows.among(block.excluded)",
         "is_allowed = np.ones(len(rows.items), bool)"),
        ("a NaN is hidden with what is excluded",
         "tests/selection/test_selection.py -k nan_among_excluded",
         'if nan == "raise" and not (values[entries] >= lowest).all():', "if False:"),
        ("the lowest integer is hidden", "tests/selection/test_selection.py -k hidden_items",
         "if values.min() == lowest:", "if False:"),
    ],
    "_core/inputs/scores.py": [
        ("a score of -inf is listed", SCORES,
         "np.float64(-np.inf), np.finfo(np.float64).min",
         "np.float64(-np.inf), np.float64(-np.inf)"),
        ("NaN as the best", SCORES,
         "np.float32(np.nan) if magnitude > infinity",
         "np.float32(32_767) if magnitude > infinity"),
        ("the order of halves of one sign", SCORES,
         "key = -magnitude if signed < 0 else magnitude", "key = signed"),
        ("large integers rounded", "tests/inputs/test_inputs.py -k large_integers",
         "_LARGEST_EXACT = 1 << 53", "_LARGEST_EXACT = 1 << 60"),
        ("unsigned scores compared as signed", SCORES,
         "block = (block ^ np.uint64(1 << 63)).view(np.int64)", "block = block.view(np.int64)"),
        ("sparse scores of other entries", "tests/inputs/test_sparse_scores.py",
         "values = self.array[entries]", "values = self.array[: entries.stop - entries.start]"),
    ],
    "_core/inputs/sparse.py": [
        ("of entries that repeat the first by column is named",
         "tests/inputs/test_errors.py -k store_an_item_twice",
         "np.lexsort((coo.col, coo.row))", "np.lexsort((coo.row, coo.col))"),
        ("scores that are stored twice are added",
         "tests/inputs/test_errors.py -k store_an_item_twice",
         "    if any_repeated:\n        user", "    if False:\n        user"),
        ("the indices of sparse matrices are followed unchecked",
         "tests/inputs/test_errors.py -k 'damaged and (csr or lil)'",
         "    rebuilt.check_format()\n", ""),
        ("a lil_array with values of other items is read",
         "tests/inputs/test_errors.py -k 'damaged and lil'",
         '    if matrix.format == "lil" and', "    if False and"),
    ],
    "_core/inputs/read_sets.py": [
        ("item 0 is no item", "tests/inputs/test_next_item.py",
         "has_item = classes >= 0", "has_item = classes > 0"),
        ("n_items does not limit the truth of rankings",
         "tests/inputs/test_errors.py -k 'catalogue'",
         "        n_items = None\n    return read_item_sets(",
         "        pass\n    n_items = None\n    return read_item_sets("),
    ],
    "_core/inputs/flat_groups.py": [
        ("sizes that fall are taken for places", "tests/metrics/test_groups.py -k sizes_that_fall",
         "and array[-1] == n_rows and (np.diff(array) >= 0).all()", "and array[-1] == n_rows"),
        ("-inf is a row that is not relevant", "tests/metrics/test_groups.py -k mistakes",
         "np.where(np.isneginf(gains), gains, np.maximum(gains, 0.0))", "np.maximum(gains, 0.0)"),
        ("groups in order of their ids", "tests/metrics/test_groups.py -k ids",
         "appearance = np.argsort(first_rows)", "appearance = np.arange(len(first_rows))"),
    ],
    "_core/results/joint.py": [
        ("the terms of a sum are rounded as they are added",
         "tests/evaluators/test_stream.py -k same_bits_in_any",
         "    multiples = (terms + above_sum) - above_sum\n", "    multiples = 1.0 * terms\n"),
        ("weights are rounded as they are added",
         "tests/evaluators/test_stream.py -k same_bits_in_any",
         "tables[:, 0, 0, 0] = _summed(defined_weights)", "pass"),
        ("a sum that forgets what rounding took", "tests/evaluators/test_stream.py -k no_digit",
         "lost + pairs[..., 1] + others[..., 1]", "lost + others[..., 1]"),
        ("the spread of parts without the distance of their means",
         "tests/evaluators/test_stream.py -k vary_little",
         "tables = added(sums.tables, gain_as_pairs)", "tables = sums.tables"),
        ("of an odd number of parts the last is lost",
         "tests/report/test_compare_sums.py -k gate_are_those",
         "[sums, pairs[2 * half :]]", "[sums, pairs[:0]]"),
    ],
    "_core/results/totals.py": [
        ("streams that are merged wait in any number",
         "tests/evaluators/test_stream.py -k bounded_memory",
         "return 0, 0, sum(array.nbytes for array in arrays)", "return 0, 0, 0"),
        ("of merged streams the larger count of excluded truth stands",
         "tests/evaluators/test_stream.py -k excluded_truth",
         "np.sum([part.swallowed for part in parts], axis=0)",
         "np.max([part.swallowed for part in parts], axis=0)"),
    ],
    "_core/results/store.py": [
        ("a merged stream takes a size that is not known",
         "tests/evaluators/test_stream.py -k size_of_a_catalogue",
         "self.n_items if schema.shape[1] is None else schema.shape[1]", "schema.shape[1]"),
        ("a batch without events decides the size",
         "tests/evaluators/test_stream.py -k decides_no_size",
         "        if not n_rows:\n            return  # a batch without rows must not change the c",
         "        if False:\n            return  # c"),
        ("models that come without a name are not refused",
         "tests/report/test_compare_sums.py -k same_in_every_update",
         "if known_models is None or", "if known_models is None or models == ('',) or"),
        ("a merge where the first user stands", BATCHES,
         "                self._append(part.batch(), has_merged=True)\n",
         "                new = ~self.updated[part.users]\n"
         "                values, lists = part.values[:, new], part.lists[new]\n"
         "                part = part._replace(users=part.users[new], values=values, lists=lists)\n"
         "                self._append(part.batch(), has_merged=True)\n"),
        ("the next batch begins where the last began",
         "tests/evaluators/test_evaluator.py -k follow_one_another",
         "next_user = users.stop", "next_user = users.start + 1"),
        ("batches that wait stand over what is merged later",
         "tests/evaluators/test_evaluator.py -k later_merge",
         "                self._append(part.batch(), has_merged=True)\n",
         "                log = part.batch(), *self._kept.log\n"
         "                self._kept = self._kept._replace(log=log)\n"),
        ("a batch that waits lies over the one before",
         "tests/evaluators/test_evaluator.py -k last_rows",
         "hits = join([selection.hits for selection in selections])",
         "hits = join([selections[0].hits for _ in selections])"),
        ("the log is emptied before it is written",
         "tests/evaluators/test_interruption.py -k 'any_line_leaves and compute'",
         "            state = self._kept\n            content",
         "            state = self._kept\n            self._kept = state._replace(log=())\n"
         "            content"),
        ("a batch is marked before it can fail",
         "tests/evaluators/test_interruption.py -k metrics_fail",
         "        lists, offered = _lists_of(selection)\n        size",
         "        self.updated[users] = True\n"
         "        lists, offered = _lists_of(selection)\n        size"),
        ("threads share an evaluator without a lock",
         "tests/evaluators/test_interruption.py -k waits_for_a_call",
         "with self._lock:\n            self.check_size(batch.n_items, n_rows)\n            if",
         "if True:\n            self.check_size(batch.n_items, n_rows)\n            if"),
        ("two threads add the same next rows", "tests/evaluators/test_interruption.py -k next_rows",
         "if in_order and users.start != self.next_user:", "if False:"),
        ("metrics are merged by position", "tests/evaluators/test_store.py -k another_order",
         "if part_texts != self._per_user:", "if False:"),
        ("a pickle is written from what changes",
         "tests/evaluators/test_interruption.py -k written_from",
         "copy.deepcopy(self.content())", "self.content()"),
        ("every waiting batch keeps a catalogue",
         "tests/evaluators/test_evaluator.py -k few_catalogues",
         "len(hits.rank), lists.nbytes + offered.nbytes", "len(hits.rank), lists.nbytes"),
    ],
    "_core/threads.py": [
        ("the last row block is dropped", SCORES,
         "range(0, max(1, n_rows), block_rows)", "range(0, max(1, n_rows - 1), block_rows)"),
        ("of two errors the last is raised", "tests/selection/test_threads.py -k two_errors",
         "errors.pop(min(errors))", "errors.pop(max(errors))"),
    ],
    "_core/selection/factors.py": [
        ("the last tile of items is dropped", FACTORS,
         "for part in row_blocks(n_items, _TILE_ITEMS):",
         "for part in row_blocks(max(1, n_items - _TILE_ITEMS), _TILE_ITEMS):"),
        ("a bias of other items", FACTORS,
         "scores += self._bias[items]", "scores += self._bias[np.sort(items)]"),
    ],
    "_core/results/rows.py": [
        ("the list of a repeated user keeps its end",
         "tests/evaluators/test_evaluator.py -k replaced_by_shorter",
         "        self.lists[batch.users, width:] = -1\n", ""),
        ("of batches that wait together the first one stands",
         "tests/evaluators/test_evaluator.py -k last_rows",
         "        self.values[:, users] = values\n",
         "        users = np.arange(len(self.updated))[users][::-1]\n"
         "        self.values[:, users] = values[:, ::-1]\n"),
        ("invalid items of a replaced row stay counted",
         "tests/inputs/test_invalid_items.py -k evaluator_counts",
         "self.invalid[:, batch.users] = 0 if batch.invalid is None else batch.invalid",
         "self.invalid[:, batch.users] += 0 if batch.invalid is None else batch.invalid"),
    ],
    "_core/spec/request.py": [
        ("relevances below rel are not kept", MANY,
         'if self.ties or spec.values.get("rel") is not None:', "if self.ties:"),
        ("the range of a metric where lower is better is upside down",
         "tests/selection/test_ties.py -k three_keys",
         "least, greatest = greatest, least", "pass"),
    ],
    "_core/selection/rankers.py": [
        ("exclude ignored", SCORES,
         "        if users.exclude is not None:\n            excluded = users",
         "        if users.exclude is False:\n            excluded = users"),
        ("a swallowed truth is counted in the first block alone",
         "tests/inputs/test_warnings.py -k blocks",
         "else all_hits, sum(n_swallowed)", "else all_hits, n_swallowed[0]"),
        ("chance counts excluded items", TIES,
         "n_recommendable = n_items - np.diff(excluded.start)",
         "n_recommendable = np.full(len(n_recommendable), n_items)"),
    ],
    "_core/spec/grammar.py": [
        ("a convention wins over what is typed", "tests/spec/test_conventions.py -k wins",
         "values = {**line.options, **typed}", "values = {**typed, **line.options}"),
    ],
    "_core/selection/device.py": [
        ("a device ranks equal scores from right to left", DEVICE,
         "columns < item", "columns > item"),
        ("a device forgets the equal scores of a tie group", DEVICE,
         "slot] = reaching", "slot] = above + 1"),
        ("a device ranks -inf", DEVICE,
         "user_ranks[0] *= user_scores.gather(1, items) > lowest", "pass"),
        ("a device lists any of the equal scores", DEVICE,
         "is_tied.cumsum(1, dtype=torch.int32)",
         "is_tied.flip(1).cumsum(1, dtype=torch.int32).flip(1)"),
        ("a device leaves out the items behind the last group", DEVICE,
         "if n_whole * size < n_items:", "if False:"),
        ("a device hides an integer behind the smallest one",
         "tests/selection/test_device.py -k 'every_dtype and int64'",
         "if (whole == lowest).any():", "if False:"),
        ("a device reads unsigned numbers as signed ones",
         "tests/selection/test_device.py -k 'every_dtype and uint64'",
         "whole = whole ^ lowest", "pass"),
        ("a device ranks excluded items", DEVICE,
         "        if len(excluded.items):\n            hide =",
         "        if not len(excluded.items):\n            hide ="),
        ("a device forgets an excluded NaN", "tests/selection/test_device.py -k nan",
         "scores, lowest = _comparable(self._scores.block(rows))",
         "scores, lowest = _comparable(self._scores.block(rows))\n"
         "        if excluded is not None:\n"
         "            scores = scores.index_put(_entries(excluded, scores), scores.new_tensor(0))"),
        ("a sort on a device loses ties", SORTED_ROWS,
         "torch.searchsorted(ascending, item_scores, right=True)",
         "torch.searchsorted(ascending, item_scores)"),
        ("a sort on a device ranks equal scores anyhow", SORTED_ROWS,
         "ranks = torch.arange(1, n_items + 1, device=scores.device)",
         "ranks = torch.arange(n_items, 0, -1, device=scores.device)"),
    ],
    "_core/selection/rankings.py": [
        ("a list that lacks items has an auc", "tests/inputs/test_rankings.py -k auc",
         "(length < n_recommendable) &", "(length < 0) &"),
    ],
    "_core/jit.py": [
        ("small calls import Numba", "tests/test_first_second.py -k hundred",
         "_Work.total < _WORK_TO_COMPILE", "_Work.total < 0"),
    ],
    "_core/selection/find.py": [
        ("the lowest grades are lost to the notes", MANY,
         "if relevant is None and not keeps_ideal:", "if relevant is None:"),
        ("the work of selection is not counted", "tests/test_first_second.py -k adds_up",
         "add_work(work_of(scores, users, k, depth))", "add_work(0)"),
        ("hits are counted as expected", "tests/test_first_second.py -k once_they_are_known",
         "unexpected_work = work_beyond(scores, users, cutoffs.hits, hits)",
         "unexpected_work = 0.0"),
    ],
    "_core/machine_code.py": [
        ("machine code is not compiled anew where a helper has changed",
         "tests/test_jit.py -k has_changed",
         "digest.update(entry.read_bytes())", "digest.update(b'')"),
    ],
    "_core/evaluator.py": [
        ("an evaluator reads the truth of its caller",
         "tests/evaluators/test_evaluator.py -k changes_later",
         "shared, request).owning_copy()", "shared, request)"),
    ],
    "_core/results/saved.py": [
        ("evaluators of another truth are merged",
         "tests/evaluators/test_evaluator.py -k other_data",
         "if self.data.get(name) != other.data.get(name):", "if False:"),
        ("evaluators of another NaN policy are merged",
         "tests/evaluators/test_store.py -k different_questions",
         "            nan=request.nan,", '            nan="raise",'),
    ],
    "_core/inputs/arrays.py": [
        ("float8 is read as an integer", "tests/inputs/test_inputs.py -k fewer_bits",
         'return (of_numpy and dtype.kind in "biuf"', 'return (dtype.kind in "biuf"'),
        ("the negative bit of a tensor is lost", "tests/inputs/test_inputs.py -k negative",
         "        value = value.resolve_neg()\n", "        pass\n"),
    ],
    "_core/inputs/ranked.py": [
        ("item 0 may stand twice in a long row", "tests/inputs/test_rankings.py -k near_or_far",
         "(ordered[:, 1:] >= 0)", "(ordered[:, 1:] > 0)"),
        ("a wasted item takes its rank with it",
         "tests/inputs/test_invalid_items.py -k wasted_rank_is",
         '(is_repeat & (repeats == "drop"))', "is_repeat"),
        ("an unknown item that is named again counts twice",
         "tests/inputs/test_invalid_items.py -k evaluator_counts",
         "lists.named_before() & is_item & ~is_unknown", "lists.named_before() & is_item"),
        ("a list ends with its last valid item",
         "tests/inputs/test_invalid_items.py -k that_of_an_irrelevant_item",
         "(self.items != -1) & ~dropped", "(self.items != -1) & ~invalid"),
    ],
    "_core/selection/lists.py": [
        ("metrics of items read k items behind wasted ranks",
         "tests/inputs/test_invalid_items.py -k metrics_of_items",
         "if self.ranks is None or k == WHOLE_LIST:", "if True:"),
        ("metrics of lists read numbers in place of relevances",
         "tests/inputs/test_strata.py -k beside_them",
         "        if self._relevant is not None:\n", "        if False:\n"),
    ],
    "_core/errors.py": [
        ("a warning counts the buckets of all users",
         "tests/tables/test_tables_in_buckets.py -k a_warning_with",
         "in {len(alike):,} of {n_parts:,}", "in {n_parts:,} of {n_parts:,}"),
    ],
    "tables/_counts.py": [
        ("the first list of a note is that of the first bucket",
         "tests/tables/test_tables_in_buckets.py -k the_first_list",
         'next(filter(None, (getattr(summary, name) for summary in summaries)), "")',
         "getattr(summaries[0], name)"),
        ("relevant items of one each are told twice",
         "tests/tables/test_tables_notes.py -k exclude_holds_are_counted",
         "n_users=self.swallowed[1])", "n_users=self.swallowed[0])"),
    ],
    "tables/_columns.py": [
        ("the least likely column of grades is told",
         "tests/tables/test_tables_notes.py -k likelier_is_told",
         "min(names, default=None", "max(names, default=None"),
        ("a key of the lists is told as a column of grades",
         "tests/tables/test_tables_notes.py -k likelier_is_told",
         "_unread_grades(truth, [*truth_keys, item]", "_unread_grades(truth, [item]"),
    ],
    "tables/_side_tables.py": [
        ("items outside the catalogue need features",
         "tests/tables/test_tables_evaluate.py -k need_no_features",
         "is_absent = (items < self.n_items) & ~np", "is_absent = ~np"),
    ],
    "_report/bounds.py": (
        ("skewness makes the bounds of a gate less strict, too",
         "tests/report/test_gate.py -k 'less_strict'",
         "np.maximum(0.0, -extended.skewness)", "-extended.skewness"),
        ("a plan forgets that a small sample adds a user",
         "tests/report/test_gate.py -k 'users_needed_show'",
         "chance = float(bdtrc(FEW_USERS - 1, int(n), share))", "chance = 1.0"),
    ),
    "_report/statistics.py": [
        ("equal differences have a t test",
         "tests/report/test_compare.py -k 'differ or equal or same'",
         "return 2.0 ** (1 - n)", "return 0.0"),
        ("a resample of weighted users is divided by their number",
         "tests/report/test_summary.py -k 'scipy or cover'",
         "divisors[start:stop] = dot(times_drawn, sums.weights)", "pass"),
        ("many users are resampled in blocks of neighbours",
         "tests/report/test_summary.py -k 'blocks'",
         ".permutation(n) % _MAX_DRAWN", "and np.arange(n) * _MAX_DRAWN // n"),
        ("every resample has all runs once",
         "tests/report/test_compare_runs.py -k 'resample or variance'",
         "times_drawn = np.count_nonzero(draws == run, axis=1)",
         "times_drawn = np.ones(len(draws))"),
        ("unpaired runs are drawn together",
         "tests/report/test_compare_runs.py -k 'apart or resample'",
         "stream = 0 if sample.paired else 1", "stream = 0"),
        ("a user who is undefined in a run counts once in each",
         "tests/report/test_compare_runs.py -k 'defined or define'",
         "is_defined / counts if weights is None", "1.0 * is_defined if weights is None"),
    ],
    "_report/groups.py": [
        ("users of weight 0 are counted", "tests/report/test_summary.py -k 'weight'",
         "rows[user_weights[rows] > 0]", "rows"),
        ("ids that are row numbers, too, are refused",
         "tests/report/test_compare_input.py -k index_that_counts",
         "_is_counted(index) and labels != users:", "_is_counted(index):"),
    ],
    "_report/legends.py": [
        ("of two lists of rows a note gives the number",
         "tests/report/test_summary_page.py -k additional_user_are",
         "_MANY_ROWS = 2", "_MANY_ROWS = 1"),
    ],
    "_report/merged.py": [
        ("what comes too late is named with what nobody gave",
         "tests/report/test_compare_sums.py -k too_late",
         'for name in ("by", "weights") if name in names)', 'for name in ("by", "weights"))'),
    ],
    "_report/movers.py": [
        ("users who do not move are movers", "tests/report/test_gate.py -k largest_gains",
         "np.flatnonzero(sizes > 0)", "np.flatnonzero(sizes >= 0)"),
    ],
    "_report/records.py": [
        ("a record of all lists lacks its numbers of users",
         "tests/report/test_compare_page.py -k test_records",
         '("group", "n_users", "n_undefined")', '("group", "n_users")'),
    ],
    "_report/result_tables.py": [
        ("a user without a value needs a weight",
         "tests/report/test_weights_of_systems.py -k lack_a_weight",
         "(weights >= 0)) & ~np.isnan(values)", "(weights >= 0))"),
        ("the code for pyarrow puts another column in the first place",
         "tests/report/test_result_labels.py -k clocks",
         "native.column_names.index(column)", "0"),
    ],
    "_report/rules.py": [
        ("the advice on a rule for the wrong side keeps the sign",
         "tests/report/test_gate.py -k cannot_be_judged",
         'sign != right_sign or number[0] not in "+-"', 'number[0] not in "+-"'),
    ],
    "_report/samples.py": [
        ("a metric that nobody has makes folds of runs",
         "tests/report/test_compare_runs.py -k folds_of_users_are_paired",
         "n_values.max(initial=0) == 1", "n_values.max(initial=0) <= 1"),
        ("weights that differ between two results count",
         "tests/report/test_weights_of_systems.py -k one_of_two_results",
         "if len(weights) == len(tables) and all(is_equal):",
         "if len(weights) == len(tables):"),
    ],
    "_report/comparison_pages.py": [
        ("the compact table marks the loser",
         "tests/report/test_compare_compact.py -k 'letters or text'",
         "if is_higher == (difference.metric in", "if is_higher != (difference.metric in"),
        ("a test of the mean is said to disagree with it",
         "tests/report/test_compare_page.py -k of_the_mean_does_not",
         'if comparison.tests[0] != "wilcoxon":', "if False:"),
    ],
}  # fmt: skip
FAULTS = [
    Fault(what, file, text, instead, tests)
    for file, faults in _OF_FILES.items()
    for what, tests, text, instead in faults
]


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


def tested(tests, folder, *, in_numpy):
    """Say whether these tests pass in the copy; give the last line that pytest printed."""
    words = shlex.split(tests)
    command = [sys.executable, "-m", "pytest", "-q", "-x", "-p", "no:cacheprovider", *words]
    environment = os.environ | {
        "PYTHONPATH": str(folder),
        "NUMBA_DISABLE_JIT": "1",
        "RECMETRICS_SHRINKING": "0",  # that a problem fails is enough
        "PYTHONDONTWRITEBYTECODE": "1",
    }
    if not in_numpy:
        environment["RECMETRICS_LOOPS"] = "1"
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
    survived = []
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
            in_numpy = fault.what.endswith("in NumPy")
            if (fault.tests, in_numpy) not in sound:
                passed, line = tested(fault.tests, folder, in_numpy=in_numpy)
                if not passed:
                    sys.exit(f"without any fault, {fault.tests} fails: {line}")
                sound.add((fault.tests, in_numpy))
            path, before = planted(fault, folder)
            passed, line = tested(fault.tests, folder, in_numpy=in_numpy)
            path.write_text(before)
            survived += [fault.what] * passed
            state = "SURVIVED" if passed else "died"
            print(f"{number:2} {state:8} {fault.what} ({fault.file}): {line}", flush=True)
    line = f"{len(chosen) - len(survived)} of {len(chosen)} faults died"
    print(line)
    if not words:
        record("Mutation", line, *(f"survived: {what}" for what in survived))
    return 1 if survived else 0


if __name__ == "__main__":
    sys.exit(main())
