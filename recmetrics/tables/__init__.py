"""Metrics of tables of recommendations: pandas, polars and pyarrow alike."""

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
