"""Read ``.npy`` headers, and check what they claim before anything is allocated or unpickled."""

from __future__ import annotations

import math
import sys
from typing import IO, TYPE_CHECKING, Any, NamedTuple

import numpy as np
import numpy.typing as npt

from recmetrics._io.memory import size

if TYPE_CHECKING:
    from io import BufferedReader

NPY_MAGIC = b"\x93NUMPY"
_READERS = {
    (1, 0): np.lib.format.read_array_header_1_0,
    (2, 0): np.lib.format.read_array_header_2_0,
}


class Header(NamedTuple):
    """The header of a file: shape, order and dtype of the data, and where they start."""

    shape: tuple[int, ...]
    fortran_order: bool
    dtype: np.dtype[Any]
    start: int

    @property
    def n_entries(self) -> int:
        """The product of the shape, without overflow."""
        return math.prod(self.shape)

    @property
    def n_bytes(self) -> int:
        """The size of the data."""
        return self.n_entries * self.dtype.itemsize


def read_header(file: IO[bytes], n_bytes: int) -> Header:
    """Read the header of a file of ``n_bytes``, which must contain all of the data.

    A ValueError, or another error of NumPy for a damaged header, says what is wrong.
    """
    version = tuple(file.read(len(NPY_MAGIC) + 2)[len(NPY_MAGIC) :])
    if version not in _READERS:
        msg = "its header is damaged" if len(version) < 2 else f"its version is {version}"
        raise ValueError(msg)
    shape, fortran_order, dtype = _READERS[version](file)
    header = Header(shape, fortran_order, dtype, file.tell())
    if dtype.hasobject:
        msg = "it holds pickled Python objects, which are never loaded"
        raise ValueError(msg)
    if any(length < 0 for length in shape):
        msg = f"its header says shape {shape}"
        raise ValueError(msg)
    if header.start + header.n_bytes > n_bytes:
        msg = (
            f"its header says shape {shape} of {dtype}, {size(header.n_bytes)}, but only "
            f"{size(n_bytes - header.start)} follow; it was cut, or is still being written"
        )
        raise ValueError(msg)
    return header


def refuse_unreal(dtype: np.dtype[Any]) -> None:
    """Raise a ValueError for a dtype that is not of real numbers."""
    if dtype.kind not in "fiub" or dtype.itemsize > 8:
        msg = f"its dtype is {dtype}, not of real numbers (float16, float32, float64, int, bool)"
        raise ValueError(msg)


def refuse_damaged_text(array: npt.NDArray[Any], what: str) -> None:
    """Raise a ValueError for text with numbers that are no characters; Python fails on them."""
    if array.dtype.kind != "U":
        return
    points = array.reshape(-1).view(f"{array.dtype.byteorder}u4")
    wrong = np.flatnonzero((points > sys.maxunicode) | ((points >= 0xD800) & (points <= 0xDFFF)))
    if wrong.size:
        entry = wrong[0] * array.size // points.size
        msg = (
            f"{what} is damaged: entry {entry} (counted from 0) holds 0x{points[wrong[0]]:x}, "
            "which is not a character"
        )
        raise ValueError(msg)


def map_array(file: BufferedReader, n_bytes: int) -> npt.NDArray[Any]:
    """Map an array of real numbers into memory; only the part in use is read."""
    header = read_header(file, n_bytes)
    refuse_unreal(header.dtype)
    return map_data(file, header)


def map_data(file: BufferedReader, header: Header) -> npt.NDArray[Any]:
    """Map the data of a header into memory."""
    raw: Any = file.raw  # NumPy's types require a writable file
    array: npt.NDArray[Any] = np.memmap(
        raw,
        dtype=header.dtype,
        mode="r",
        offset=header.start,
        shape=header.shape,
        order="F" if header.fortran_order else "C",
    )
    return array
