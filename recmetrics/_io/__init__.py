"""Files that a user names -> arrays and lines, without trusting what the files claim.

    source     ``Source``: a file and its argument, opened, told apart, errors with its name
    lines      lines and rows of text
    npy, npz   arrays and archives: headers are checked before anything is allocated
    memory     what does not fit into the memory of this process
    per_user   values of each user, as ``recmetrics evaluate --per-user`` writes them

Nothing is ever unpickled. Parsers raise ``ValueError`` or ``LineError``; ``reading`` makes each an
``InputError`` of one line that names the file. The command reads all its files with these.
"""

from recmetrics._io.lines import LineError, read_lines, read_number, read_rows, refuse_bytes
from recmetrics._io.memory import refuse_beyond_memory
from recmetrics._io.npy import NPY_MAGIC, map_array, map_data, read_header, refuse_damaged_text
from recmetrics._io.npz import NPZ_MAGIC, read_sparse
from recmetrics._io.per_user import NOUNS, PerUser, read_per_user
from recmetrics._io.source import (
    Source,
    State,
    changed,
    opened,
    reading,
    reason,
    refuse_devices,
    refuse_other_formats,
    start,
    state,
    state_of,
)
