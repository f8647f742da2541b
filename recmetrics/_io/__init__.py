"""Files that a user names -> arrays and rows, read by NumPy, SciPy and the csv module.

    source        ``Source``: a file and its argument; formats, errors with its name, rows of text;
                  .npy, mapped, and sparse .npz; names from files, made safe for a terminal
    per_user      values of each user, as ``recmetrics evaluate --per-user`` writes them; segments

Nothing is ever unpickled. ``reading`` makes each error of a library an ``InputError`` of one line
that names the file.
"""

from recmetrics._io.per_user import read_per_user, read_segments
from recmetrics._io.source import (
    NPY,
    ZIP,
    Source,
    at_line,
    printable,
    read_array,
    read_number,
    reading,
    reason,
    refuse_other_formats,
    start,
)
