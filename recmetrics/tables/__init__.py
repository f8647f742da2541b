"""Metrics of tables of recommendations: pandas, polars and pyarrow alike.

_evaluate      ``evaluate_table``, ``identify_table``
_buckets       tables larger than memory, by buckets of users
_times         ``audit_times``
_analysis      ``RecListAnalysis``, in the shape of LensKit's class
_lenskit       LensKit's metrics under their names
_columns       the columns that are read, and the one that orders the lists
_forms         dicts and files -> tables
_conversions   what is no table -> the code that makes one, for messages
_frames        columns of any library's tables
_ids           users and items of any type -> integers
_list_cells    cells that hold lists as text are refused
_numbering     these integers -> 0, 1, 2, ...; rows grouped and sorted
_list_order    the rows of each list by rank or score; gaps between ranks
_truth         the rows of the truth by user
_matching      two tables -> lists and the truth of each
_side_tables   side information as tables -> the arrays of the core
_values        lists and truth -> values
_counts        ``TableSummary``: counts and means of a result
"""

from recmetrics._core.types import RankGaps
from recmetrics._files import weight_names as weight_names
from recmetrics.tables._analysis import RecListAnalysis
from recmetrics.tables._buckets import say_counted_in_bucket as say_counted_in_bucket
from recmetrics.tables._counts import TableSummary
from recmetrics.tables._evaluate import columns_read as columns_read
from recmetrics.tables._evaluate import evaluate_all_lists as evaluate_all_lists
from recmetrics.tables._evaluate import evaluate_bucket as evaluate_bucket
from recmetrics.tables._evaluate import evaluate_table, identify_table
from recmetrics.tables._forms import AnyForm
from recmetrics.tables._lenskit import dcg, hit, ndcg, precision, recall, recip_rank
from recmetrics.tables._times import TimeAudit, TimeFinding, audit_times

__all__ = [
    "AnyForm",
    "RankGaps",
    "RecListAnalysis",
    "TableSummary",
    "TimeAudit",
    "TimeFinding",
    "audit_times",
    "dcg",
    "evaluate_table",
    "hit",
    "identify_table",
    "ndcg",
    "precision",
    "recall",
    "recip_rank",
]
