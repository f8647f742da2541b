"""Files that a user names, told apart by their first bytes; matrices; every error with the file.

Text may be packed by gzip.
"""

from __future__ import annotations

import csv
import gzip
import re
import shlex
import zlib
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from io import TextIOWrapper
from pathlib import Path
from typing import Any, BinaryIO, cast

import numpy as np
from scipy import sparse

from recmetrics._core.errors import InputError, RecmetricsError

NPY = b"\x93NUMPY"
ZIP = b"PK"
_GZIP = b"\x1f\x8b"
# The first bytes of formats, and what a message says that a file with them is.
_FORMATS = {
    NPY: "an .npy array",
    ZIP: "an .npz or another zip archive",
    _GZIP: "packed by gzip: unpack it first",
    b"BZh": "packed by bzip2: unpack it first",
    b"\xfd7zXZ": "packed by xz: unpack it first",
    b"\x28\xb5\x2f\xfd": "packed by zstd: unpack it first",
    b"\x80": "a Python pickle, which is never loaded",
    b"\x89HDF": "an HDF5 file",
    b"PAR1": "a Parquet table",
    b"\xff\xfe": "UTF-16 text: save it as UTF-8",
    b"\xfe\xff": "UTF-16 text: save it as UTF-8",
}
BOOLS = {"true": "1", "false": "0"}
"""The relevances for which words stand, in small letters, as pandas and Python write them."""


@dataclass(frozen=True, slots=True)
class Source:
    """A file and the argument that names it; ``str`` gives both."""

    label: str
    path: Path
    sign: str = " "  # between label and path: " ", or "=" as in NAME=FILE
    in_shell: bool = True  # whether a command names it, not Python

    def __str__(self) -> str:
        return f"{self.label}{self.sign}{str(self.path)!r}"

    @property
    def spelling(self) -> str:
        """Both as they are typed in a shell."""
        return f"{self.label}{self.sign}{shlex.quote(str(self.path))}"

    @property
    def suffix(self) -> str:
        """The ending of the file's name in lower case, before that of gzip."""
        return suffix_of(self.path)

    def typed(self, option: str, value: str) -> str:
        """Write how a user types an option where the file is named."""
        if self.in_shell:
            return f"--{option} {shlex.quote(value)}"
        return f"{option}={value!r}"

    def open_bytes(self) -> BinaryIO:
        """Open the file; what gzip packed is unpacked as it is read."""
        with self.path.open("rb") as file:
            is_packed = file.read(len(_GZIP)) == _GZIP
        if is_packed:
            return cast(BinaryIO, gzip.open(self.path))
        return self.path.open("rb")

    def open_text(self, errors: str = "strict") -> TextIOWrapper:
        """Open the file as text, with the line ends that it has."""
        return TextIOWrapper(self.open_bytes(), "utf-8-sig", errors, newline="")


def suffix_of(path: Path) -> str:
    """Give the ending of a file's name in lower case, before that of gzip.

    >>> suffix_of(Path("recs.csv.gz")), suffix_of(Path("scores.NPY"))
    ('.csv', '.npy')
    """
    name = path.name.lower().removesuffix(".gz")
    return Path(name).suffix


def as_dict(path: str | Path) -> str:
    """Write the code that reads lines of a user and items as a dict.

    >>> print(as_dict("test.txt"))
    {user: items for user, *items in map(str.split, Path('test.txt').read_text().splitlines())}
    """
    lines = f"Path({str(path)!r}).read_text().splitlines()"
    return f"{{user: items for user, *items in map(str.split, {lines})}}"


# By the ending of a file that polars reads, and this package does not: the function that does.
_POLARS_READERS = {
    ".json": "read_json",
    ".jsonl": "read_ndjson",
    ".ndjson": "read_ndjson",
    ".arrow": "read_ipc",
    ".feather": "read_ipc",
    ".avro": "read_avro",
    ".xlsx": "read_excel",
}
# By the ending of a file with an array, of another library: code that makes an .npz or .npy of it.
_ARRAY_CODE = {
    ".mtx": "scipy.sparse.save_npz({npz!r}, scipy.io.mmread({path!r}))",
    ".pt": "np.save({npy!r}, torch.load({path!r}).numpy())",
}


def start(source: Source, expected: str, *, of_text: bool = False) -> bytes:
    """Read the first bytes of a file, which show its format; ``of_text`` that may be packed.

    A file whose ending is that of another format is refused.
    """
    # Its bytes are read twice, and opening a pipe would wait for ever.
    if source.path.exists() and not (source.path.is_file() or source.path.is_dir()):
        msg = f"{source} is a pipe or a device; write it to a file first; expected {expected}"
        raise InputError(msg)
    try:
        with source.open_bytes() if of_text else source.path.open("rb") as file:
            first_bytes = file.read(8)  # enough for each of ``_FORMATS``
    except (OSError, ValueError, EOFError, zlib.error) as error:
        advice = _advice_on_several(source) if ".parquet" in expected else ""
        msg = f"cannot open {source}: {reason(error)}; expected {expected}{advice}"
        raise InputError(msg) from error
    suffix = source.path.suffix.lower()
    if suffix in _POLARS_READERS or suffix in _ARRAY_CODE:
        advice = _advice_on_suffix(source, first_bytes)
        msg = f"{source} is a {suffix} file; expected {expected}; {advice}"
        raise InputError(msg)
    return first_bytes


def _advice_on_suffix(source: Source, first_bytes: bytes) -> str:
    """Say how to read a file whose ending ``_POLARS_READERS`` or ``_ARRAY_CODE`` has."""
    suffix = source.path.suffix.lower()
    path = str(source.path)
    if suffix in _ARRAY_CODE:
        npz = str(source.path.with_suffix(".npz"))
        npy = str(source.path.with_suffix(".npy"))
        code = _ARRAY_CODE[suffix].format(path=path, npz=npz, npy=npy)
        return f"in Python, type {code}, and give that file"
    if suffix == ".json" and first_bytes.lstrip().startswith(b"{"):
        return f"in Python, type json.loads(Path({path!r}).read_text()) for the name"
    code = f"polars.{_POLARS_READERS[suffix]}({path!r})"
    if source.in_shell:
        table = str(source.path.with_suffix(".parquet"))
        return f"in Python, type {code}.write_parquet({table!r}), and give that file"
    return f"in Python, type {code} for the name"


def _advice_on_several(source: Source) -> str:
    """Say how to read a folder, a pattern or an address of files of Parquet; "" for any other."""
    # A Path writes one slash for the two of an address.
    text = re.sub(r"^([a-z][a-z0-9]+:)/+", r"\1//", source.path.as_posix())
    code = f"polars.scan_parquet({text!r})"
    if source.path.is_dir():
        depths = ("*", "*/*", "*/*/*")  # folders in it may be partitions; a disk takes too long
        if not any(any(source.path.glob(f"{depth}.parquet")) for depth in depths):
            return ""
        code = f"polars.scan_parquet({text + '/**/*.parquet'!r}, hive_partitioning=True)"
    elif source.suffix != ".parquet" or not ("://" in text or set(text) & set("*?[")):
        return ""
    return f"; for all its files, in Python, type {code} for the name"


def refuse_other_formats(source: Source, first_bytes: bytes, expected: str) -> None:
    """Refuse a file whose first bytes show that it is no text, and name its format."""
    format_name = "" if first_bytes else "empty"
    for magic, name_of_magic in _FORMATS.items():
        if first_bytes.startswith(magic):
            format_name = name_of_magic
    if format_name:
        msg = f"{source} is {format_name}; expected {expected}"
        raise InputError(msg)


@contextmanager
def reading(source: Source, expected: str) -> Iterator[None]:
    """Turn any error of a library that reads a damaged file into one line that names the file."""
    try:
        yield
    except RecmetricsError:
        raise
    except UnicodeDecodeError as error:
        msg = f"{source}: byte 0x{error.object[error.start]:02x} is not text; save it as UTF-8"
        raise InputError(msg) from error
    except Exception as error:
        cause = reason(error).partition(" Consider ")[0].partition(" The current offset")[0]
        cause = re.sub(r"^The file <.*> does", "it does", cause)  # of SciPy, with a Python object
        long_cell = r"a cell has more than \1 characters; a quote before it may have no second one"
        cause = re.sub(r"^field larger than field limit \((.+)\)", long_cell, cause)
        msg = f"cannot read {source}: {cause}; expected {expected}"
        raise InputError(msg) from error


def read_array(source: Source, expected: str) -> Any:
    """Map an ``.npy``, of which only the part in use is read, or read a sparse ``.npz``."""
    first_bytes = start(source, expected)
    with reading(source, expected):
        if first_bytes.startswith(NPY):
            return np.load(source.path, mmap_mode="r", allow_pickle=False)
        if first_bytes.startswith(ZIP):
            with source.path.open("rb") as file:
                matrix = sparse.load_npz(file)
            if hasattr(matrix, "check_format"):
                # Loading does not check the indices; one outside would read foreign memory.
                matrix.check_format(full_check=True)
            return matrix
    refuse_other_formats(source, first_bytes, expected)
    msg = f"{source} is not in NumPy's .npy or .npz format; expected {expected}"
    raise InputError(msg)


def separator_of(source: Source, header: str) -> str:
    """Find the separator of a table's columns: that by which its header has the most.

    >>> separator_of(Source("RECS", Path("recs.csv")), "user;item, or title;score")
    ';'
    """
    separators = ",\t;|" if source.suffix == ".csv" else "\t,;|"
    n_columns = {
        separator: len(next(csv.reader([header], delimiter=separator), []))
        for separator in separators
    }
    return max(separators, key=n_columns.__getitem__)


def at_line(source: Source, line: int, message: object) -> InputError:
    """Make the error whose message is about a line of a file; lines count from 1."""
    return InputError(f"{source}, line {line}: {message}")


def count_of_fields(fields: list[str]) -> str:
    """Write how many fields a line has."""
    return f"{len(fields)} {'field' if len(fields) == 1 else 'fields'}"


def read_number(text: str) -> float:
    """Read a number; ``float`` alone would also read 1_0 and digits of other scripts."""
    if "_" in text or not text.isascii():
        msg = f"{text[:40]!r} is not a number"
        raise ValueError(msg)
    return float(text)


def reason(error: BaseException) -> str:
    """Say in a few words why ``error`` was raised, without file names or a final dot."""
    text = error.strerror if isinstance(error, OSError) and error.strerror else str(error)
    return " ".join(text.split()).rstrip(".") or type(error).__name__
