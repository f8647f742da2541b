"""Metrics of tables of recommendations: pandas, polars and pyarrow alike.

    _evaluate      ``evaluate_table``
    _analysis      ``RecListAnalysis``, in the shape of LensKit's class
    _lenskit       LensKit's metrics under their names
    _problem       two tables -> lists and truth, numbered
    _values        lists and truth -> values, through ``find_hits`` like any rankings
    _side_tables   side information as tables
    _frames, _numbering, _summary
                   tables of any library; ids as numbers; counts and means of a result

narwhals reads the tables. Ids of any type are numbered once; from then on a table of
recommendations is a set of rankings.
"""

from recmetrics.tables._analysis import RecListAnalysis
from recmetrics.tables._evaluate import evaluate_table
from recmetrics.tables._lenskit import dcg, hit, ndcg, precision, recall, recip_rank
from recmetrics.tables._summary import TableSummary

__all__ = [
    "RecListAnalysis",
    "TableSummary",
    "dcg",
    "evaluate_table",
    "hit",
    "ndcg",
    "precision",
    "recall",
    "recip_rank",
]
