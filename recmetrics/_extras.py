"""The packages of the extras, and the line that installs them.

The line names the packages of the extra, not recmetrics itself, so it works however recmetrics was
installed.
"""

EXTRAS = {
    "cli": ("matplotlib>=3.8", "narwhals>=2.9", "polars>=1.0"),
    "tables": ("narwhals>=2.9",),
    "torchmetrics": ("torchmetrics>=1.4",),
    "dask": ("dask[array]>=2024.8", "distributed>=2024.8"),
}
"""As in ``pyproject.toml``."""


def install(extra: str, *names: str) -> str:
    """Write the line that installs an extra, or only the named packages of it."""
    packages = [each for each in EXTRAS[extra] if not names or each.startswith(names)]
    # Double quotes, which every shell reads.
    return " ".join(["pip install", *(f'"{each}"' for each in packages)])
