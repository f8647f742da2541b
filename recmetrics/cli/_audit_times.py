"""``recmetrics audit-times``: the times of a split, of tables."""

from __future__ import annotations

import json
from argparse import Namespace
from dataclasses import asdict
from pathlib import Path

from recmetrics._io import Source
from recmetrics.cli._table_files import Columns, read_frame, refuse_same
from recmetrics.cli._terminal import CommandError, naming, show, write


def audit_time_files(args: Namespace) -> None:
    """Read the tables, compare, then print."""
    if len(args.files) < 2:
        msg = "give the files TRAIN TRUTH; see 'recmetrics audit-times --help'"
        raise CommandError(msg)
    names = {name: getattr(args, name) for name in ("user", "item", "time")}
    refuse_same(names)
    ids, times = [names["user"], names["item"]], [names["time"]]
    expected = "a table .csv, .tsv or .parquet with a header and the columns "
    expected += f"{names['user']}, {names['item']} and {names['time']}"
    columns = Columns(
        expected,
        ids,
        times,
        lambda *_: "; give the names with --user, --item and --time",
        required=True,
        times=times,
    )
    sources = {
        name: Source(name.upper(), Path(file))
        for name, file in zip(("train", "truth"), args.files, strict=True)
    }
    frames = {name: read_frame(source, columns) for name, source in sources.items()}
    from recmetrics import tables as library  # which needs narwhals, as the extra has it

    with naming(sources):
        found = library.audit_times(frames["train"], frames["truth"], **names)
    if not args.json:
        show(str(found))
        return
    document = asdict(found)
    for name in ("findings", "information"):
        document[name] = {key: each._asdict() for key, each in document[name].items()}
    write(json.dumps(document, indent=2, allow_nan=False) + "\n")
