"""Advice on Dask arrays."""

from advice import Case
from advice.problem import BOTH, MRR

DASK = (
    BOTH + "import dask\nimport dask.array\nfrom recmetrics import dask as of_dask\n"
    "pred_scores = scores; compute = of_dask.compute\n"
)
CALL = "compute(pred_scores, truth, 'mrr')"
CASES = [
    Case("dask.array.from_array({}", DASK, CALL, MRR, advice="type (.+), or use"),
    Case("dask.array.from_array({}", DASK, CALL, MRR, advice="or use (.+)$", to="compute"),
    Case(
        "{}.to_dask_array(",
        DASK + "import pandas\nimport dask.dataframe\n"
        "pred_scores = dask.dataframe.from_pandas(pandas.DataFrame(scores), npartitions=2)",
        CALL,
        MRR,
        advice="type (.+), or use",
    ),
    Case(
        "dask.array.ma.filled({}, ...)",
        DASK + "pred_scores = dask.array.ma.masked_equal(dask.array.from_array(scores), 2)",
        CALL,
        MRR,
        advice="type (.+) with the value",
        blank="2.0",
        altered="dask.array.ma.filled(pred_scores, 4.0)",
    ),
    Case(
        "{}.map_blocks(lambda block: block.toarray()",
        DASK
        + "pred_scores = dask.array.from_array(scores, chunks=(1, 2)).map_blocks(sp.csr_array)",
        CALL,
        MRR,
    ),
    Case(
        "; type {}.astype(np.float64)",
        DASK + "pred_scores = dask.array.from_array(scores.astype(object), chunks=(1, 2))",
        CALL,
        MRR,
    ),
    Case(
        "has chunks of unknown length",
        DASK + "pred_scores = dask.array.from_array(scores, chunks=(1, -1)); "
        "pred_scores = pred_scores[pred_scores.max(axis=1) > 0]",
        CALL,
        MRR,
    ),
]
