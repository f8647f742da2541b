"""Names from files and callers, made safe for a terminal."""

import re

# Control characters command a terminal, overrides of direction and line separators disarrange its
# lines, surrogates (bytes of a file name that are not UTF-8) cannot be encoded.
_UNPRINTABLE = re.compile("[\0-\x08\x0b-\x1f\x7f-\x9f\u2028-\u202e\u2066-\u2069\ud800-\udfff]")


def printable(text: str) -> str:
    r"""Escape the characters that do harm in a terminal, as ``\x1b``; line ends stay."""
    return _UNPRINTABLE.sub(lambda found: found[0].encode("unicode_escape").decode(), text)
