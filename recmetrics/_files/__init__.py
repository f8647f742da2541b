"""Files that a user names -> arrays, rows and tables, read by NumPy, SciPy, polars and csv.

    source        ``Source``: a file and its argument; formats, errors with its name; .npy, mapped,
                  and sparse .npz
    lines         matrices of users and items, also as text: triples, lists, TREC's qrels and runs
    table_files   tables of ids and numbers, read by polars: with a header, TREC's runs and qrels
    per_user      reads values of each user, which ``recmetrics evaluate --per-user`` wrote, and
                  segments; names the weights of users beside the values of a metric
    writing       files that are written completely or not at all

Nothing is ever unpickled. ``source.reading`` makes each error of a library an ``InputError`` of one
line that names the file.
"""

from recmetrics._files.lines import Lines, read_user_items
from recmetrics._files.per_user import read_per_user, read_segments, weight_name, weight_names
from recmetrics._files.source import (
    Source,
    as_dict,
    read_array,
    reading,
    reason,
    refuse_other_formats,
    start,
    suffix_of,
)
from recmetrics._files.table_files import (
    SUFFIXES,
    TABLES,
    Columns,
    as_frame,
    columns_of_places,
    holds_lists,
    holds_table,
    read_any,
    read_table,
    refuse_same,
    require_polars,
    scan_table,
)
from recmetrics._files.writing import atomic
