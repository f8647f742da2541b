"""Files that a user names -> arrays and rows, read by NumPy, SciPy and the csv module.

    source        ``Source``: a file and its argument; formats, errors with its name; .npy, mapped,
                  and sparse .npz
    lines         matrices of users and items, also as text: triples, lists, TREC's qrels and runs
    per_user      reads values of each user, which ``recmetrics evaluate --per-user`` wrote, and
                  segments

Nothing is ever unpickled. ``source.reading`` makes each error of a library an ``InputError`` of one
line that names the file.
"""

from recmetrics._files.lines import Lines, read_user_items
from recmetrics._files.per_user import read_per_user, read_segments
from recmetrics._files.source import (
    Source,
    read_array,
    reading,
    reason,
    refuse_other_formats,
    start,
)
