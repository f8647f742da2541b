"""Read ``.npz`` archives, and check their headers before anything is unpacked."""

from __future__ import annotations

import math
import os
from collections.abc import Callable
from typing import TYPE_CHECKING, Any
from zipfile import ZIP_DEFLATED, ZIP_STORED, ZipFile

import numpy as np
import numpy.typing as npt
from scipy import sparse

from recmetrics._io.memory import refuse_beyond_memory, size
from recmetrics._io.npy import Header, read_header, refuse_damaged_text, refuse_unreal

if TYPE_CHECKING:
    from io import BufferedReader
    from zipfile import ZipInfo

NPZ_MAGIC = b"PK"
_ENCRYPTED = 1
_MOST_PER_BYTE = 1032  # bytes that one byte of deflate can unpack to
_INDICES = ("indices", "indptr", "row", "col", "offsets")


def read_arrays(file: BufferedReader) -> dict[str, npt.NDArray[Any]]:
    """Read all arrays; a ValueError, or another error for a damaged file, says what is wrong."""
    _check(file)
    return _load(file)


def read_sparse(file: BufferedReader, check_shape: Callable[[tuple[int, ...]], None]) -> Any:
    """Read a matrix as ``scipy.sparse.save_npz`` writes it, if its shape passes ``check_shape``."""
    headers = _check(file)
    if not {"format", "shape", "data"} <= set(headers):
        names = ", ".join(map(repr, headers)) or "nothing"
        msg = f"it holds {names} and no sparse matrix"
        raise ValueError(msg)
    refuse_unreal(headers["data"].dtype)
    for name in ("shape", *_INDICES):
        if name in headers and headers[name].dtype.kind not in "iu":
            msg = f"its {name!r} is of {headers[name].dtype}; expected integers"
            raise ValueError(msg)
    if headers["shape"].n_entries > 2:
        msg = f"its 'shape' has {headers['shape'].n_entries:,} entries; expected two"
        raise ValueError(msg)
    shape = tuple(_load(file, "shape", "format")["shape"].tolist())
    check_shape(shape)
    _refuse_more_than_cells(headers, shape)
    file.seek(0)
    matrix = sparse.load_npz(file)
    if hasattr(matrix, "check_format"):
        # Loading does not check the indices; one outside the matrix would read foreign memory.
        matrix.check_format(full_check=True)
    return matrix


def _load(file: BufferedReader, *names: str) -> dict[str, npt.NDArray[Any]]:
    file.seek(0)
    with np.load(file, allow_pickle=False) as arrays:
        loaded = {name: arrays[name] for name in names or arrays}
    for name, array in loaded.items():
        refuse_damaged_text(array, f"its {name[:40]!r}")
    return loaded


def _check(file: BufferedReader) -> dict[str, Header]:
    """Read the headers of all members; refuse one that claims more than the file can hold."""
    if not file.seekable():
        msg = "it is read from a pipe; write it to a file first"
        raise ValueError(msg)
    headers: dict[str, Header] = {}
    with ZipFile(file) as archive:
        _refuse_impossible(archive.infolist(), os.fstat(file.fileno()).st_size)
        for info in archive.infolist():
            name = info.filename.removesuffix(".npy")
            if name == info.filename:
                msg = f"its member {name[:40]!r} is not an .npy"
                raise ValueError(msg)
            if name in headers:
                msg = f"it has the member {info.filename[:40]!r} twice"
                raise ValueError(msg)
            with archive.open(info) as member:
                try:
                    headers[name] = read_header(member, info.file_size)
                except ValueError as error:
                    msg = f"member {info.filename[:40]!r}: {error}"
                    raise ValueError(msg) from error
    refuse_beyond_memory(sum(header.n_bytes for header in headers.values()))
    return headers


def _refuse_impossible(infos: list[ZipInfo], n_bytes: int) -> None:
    """Refuse sizes that no archive of ``n_bytes`` can have."""
    if sum(info.compress_size for info in infos) > n_bytes:
        msg = f"its members take up more bytes than the file has, {size(n_bytes)}"
        raise ValueError(msg)
    for info in infos:
        if info.flag_bits & _ENCRYPTED or info.compress_type not in (ZIP_STORED, ZIP_DEFLATED):
            msg = (
                f"its member {info.filename[:40]!r} is encrypted, or compressed in a way that "
                "NumPy does not use"
            )
            raise ValueError(msg)
        most = _MOST_PER_BYTE if info.compress_type == ZIP_DEFLATED else 1
        if info.file_size > most * info.compress_size:
            msg = (
                f"its member {info.filename[:40]!r} claims to unpack to {size(info.file_size)}, "
                f"which is impossible for {size(info.compress_size)}"
            )
            raise ValueError(msg)


def _refuse_more_than_cells(headers: dict[str, Header], shape: tuple[int, ...]) -> None:
    """Refuse members that are larger than any that a matrix of this shape needs."""
    if "offsets" in headers:
        return  # stored by diagonals, which may reach beyond the matrix
    most = math.prod(shape) + sum(shape) + 1
    for name, header in headers.items():
        if header.n_entries > most:
            msg = f"its {name!r} has {header.n_entries:,} entries, too many for shape {shape}"
            raise ValueError(msg)
