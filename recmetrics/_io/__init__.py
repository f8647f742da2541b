"""Files that a user names -> arrays and rows, read by NumPy, SciPy and the csv module.

    source        ``Source``: a file and its argument; formats, errors with its name, rows of text
    array_files   .npy, mapped, and .npz
    per_user      values of each user, as ``recmetrics evaluate --per-user`` writes them

Nothing is ever unpickled. ``reading`` makes each error of a library an ``InputError`` of one line
that names the file.
"""

from recmetrics._io.array_files import read_array
from recmetrics._io.per_user import read_by_id, read_per_user
from recmetrics._io.source import (
    Source,
    at_line,
    read_number,
    reading,
    reason,
    refuse_other_formats,
    start,
)
