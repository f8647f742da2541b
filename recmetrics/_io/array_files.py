"""``.npy`` by NumPy, mapped, and ``.npz`` by SciPy and NumPy; nothing is unpickled."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt
from scipy import sparse

from recmetrics._errors import InputError
from recmetrics._io.source import NPY, ZIP, Source, reading, refuse_other_formats, start


def read_array(source: Source, expected: str) -> Any:
    """Map an ``.npy``, of which only the part in use is read, or read a sparse ``.npz``."""
    first = start(source, expected)
    with reading(source, expected):
        if first.startswith(NPY):
            return np.load(source.path, mmap_mode="r", allow_pickle=False)
        if first.startswith(ZIP):
            with source.path.open("rb") as file:
                matrix = sparse.load_npz(file)
            if hasattr(matrix, "check_format"):
                # Loading does not check the indices; one outside would read foreign memory.
                matrix.check_format(full_check=True)
            return matrix
    refuse_other_formats(source, first, expected)
    msg = f"{source} is not in NumPy's .npy or .npz format; expected {expected}"
    raise InputError(msg)


def read_arrays(source: Source, expected: str) -> dict[str, npt.NDArray[Any]]:
    """Read all arrays of an ``.npz``."""
    with (
        reading(source, expected),
        source.path.open("rb") as file,  # which np.load would leave open after an error
        np.load(file, allow_pickle=False) as arrays,
    ):
        return dict(arrays)
