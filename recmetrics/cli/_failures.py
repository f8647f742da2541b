"""The one exception of the command line, and the words of its messages."""

import re
from collections.abc import Iterator, Mapping
from contextlib import contextmanager

from recmetrics import RecmetricsError


class CommandError(Exception):
    """A command that cannot be run; the message is the line that the user sees."""


def reason(error: BaseException) -> str:
    """Say in a few words why ``error`` was raised, without file names or a final dot."""
    text = error.strerror if isinstance(error, OSError) and error.strerror else str(error)
    return " ".join(text.split()).rstrip(".") or type(error).__name__


@contextmanager
def naming(sources: Mapping[str, object]) -> Iterator[None]:
    """Replace the argument's name, with which errors of the library begin, by its file."""
    try:
        yield
    except RecmetricsError as error:
        found = re.match(r"\w+", str(error))
        if found is None or found[0] not in sources:
            raise
        rest = str(error)[found.end() :]
        msg = f"{sources[found[0]]}{re.sub('^ hold ', ' holds ', rest)}"
        raise CommandError(msg) from error


def with_options(message: str) -> str:
    """Turn keyword arguments in a message into options of the command."""
    return re.sub(r"""\b(undefined|nan|ties)=["'](\w+)["']""", r"--\1 \2", message)
