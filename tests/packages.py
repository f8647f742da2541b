"""The packages that code in tests and pages needs."""

import ast
from importlib.util import find_spec


def absent(code):
    """A package that the code imports and that is not installed, if there is one."""
    names = []
    for node in ast.walk(ast.parse(code)):
        if isinstance(node, ast.Import):
            names += [alias.name for alias in node.names]
        elif isinstance(node, ast.ImportFrom):
            names += [node.module, *(f"{node.module}.{alias.name}" for alias in node.names)]
    needs = {
        "recmetrics.dask": "dask",
        "recmetrics.tables": "narwhals",
        "recmetrics.spark": "pyspark",
    }
    tops = [needs.get(name, name.partition(".")[0]) for name in names]
    tops += ["matplotlib"] * (".plot(" in code)
    if {"pandas", "polars", "pyarrow"}.intersection(tops):
        tops.append("narwhals")  # by which the library reads their frames
    if "dask.dataframe" in names:
        try:  # it needs more than dask.array: dask-expr, or a newer pyarrow
            import dask.dataframe  # noqa: F401
        except (ImportError, FutureWarning):
            return "dask.dataframe"
    return next((top for top in tops if find_spec(top) is None), None)
