"""Words of a printed line: numbers with nouns, and names that do no harm in a terminal."""

from __future__ import annotations

import re

# Control characters command a terminal, overrides of direction and line separators disarrange its
# lines, surrogates (bytes of a file name that are not UTF-8) cannot be encoded.
_UNPRINTABLE = re.compile("[\0-\x08\x0b-\x1f\x7f-\x9f\u2028-\u202e\u2066-\u2069\ud800-\udfff]")


def printable(text: str) -> str:
    r"""Escape the characters that do harm in a terminal, as ``\x1b``; line ends stay."""
    return _UNPRINTABLE.sub(lambda match: match[0].encode("unicode_escape").decode(), text)


def counted(number: int, noun: str) -> str:
    """Write a number with its noun: "1 user", "2,000 users"."""
    return f"{number:,} {noun if number == 1 else plural(noun)}"


def per_cent(part: int, whole: int) -> str:
    """Write the share of a part: 100.0% only of all, 0.0% only of none."""
    share = part / whole
    if 0 < share < 0.001:
        return "<0.1%"
    if 0.999 < share < 1:
        return ">99.9%"
    return f"{share:.1%}"


def plural(noun: str) -> str:
    """Write the plural of a regular noun: "queries", "matches", "users"."""
    if re.search("[^aeiou]y$", noun):
        return f"{noun[:-1]}ies"
    if noun.endswith(("s", "x", "ch", "sh")):
        return f"{noun}es"
    return f"{noun}s"


def one_line(name: object) -> str:
    """Write a name without line ends and what does harm in a terminal; a blank one as ''."""
    return " ".join(printable(str(name)).split()) or "''"  # an empty cell is that of the row above
