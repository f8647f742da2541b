"""Advice on Dask arrays."""

from advice import Case
from advice.problem import BOTH, MRR

DASK = (
    BOTH + "import dask\nimport dask.array\nfrom recmetrics import dask as of_dask\n"
    "pred_scores = scores; compute = of_dask.compute\n"
)
CALL = "compute(pred_scores, truth, 'mrr')"
CASES = [
    Case("{} must be a dask.array, got {}", DASK, CALL, MRR, advice="type (.+), or use"),
    Case("{} must be a dask.array, got {}", DASK, CALL, MRR, advice="or use (.+)$", to="compute"),
    Case(
        "has chunks of unknown length",
        DASK + "pred_scores = dask.array.from_array(scores, chunks=(1, -1)); "
        "pred_scores = pred_scores[pred_scores.max(axis=1) > 0]",
        CALL,
        MRR,
    ),
]
