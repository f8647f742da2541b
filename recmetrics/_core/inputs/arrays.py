"""Arrays of any library as NumPy arrays, without a copy; checks of dtypes and indices."""

import re
import sys
from collections.abc import Callable, Iterator, Mapping, Sequence, Set
from itertools import chain
from numbers import Integral
from typing import Any, NamedTuple, NoReturn

import numpy as np
import numpy.typing as npt
import scipy.sparse as sp

from recmetrics._core.errors import InputError, InputTypeError, ShapeError, looks_like
from recmetrics._core.types import IntArray

# DLPack's numbers for memory that the CPU reads: its own, pinned for CUDA or ROCm, CUDA managed.
_DLPACK_HOST = {1, 3, 11, 13}
# The bits of infinity: all bits of the exponent are set, and the sign and the fraction are 0.
HALF_INFINITY = {"float16": 0x7C00, "bfloat16": 0x7F80}

# NumPy has no bfloat16. A bfloat16 tensor is read as one field of that name, which is also the
# name of the dtype that ml_dtypes registers.
_BFLOAT16 = np.dtype([("bfloat16", np.int16)])
# The types of most indices. All but an int have only numbers that int64 can hold.
_INTEGERS = {int, np.int8, np.int16, np.int32, np.int64, np.uint8, np.uint16, np.uint32}
# The dtypes with which columns of tables hold text.
_TEXT_DTYPES = {"object", "str", "string", "String", "category", "Categorical"}
# How the dtypes of columns of lists begin, in small letters: of polars, pyarrow and pandas.
_LIST_DTYPES = ("list", "large_list", "fixed_size_list")
_OF_IDS = "recmetrics.tables.evaluate_table(recs, truth, metrics_list)"
OF_TABLES = f"for tables of ids type {_OF_IDS}"
# On genres that are texts, or lists of texts.
_OF_NAMES = "for the names of the genres type pandas.Series([*genres]){}.str.get_dummies('|')"
_JOINED = ".str.join('|')"
# Behind advice that leaves out the numbers beside the items of a truth.
_WITHOUT_NUMBERS = (
    "; every item is then relevant, whatever its number: to keep the relevances, give a matrix "
    "(n_users, n_items)"
)
# A pattern: what an index of pandas is called once it is a column, in Arrow, pandas and files.
INDEX_NAMES = r"__index_level_\d+__|level_\d+|index|Unnamed: \d+|"
# A table of interactions has no more columns; to read the names of 20,000 takes 0.1 s.
_MOST_OF_INTERACTIONS = 50
# Code that makes a sparse array of SciPy of one of another library, by an attribute of the latter.
_SPARSE_CODE = {
    # of PyData
    "to_scipy_sparse": "{0}.to_scipy_sparse()",
    # of JAX: rows, which have ``nse`` too, and entries
    "to_bcoo": "scipy.sparse.csr_array(({0}.data, {0}.indices, {0}.indptr), shape={0}.shape)",
    "nse": "scipy.sparse.coo_array(({0}.data, {0}.indices.T), shape={0}.shape)",
}
# By the kind of a dtype that is no real number: how to make real numbers of an array.
_CAST = dict.fromkeys("fOSU", "np.asarray({name}, np.float64)") | {
    "c": "np.real({name}) or np.abs({name}), whichever orders the items"
}


def as_array(value: Any, name: str, axis: str = "user") -> npt.NDArray[Any]:
    """Convert ``value``, one entry per ``axis``, to a NumPy array, if possible without a copy."""
    if type(value) is np.ndarray:
        if value.dtype.kind == "O":
            _refuse_lists(value, name, axis)
        return value
    if isinstance(value, np.ma.MaskedArray):
        msg = (
            f"{name} is a masked array, whose mask would be lost; expected a plain array; type "
            f"{call_on(name, '{}.filled(...)')} with the value for masked entries"
        )
        raise InputTypeError(msg)
    if isinstance(value, np.ndarray):
        return np.asarray(value)
    _refuse_ids(value, name, axis)
    if sp.issparse(value):
        argument, of_user, _ = name.partition(" of user ")
        advice = f"scipy.sparse.vstack({argument})" if of_user else f"{name}.toarray()"
        msg = f"{name} is sparse ({type(value).__name__}), expected a dense array; type {advice}"
        raise InputTypeError(msg)
    for attribute, code in _SPARSE_CODE.items():
        if hasattr(value, attribute):
            msg = (
                f"{name} is a sparse array of type {type(value).__name__}, expected one of SciPy, "
                f"or a dense array; type {call_on(name, code)}"
            )
            raise InputTypeError(msg)
    is_of_arrow = hasattr(value, "to_pylist")  # whose DLPack warns, and has no bools
    if hasattr(value, "__dlpack__") and hasattr(value, "__dlpack_device__") and not is_of_arrow:
        return _from_dlpack(value, name)
    return _converted(value, name, axis)


def _converted(value: Any, name: str, axis: str) -> npt.NDArray[Any]:
    """Convert by NumPy what is no array: nested lists, frames and columns, arrays of pyarrow."""
    if hasattr(value, "isna") and hasattr(value, "columns"):  # a frame of pandas
        value = _with_nan(value)
    is_list = isinstance(value, list | tuple)
    try:
        array = np.asarray(value)
    except (RuntimeError, TypeError, ValueError) as error:  # tensors raise the first
        if is_list:
            _refuse_batches(value, name)
            _refuse_rows(value, name, axis, error)
        msg = f"{name} must be a matrix of numbers, rows of the same length, got '{error}'"
        if hasattr(value, "to_list"):  # an array of Awkward, whose error names its source
            msg = (
                f"{name} is of type {type(value).__name__} with rows of several lengths, expected "
                f"a matrix of numbers or a list for each {axis}; type {name}.to_list()"
            )
        raise InputTypeError(msg) from None
    if is_list and array.ndim != 2:
        _refuse_batches(value, name)
    if array.ndim == 0:
        msg = (
            f"{name} must be an array or a list with one entry per {axis}, "
            f"got {value!r:.40} of type {type(value).__name__}"
        )
        if hasattr(value, "weight"):  # a layer of torch
            msg += f"; type {name}.weight"
        elif isinstance(value, Iterator):
            msg += f"; type list({name})"
        raise InputTypeError(msg)
    if array.dtype.kind == "O":
        _refuse_lists(array, name, axis)
    return array


def _with_nan(frame: Any) -> Any:
    """Convert a frame of numbers whose dtypes have NA, such as Int64: NA becomes NaN.

    NumPy would make objects of it. Any other frame stays as it is.
    """
    column_dtypes = {*frame.dtypes.values}  # distinct ones: of 10,000 columns, 1.5 ms less
    dtypes = [getattr(dtype, "numpy_dtype", dtype) for dtype in column_dtypes]
    have_na = any(hasattr(dtype, "numpy_dtype") for dtype in column_dtypes)
    if not have_na or any(getattr(dtype, "kind", "O") not in "biuf" for dtype in dtypes):
        return frame
    common_dtype = np.result_type(*dtypes)
    if not frame.isna().any(axis=None):
        return frame.to_numpy(common_dtype)
    return frame.to_numpy(np.result_type(common_dtype, np.float32), na_value=np.nan)


def _refuse_lists(array: npt.NDArray[Any], name: str, axis: str) -> None:
    """Refuse a column of lists, which NumPy reads as objects."""
    if array.ndim != 1 or not array.size or not all(map(_is_collection, array)):
        return
    _refuse_batches(array, name)  # sparse matrices have no length
    if axis == "row" or len(set(map(len, array))) > 1:
        _refuse_rows(array, name, axis)
    msg = (
        f"{name} holds a list for each {axis}, expected an array of numbers; for a matrix type "
        f"{call_on(name, 'np.stack(np.asarray({}))')}"
    )
    raise InputTypeError(msg)


def _refuse_rows(
    rows: Sequence[Any] | npt.NDArray[Any], name: str, axis: str, problem: object = ""
) -> None:
    """Refuse a list that NumPy cannot read as a matrix; ``problem`` is what it says."""
    problem = f"'{problem}'"
    lengths = {len(row) for row in rows if hasattr(row, "__len__")}
    if axis == "row" and lengths:
        msg = (
            f"{name} has a list for each group, expected one number for each row; type "
            "np.concatenate(scores) and np.concatenate(relevance), with sizes=[len(rows) for rows "
            "in scores]"
        )
        raise InputTypeError(msg) from None
    if len(lengths) > 1:
        problem = f"rows of {min(lengths)} to {max(lengths)}"
    msg = f"{name} must be a matrix of numbers, rows of the same length, got {problem}"
    if hasattr(rows[0], "detach"):
        msg += f"; type torch.stack({name}) for rows that are tensors"
    names = chain.from_iterable(row for row in rows if isinstance(row, list | tuple))
    if name == "genres" and any(isinstance(genre, str) for genre in names):
        msg += "; " + _OF_NAMES.format(_JOINED)
    raise InputTypeError(msg) from None


def _refuse_batches(batches: Sequence[Any] | npt.NDArray[Any], name: str) -> None:
    """Refuse a list of matrices: those of batches, or of several reasons to exclude items.

    The pair of scores and item indices that a search returns is another thing.
    """
    if len(batches) and all(getattr(batch, "ndim", 0) == 2 for batch in batches):
        kinds = [getattr(getattr(batch, "dtype", None), "kind", "") for batch in batches]
        if name == "scores" and sorted(kinds) in (["f", "i"], ["f", "u"]):
            place = 1 if kinds[0] == "f" else 0
            msg = (
                "scores is a pair of numbers and item indices, expected a matrix (n_users, "
                "n_items); for the rankings of a search type "
                f"Metrics.compute_ranked(scores[{place}], truth, metrics_list)"
            )
            raise ShapeError(msg) from None
        joined = "np.concatenate"
        if sp.issparse(batches[0]):
            joined = "scipy.sparse.vstack"
        elif hasattr(batches[0], "detach"):
            joined = "torch.cat"
        msg = (
            f"{name} is a list of {len(batches)} matrices, expected one; type {joined}({name}) "
            "for batches"
        )
        if name == "exclude":
            msg += "; to exclude the items of each matrix type sum(exclude)"
        raise ShapeError(msg) from None


def _refuse_ids(value: Any, name: str, axis: str) -> None:
    """Refuse a dict and a table of text: both hold ids, which arrays do not."""
    if isinstance(value, Mapping):
        msg = (
            f"{name} is a {type(value).__name__}, expected an array with one entry per {axis}; for "
            f"a dict of ids type {_OF_IDS}"
        )
        user, items = next(iter(value.items()), (None, None))
        is_of_rows = isinstance(user, int | np.integer) and not isinstance(items, Mapping)
        if is_of_rows and name in ("truth", "exclude", "candidates"):
            msg += (
                "; beside an array with a row for each user 0, 1, 2, ... type "
                f"[{name}.get(user, []) for user in range(n_users)]"
            )
        raise InputTypeError(msg)
    if hasattr(value, "collect") and hasattr(value, "collect_schema"):  # of polars
        msg = f"{name} is a LazyFrame, which has no values yet; type {name}.collect()"
        raise InputTypeError(msg)
    if hasattr(value, "columns"):
        _refuse_columns(value, name, axis)


def _refuse_columns(table: Any, name: str, axis: str) -> None:
    """Refuse a table whose columns hold lists or text, or are those of interactions."""
    dtypes = getattr(table, "dtypes", getattr(getattr(table, "schema", None), "types", ()))
    # Text of distinct dtypes alone: that of each of 20,000 columns takes 30 ms. To iterate over a
    # Series of pandas takes four times as long as over its array.
    distinct_dtypes = {*getattr(dtypes, "values", dtypes)}
    may_hold_lists = set()
    for dtype in distinct_dtypes:
        if str(dtype) == "object" or str(dtype).lower().startswith(_LIST_DTYPES):
            may_hold_lists.add(dtype)
    if may_hold_lists:
        for column, dtype in enumerate(dtypes):
            if dtype in may_hold_lists:
                _refuse_column_of_lists(table, column, name)
    if not _TEXT_DTYPES.isdisjoint(map(str, distinct_dtypes)):
        _refuse_texts(table, name)
    if axis == "user":
        _refuse_interactions(table, name)
    _refuse_row_numbers(table, name, axis)


def _refuse_texts(table: Any, name: str) -> NoReturn:
    """Refuse a table with columns of dtypes that mostly hold text."""
    cells = np.asarray(table, np.object_)
    if hasattr(table, "astype") and not any(isinstance(cell, str) for cell in cells.flat):
        msg = f"{name} is a table with columns of objects or categories, expected numbers"
        if _parses(cells):
            msg += f"; type {name}.astype(float)"
        raise InputTypeError(msg)
    msg = f"{name} is a table with columns of text, expected an array of numbers; {OF_TABLES}"
    raise InputTypeError(msg)


def _column_names(table: Any) -> Any:
    """Name the columns of a table; ``columns`` of pyarrow holds arrays."""
    return getattr(table, "column_names", table.columns)


def _refuse_column_of_lists(table: Any, place: int, name: str) -> None:
    """Refuse a table with a list for each user or item in the column at ``place``."""
    columns = _column_names(table)
    column = np.asarray(table[columns[place]])
    if column.ndim != 1 or not column.size or not all(map(_is_collection, column)):
        return
    msg = (
        f"{name} is a table with lists in the column {columns[place]!r}, expected the lists alone; "
        f"type list(np.asarray({name}[{columns[place]!r}])) if its rows are in order"
    )
    raise InputTypeError(msg)


def _refuse_interactions(table: Any, name: str) -> None:
    """Refuse a table with a row for each interaction, which its columns of users and items tell."""
    columns = _column_names(table)
    if len(columns) > _MOST_OF_INTERACTIONS:
        return
    names = [*map(str, columns)]
    if not looks_like(" ".join(names), "user"):  # most tables: one look at all names
        return
    items = [column for column in names if looks_like(column, "item")]
    if len(items) != 1:  # those of many items are a matrix
        return
    user = next(column for column in names if looks_like(column, "user"))
    item = items[0]
    advice = OF_TABLES
    if name == "train":
        code = f"{name}[{{!r}}].to_numpy()"
        matrix = matrix_of(name, code.format(user), code.format(item))
        advice = f"for numbers from 0 type {matrix}"
    msg = (
        f"{name} is a table with the columns {user!r} and {item!r}, expected a matrix "
        f"(n_users, n_items); {advice}, or np.asarray({name}) if it is a matrix"
    )
    raise InputTypeError(msg)


def _refuse_row_numbers(table: Any, name: str, axis: str) -> None:
    """Refuse a table whose first column numbers its rows, as where a file holds the index, too."""
    columns = _column_names(table)
    if len(columns) < 2 or not isinstance(columns[0], str):
        return
    column = columns[0]
    if not looks_like(column, axis) and not re.fullmatch(INDEX_NAMES, column):
        return
    numbers = np.asarray(table[column])
    if numbers.ndim != 1 or numbers.dtype.kind not in "iu" or len({*numbers.tolist()}) < len(table):
        return
    code = f"{name}.drop({column!r})"
    if hasattr(table, "set_index"):
        code = f"{name}.set_index({column!r})"
    elif hasattr(table, "drop_columns"):
        code = f"{name}.drop_columns([{column!r}])"
    msg = (
        f"{name} is a table whose first column, {column!r}, holds numbers of {axis}s, expected the "
        f"other columns alone; type {code}, or np.asarray({name}) if it is one like the others"
    )
    raise InputTypeError(msg)


def matrix_of(pairs: str, users: str, items: str) -> str:
    """Write how to make a matrix of pairs of a user and an item, from the code of each."""
    return f"scipy.sparse.coo_array((np.ones(len({pairs})), ({users}, {items})))"


def are_permuted(labels: list[Any]) -> bool:
    """Say whether labels are the numbers 0, 1, ..., n - 1 in another order."""
    in_order = list(range(len(labels)))
    # NA, which a set may hold, cannot be compared in a list.
    return {*labels} == {*in_order} and labels != in_order


def refuse_other_indexes(arguments: Mapping[str, Any], advice: str) -> None:
    """Refuse Series of pandas, which are read by position, if their indexes differ.

    ``arguments`` are of any type, by name.
    """
    first_name = ""
    first_index: Any = None
    for name, value in arguments.items():
        index: Any = getattr(value, "index", None)
        if not hasattr(index, "is_unique"):  # the method of a list
            continue
        if first_index is None:
            first_name = name
            first_index = index
        if index.equals(first_index):
            continue
        # A RangeIndex, which pandas counts where no index is given, says nothing of order unless
        # the other holds the same numbers, in another order.
        any_is_range = hasattr(index, "step") or hasattr(first_index, "step")
        have_same_labels = {*index.tolist()} == {*first_index.tolist()}
        if not any_is_range or have_same_labels:
            msg = (
                f"{name} and {first_name} are Series whose indexes differ, but both are read by "
                f"position; {advice}"
            )
            raise InputError(msg)


def _from_dlpack(value: Any, name: str) -> npt.NDArray[Any]:
    """Read an array of another library where its memory is, or say how to bring it to the CPU."""
    try:
        try:
            device = value.__dlpack_device__()  # its type, as a number of DLPack, and its index
        except BufferError:  # an array of JAX on several devices has no address: NumPy collects it
            return np.asarray(value)
        if device[0] in _DLPACK_HOST:
            return _exported(value)
    except (BufferError, TypeError, ValueError, RuntimeError) as error:
        msg = (
            f"{name} cannot be read as an array ({' '.join(str(error).split())}); "
            "expected a dense array of real numbers on the CPU"
        )
        call = ""
        if getattr(getattr(value, "device", None), "type", "") == "meta":  # of torch
            msg = (
                f"{name} is on the device meta, which has shapes and no values; expected an array "
                "of real numbers; compute it with a model whose weights are loaded"
            )
        elif is_sparse_tensor(value):
            call = "{}.to_dense()"
        elif getattr(value, "is_nested", False):
            call = "{}.unbind()"
        elif hasattr(value, "is_floating_point") and value.is_floating_point():  # such as float8
            call = "{}.float()"
        if call:
            msg += f"; type {call_on(name, call)}"
        raise InputTypeError(msg) from None

    conversion = "{}.cpu()"
    if hasattr(value, "__array__") and not hasattr(value, "cpu"):  # an array of JAX
        conversion = "np.asarray({})"
    msg = (
        f"{name} is on the device {getattr(value, 'device', device)}, expected an array on the "
        f"CPU; type {call_on(name, conversion)}"
    )
    raise InputTypeError(msg)


def _exported(value: Any) -> npt.NDArray[Any]:
    """View a tensor or array in the memory of the CPU as a NumPy array."""
    if hasattr(value, "detach"):  # a tensor that requires grad refuses to be exported
        value = value.detach()
    if hasattr(value, "resolve_neg"):  # a negative bit would be lost: x.conj().imag has one
        value = value.resolve_neg()
    torch: Any = sys.modules.get("torch")
    if torch is not None and getattr(value, "dtype", None) is torch.bfloat16:
        return np.from_dlpack(value.view(torch.int16)).view(_BFLOAT16)
    try:
        return np.from_dlpack(value)
    except (BufferError, TypeError, RuntimeError):
        # A dtype that NumPy does not have, or an old exporter: it may still convert to an array.
        if not hasattr(value, "__array__"):
            raise
        return np.asarray(value)


def check_2d(shape: tuple[int, ...], name: str, of_one_user: str) -> None:
    """Refuse a shape that is not 2-d; ``of_one_user`` is the advice for a 1-d shape."""
    if len(shape) == 2:
        return
    hint = f"for one user type {of_one_user}"
    if len(shape) == 1 and name.endswith("scores"):
        hint += "; Metrics.compute_groups(..., ids=ids) reads rows of groups, such as queries"
    if len(shape) == 3 and shape[2] == 1:
        hint = f"for the only number of each item type {name}[:, :, 0]"
    elif len(shape) > 1:
        hint = (
            f"for the last position of each sequence type {name}[:, -1], "
            f"for every one {name}.reshape(-1, {shape[-1]})"
        )
        if name.endswith("scores"):
            hint += " with target.reshape(-1)"
    msg = f"{name} must be 2-d (n_users, n_items), got {len(shape)}-d of shape {shape}; {hint}"
    raise ShapeError(msg)


def check_matrix(array: npt.NDArray[Any], name: str, value: Any = None) -> None:
    """Refuse an array that is not 2-d or does not hold real numbers.

    ``value`` is what the caller gave, for advice.
    """
    if array.ndim != 2:
        check_2d(array.shape, name, f"np.atleast_2d({without_grad(value, name)})")
    check_real(array, name)


def without_grad(value: Any, name: str) -> str:
    """Write how to type an argument in a call of NumPy, which takes no tensor with a gradient."""
    return f"{name}.detach()" if getattr(value, "requires_grad", False) else name


def check_real(array: npt.NDArray[Any], name: str) -> None:
    """Refuse an array that does not hold real numbers."""
    if is_real(array.dtype):
        return
    msg = (
        f"{name} must hold real numbers (float16, bfloat16, float32, float64, integers or bool), "
        f"got dtype {array.dtype}"
    )
    if array.dtype.isbuiltin == 2:  # registered by another library: float8, int4
        msg += f"; type {name}.astype(np.float32)"
    elif not isinstance(array, np.ndarray):  # of Dask
        msg += f"; type {name}.astype(np.float64)" if array.dtype.kind in "fOSU" else ""
    elif array.dtype.kind in _CAST:
        advice = _advice_on_numbers(array, name)
        msg += f"; {advice}" if advice else ""
    raise InputTypeError(msg)


def _advice_on_numbers(array: npt.NDArray[Any], name: str) -> str:
    """Say what to type for an array of another dtype; "" where it holds no numbers."""
    if not holds_ids(array):
        if array.dtype.kind != "c" and not _parses(array):
            return ""
        return f"type {_CAST[array.dtype.kind].format(name=name)}"
    if name in ("truth", "exclude", "candidates"):
        return OF_TABLES
    if name == "genres":
        return _OF_NAMES.format("" if array.ndim == 1 else _JOINED)
    return ""


def holds_ids(array: npt.NDArray[Any]) -> bool:
    """Say whether an array holds text that is no number."""
    if array.dtype.kind not in "SU" and not any(isinstance(value, str) for value in array.flat):
        return False
    return not _parses(array)


def _parses(array: npt.NDArray[Any]) -> bool:
    """Say whether NumPy can make real numbers of an array."""
    if array.dtype.kind == "c":
        return False
    try:
        array.astype(np.float64)
    except (OverflowError, TypeError, ValueError):
        return False
    return True


def is_real(dtype: np.dtype[Any]) -> bool:
    """Say whether the kernels can read a dtype: one of NumPy's own, or bfloat16."""
    of_numpy = issubclass(dtype.type, np.number | np.bool_)  # ml_dtypes have the same kinds
    return (of_numpy and dtype.kind in "biuf" and dtype.itemsize <= 8) or is_half(dtype)


def is_half(dtype: np.dtype[Any]) -> bool:
    """Say whether a dtype is half precision, which no kernel compares natively."""
    return dtype.itemsize == 2 and (dtype.name in HALF_INFINITY or dtype == _BFLOAT16)


def is_sparse_tensor(value: Any) -> bool:
    """Say whether a value is a sparse tensor of torch."""
    return str(getattr(value, "layout", "")).startswith("torch.sparse")


def half_to_single(array: npt.NDArray[Any]) -> npt.NDArray[Any]:
    """Convert half precision to float32, which is exact; other dtypes stay."""
    if not is_half(array.dtype):
        return array
    if array.dtype.name == "float16":
        return array.astype(np.float32)
    # A bfloat16 is the upper half of the bits of a float32.
    return (array.view(np.uint16).astype(np.uint32) << np.uint32(16)).view(np.float32)


def dtype_name(array: npt.NDArray[Any]) -> str:
    """Name the dtype that the caller gave, with its byte order if that is not the machine's."""
    if array.dtype == _BFLOAT16:
        return "torch.bfloat16"
    order = {">": "big-endian ", "<": "little-endian "}.get(array.dtype.byteorder, "")
    return f"{order}{array.dtype.name}"


def is_nonzero(array: npt.NDArray[Any]) -> npt.NDArray[np.bool_]:
    """True where a number is not 0."""
    numbers = array
    if array.dtype == np.bool_:
        # A bool array may view bytes other than 0 and 1, which are True.
        numbers = np.ascontiguousarray(array).view(np.uint8)
    elif is_half(array.dtype):
        numbers = half_bits(array) & np.int16(0x7FFF)  # without the sign: a zero may be negative
    return np.asarray(numbers != 0, np.bool_)


class UserLists(NamedTuple):
    """A collection for each user, and the item indices of all, one behind another.

    Where ``indices`` are None, the collections are arrays, of any kind.
    """

    collections: Sequence[Any]
    indices: IntArray | None = None


def per_user(value: Any, name: str) -> UserLists | None:
    """Read a list with one collection per user; None for anything else.

    Sets are sorted. A NumPy array or pandas column of Python objects is such a list, too, and so is
    a column of lists of polars or pyarrow.
    """
    dtype = getattr(value, "dtype", getattr(value, "type", None))
    is_column = dtype is not None and getattr(value, "ndim", 1) == 1
    if is_column and (dtype == np.object_ or str(dtype).lower().startswith(_LIST_DTYPES)):
        value = list(np.asarray(value))
    if not isinstance(value, Sequence) or isinstance(value, str | bytes | memoryview):
        return None
    if value and sp.issparse(value[0]):
        _refuse_batches(value, name)
    indices = _indices_in(value)
    if indices is not None:
        return UserLists(value, indices)

    is_collection = [_is_collection(element) for element in value]
    if not all(is_collection):
        if not any(is_collection):
            if isinstance(value[0], Mapping):
                _refuse_dicts(name)
            return None
        user = is_collection.index(False)
        msg = (
            f"{name} of user {user} is {value[user]!r}, expected a collection of item indices; "
            "type [] for a user without items"
        )
        raise InputTypeError(msg)
    lists = list(value)
    for user, collection in enumerate(lists):
        if type(collection) is not np.ndarray:
            list_name = f"{name} of user {user}"
            lists[user] = as_array(sorted_if_set(collection, list_name), list_name)
    _refuse_records(lists, name)
    _refuse_pairs(lists, name)
    return UserLists(lists, _indices_in(lists))


def _indices_in(collections: Sequence[Any]) -> IntArray | None:
    """Put plain lists or sets of integers, or 1-d arrays of them, one behind another, all at once.

    None for anything else.
    """
    types = set(map(type, collections))
    if types == {np.ndarray}:
        dtypes = {array.dtype.type for array in collections if array.size}
        if dtypes <= _INTEGERS and {array.ndim for array in collections} == {1}:
            return np.concatenate(collections, dtype=np.int64, casting="unsafe")

    are_sets = types <= {set, frozenset}
    if not are_sets and not types <= {list, tuple}:
        return None
    first = next(chain.from_iterable(collections), 0)  # that of a matrix of floats says enough
    if type(first) not in _INTEGERS:
        return None
    if not set(map(type, chain.from_iterable(collections))) <= _INTEGERS:
        return None
    lists = map(sorted, collections) if are_sets else collections
    try:
        return np.fromiter(chain.from_iterable(lists), np.int64)
    except OverflowError:
        return None


def _refuse_dicts(name: str) -> NoReturn:
    """Refuse a dict for each user, from items to numbers."""
    call = "list(items)"
    if name == "ranking":
        call = "sorted(items, key=items.get, reverse=True)"
    msg = (
        f"{name} is a list of dicts, expected a collection of item indices for each user; type "
        f"[{call} for items in {name}]"
    )
    if name == "truth":
        msg += _WITHOUT_NUMBERS
    raise InputTypeError(msg)


def _refuse_records(lists: Sequence[npt.NDArray[Any]], name: str) -> None:
    """Refuse a dict for each item, such as of its index and its score."""
    first = next((items.flat[0] for items in lists if items.size), None)
    if not isinstance(first, Mapping):
        return
    fields = [field for field in first if looks_like(str(field), "item")]
    msg = (
        f"{name} holds dicts with {', '.join(map(repr, first))}, expected a collection of item "
        "indices for each user"
    )
    if len(fields) == 1 and isinstance(first[fields[0]], str):
        msg += f"; {OF_TABLES}"
    elif len(fields) == 1:
        msg += f"; type [[row[{fields[0]!r}] for row in rows] for rows in {name}]"
        if name == "truth":
            msg += _WITHOUT_NUMBERS
    raise InputTypeError(msg)


def _refuse_pairs(lists: Sequence[npt.NDArray[Any]], name: str) -> None:
    """Refuse pairs of an item and its number, as recommenders give them, for every user."""
    tables = [items for items in lists if items.size]
    if not tables or any(items.shape[1:] != (2,) for items in tables):
        return
    item, number = tables[0][0].tolist()
    msg = (
        f"{name} holds pairs such as ({item!r:.40}, {number!r:.40}), expected a collection of item "
        "indices for each user"
    )
    if holds_ids(tables[0]):
        msg += f"; {OF_TABLES}"
    else:
        msg += (
            f"; type [[int(item) for item, _ in items] for items in {name}] if each is an item and "
            "its number"
        )
        if name == "ranking":
            msg += ", the best item first"
        if name == "truth":
            msg += _WITHOUT_NUMBERS
    raise ShapeError(msg)


def sorted_if_set(value: Any, name: str) -> Any:
    """Sort a set into a list; return anything else unchanged."""
    if not isinstance(value, Set):
        return value
    try:
        return sorted(value)
    except TypeError:
        msg = f"{name} must hold integer item indices, got {value!r:.80}"
        raise InputTypeError(msg) from None


def _is_collection(value: Any) -> bool:
    """Say whether a value may be the items of a user: not a number, a scalar array or text."""
    if hasattr(value, "ndim"):
        return bool(value.ndim)
    if isinstance(value, Sequence | Set):
        return not isinstance(value, str | bytes)
    return hasattr(value, "__dlpack__") or hasattr(value, "__array__")


def half_bits(halves: npt.NDArray[Any]) -> npt.NDArray[np.int16]:
    """View half-precision floats as integers of the same bits, in the same byte order."""
    return halves.view(np.dtype(np.int16).newbyteorder(halves.dtype.byteorder))


class _Memory:
    """The memory of a read-only array, for a view without the read-only flag."""

    def __init__(self, array: npt.NDArray[Any]) -> None:
        interface = array.__array_interface__
        self.__array_interface__ = {**interface, "data": (interface["data"][0], False)}
        self._owner = array


def as_kernel_array(array: npt.NDArray[Any]) -> npt.NDArray[Any]:
    """Give a read-only array the type of a writable one; kernels only read it.

    Numba compiles everything a second time for read-only arrays.
    """
    return array if array.flags.writeable else np.asarray(_Memory(array))


def may_be_indices(array: npt.NDArray[Any]) -> bool:
    """Say whether the rows of a matrix may be item indices: distinct integers, then only -1."""
    if array.ndim != 2 or array.dtype.kind not in "iu" or not array.size:
        return False
    if array.shape[1] == 1:
        return True
    # A row of relevances nearly always has a number twice, so the first row mostly decides. Numbers
    # of which none is above 1 are taken as relevances.
    return are_distinct(array[:1]) and are_distinct(array) and bool(array.max() > 1)


def items_of_pairs(array: npt.NDArray[Any], typed: str) -> str:
    """Write how to type the item of each user, (n_users,), where each row is a user and an item.

    ``typed`` is the text with which to type the array. "" if its rows are no such pairs: the users
    are 0 .. n_users - 1, each once, and more than one, whose item 0 says little. Numbers of which
    none is above 1 are taken as relevances.
    """
    if array.ndim != 2 or array.shape[1] != 2 or array.dtype.kind not in "iu":
        return ""
    if len(array) < 2 or array.max() <= 1:
        return ""
    users = array[:, 0]
    order = np.argsort(users)
    numbers = np.arange(len(users))
    if not np.array_equal(users[order], numbers):
        return ""
    if np.array_equal(order, numbers):
        return f"{typed}[:, 1]"
    return f"{typed}[np.argsort({typed}[:, 0]), 1]"


def are_distinct(rows: npt.NDArray[Any]) -> bool:
    """Say whether each row has distinct numbers >= 0, and after the last one only -1."""
    is_end = rows == -1
    if np.any(is_end[:, :-1] & ~is_end[:, 1:]) or rows.min(initial=0) < -1:
        return False
    ordered = np.sort(rows, axis=1)
    is_repeat = (ordered[:, 1:] == ordered[:, :-1]) & (ordered[:, 1:] != -1)
    return not is_repeat.any()


def call_on(name: str, call: str) -> str:
    """Write a call, such as "np.ravel({})", of the argument ``name``.

    If this is the list of one user, "truth of user 3", the call is written for every list.
    """
    argument, of_user, _ = name.partition(" of user ")
    if of_user:
        return f"[{call.format('items')} for items in {argument}]"
    return call.format(name)


def check_indices(array: npt.NDArray[Any], name: str, *, is_of_pandas: bool = False) -> None:
    """Refuse an array that is not of integers; an empty one may have any dtype.

    ``is_of_pandas`` is True for what was a frame of pandas.
    """
    if array.dtype == np.uint64 and array.size and array.max() > np.iinfo(np.int64).max:
        msg = f"{name} names item {array.max()}; expected an index below 2^63"
        raise InputError(msg)
    if array.size and array.dtype.kind not in "iu":
        hint = first_fraction(array)
        if holds_ids(array):
            hint = f"; {OF_TABLES}"
        elif not hint:
            hint = f"; {_advice_on_dtype(array, name, is_of_pandas=is_of_pandas)}"
        msg = f"{name} must hold integer item indices, got dtype {array.dtype}{hint}"
        raise InputTypeError(msg)


def first_fraction(array: npt.NDArray[Any]) -> str:
    """Name the first float, other than NaN, that is no integer, and its place; "" without any."""
    if array.dtype.kind != "f":
        return ""
    is_fraction = np.isinf(array) | (~np.isnan(array) & (array != np.floor(array)))
    if not is_fraction.any():
        return ""
    place = np.argwhere(is_fraction)[0].tolist()
    return f"; the first that is no integer is {array[is_fraction][0]:g}, at index {place}"


def advice_on_gaps(array: npt.NDArray[Any], name: str) -> str:
    """Say what to type for the item indices of a user, if they are padded without a number."""
    if array.ndim != 1 or array.dtype.kind not in "fO":
        return ""
    n_missing = 0
    for number in array.tolist():
        if is_missing(number):
            n_missing += 1
        elif not (
            isinstance(number, Integral) or (isinstance(number, float) and number.is_integer())
        ):
            return ""
    if not n_missing:
        return ""
    return _advice_on_dtype(array, name, is_of_pandas=False)


def _advice_on_dtype(array: npt.NDArray[Any], name: str, *, is_of_pandas: bool) -> str:
    """Say what to type for indices in an array of another dtype, perhaps padded without a number.

    A column with a missing integer becomes floats with NaN.
    """
    if array.dtype.kind == "f" and np.isnan(array).any():
        if is_of_pandas:
            return f"type {name}.fillna(-1).astype(int) if NaN ends a list"
        if array.ndim == 2:
            return f"type np.nan_to_num({name}, nan=-1).astype(np.int64) if NaN ends a list"
        without_nan = call_on(name, "np.asarray({0})[~np.isnan(np.asarray({0}))].astype(np.int64)")
        return f"type {without_nan} to leave out NaN"
    if array.dtype.kind == "O" and any(map(is_missing, array.flat)):
        if array.ndim == 2:
            return f"type pandas.DataFrame({name}).fillna(-1).astype(int) if NA ends a list"
        if not _parses(array):  # NA, which is no number, as None is NaN
            without_na = call_on(name, "[item for item in {} if pandas.notna(item)]")
            return f"type {without_na} to leave out NA"
        without_none = call_on(name, "[item for item in {} if item is not None]")
        return f"type {without_none} to leave out None"
    if not _parses(array):
        return "expected the index of an item in each place"
    return f"type {call_on(name, 'np.asarray({}, np.int64)')} if these are indices"


def is_missing(value: Any) -> bool:
    """Say whether a value is None or what data frames have in its place."""
    if getattr(value, "shape", ()):  # an array, which is equal to none
        return False
    try:
        if value is None or value != value:  # NaN and NaT differ from themselves
            return True
        return getattr(value, "is_valid", True) is False  # a null of pyarrow
    except TypeError:  # pandas.NA
        return True


def valid_indices(n_items: int | None) -> str:
    """Say which item indices a catalogue has, for errors; its size may be unknown."""
    if n_items is None:
        return "an index >= 0"
    return f"0 .. {n_items - 1}" if n_items else "no index, since there are 0 items"


def hint_of_index(name: str, index: int, indices: IntArray, n_items: int | None) -> str:
    """Say what to type for ``indices`` of ``name``, of which ``index`` is outside; or "".

    It helps with a negative index, and with indices that begin at 1.
    """
    if index < 0:
        if np.unique(indices[indices < -1]).size > 1:  # no single number that means no item
            return ""
        call = call_on(name, "np.maximum(list({}), -1)")
        return f"; if an index below 0 is no item type {call}"
    is_item = indices != -1
    if indices.max() != n_items or indices.min(where=is_item, initial=index) < 1:
        return ""
    call = "np.subtract(list({}), 1)"
    if not is_item.all():
        call = f"np.maximum({call}, -1)"
    return f"; indices begin at 0: if these begin at 1 type {call_on(name, call)}"


def one_behind_another(
    lists: UserLists, name_of: Callable[[int], str]
) -> tuple[IntArray, IntArray]:
    """Concatenate lists of item indices.

    Gives where each list starts, (users + 1,), and the indices as int64. ``name_of`` gives the name
    of a user's list in errors.
    """
    indices = lists.indices
    if indices is None:
        for user, items in enumerate(lists.collections):
            if items.ndim != 1:
                name = name_of(user)
                msg = (
                    f"{name} must be a 1-d array of item indices, "
                    f"got {items.ndim}-d of shape {items.shape}"
                )
                if 1 in items.shape:  # else np.ravel would mix the columns
                    msg += f"; for one row or column type {call_on(name, 'np.ravel({})')}"
                raise ShapeError(msg)
            check_indices(items, name_of(user))
        indices = np.concatenate(lists.collections, dtype=np.int64, casting="unsafe")
    return starts_of(list(map(len, lists.collections))), indices


def starts_of(counts: npt.ArrayLike) -> IntArray:
    """Give where the entries of each user start, and the end of the last, from their counts."""
    return np.concatenate(([0], np.cumsum(counts, dtype=np.int64)))


def users_of_entries(start: npt.NDArray[Any]) -> IntArray:
    """Give the user of each entry; user u has the entries ``start[u]:start[u + 1]``."""
    return np.repeat(np.arange(len(start) - 1), np.diff(start))


def places_of_entries(start: IntArray) -> IntArray:
    """Give the place 0, 1, 2, ... of each entry among the entries of its user."""
    return np.arange(start[-1]) - np.repeat(start[:-1], np.diff(start))
