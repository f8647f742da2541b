"""Columns of Arrow whose values are views, a dictionary, runs or an extension type."""

import re
from typing import Any


def has_rows(kind: object) -> bool:
    """Say whether Arrow can take rows of a column of this type."""
    return not re.search("string_view|binary_view|run_end_encoded", str(kind))


def unwrapped(array: Any) -> Any:
    """Convert a chunked array to one of plain values; a plain one is returned as it is."""
    import pyarrow as pa
    import pyarrow.compute as pc

    kind = array.type
    if str(kind) in ("string_view", "binary_view"):
        return array.cast(pa.large_string() if str(kind) == "string_view" else pa.large_binary())
    if pa.types.is_dictionary(kind):
        inner = unwrapped(pa.chunked_array([], kind.value_type)).type
        values = [unwrapped(pa.chunked_array([chunk.dictionary])) for chunk in array.chunks]
        chunks = [
            value.combine_chunks().take(chunk.indices)
            for value, chunk in zip(values, array.chunks, strict=True)
        ]
    elif isinstance(kind, pa.BaseExtensionType):
        chunks, inner = [chunk.storage for chunk in array.chunks], kind.storage_type
    elif pa.types.is_run_end_encoded(kind):
        chunks, inner = [pc.run_end_decode(chunk) for chunk in array.chunks], kind.value_type
    else:
        return array
    return unwrapped(pa.chunked_array(chunks, inner))
