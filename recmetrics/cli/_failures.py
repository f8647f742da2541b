"""The one exception of the command line, and the words of its messages."""

import re
import shlex
from collections.abc import Iterator, Mapping
from contextlib import contextmanager

from recmetrics import RecmetricsError
from recmetrics._io import reason as reason  # for the command's own messages


class CommandError(RecmetricsError):
    """A command that cannot be run; the message is the line that the user sees."""


@contextmanager
def naming(sources: Mapping[str, object]) -> Iterator[None]:
    """Replace the argument's name, with which errors of the library begin, by its file."""
    try:
        yield
    except CommandError:
        raise
    except RecmetricsError as error:
        msg = with_files(str(error), sources)
        if msg == str(error):
            raise
        raise CommandError(msg) from error


def with_files(message: str, sources: Mapping[str, object]) -> str:
    """Turn the argument's name, with which a message begins, into its file."""
    found = re.match(r"\w+(\['[\w.-]+'\])?", message)
    if found is None or found[0] not in sources:
        return message
    return f"{sources[found[0]]}{re.sub('^ hold ', ' holds ', message[found.end() :])}"


def with_options(message: str) -> str:
    """Turn keyword arguments in a message into options of the command."""
    message = re.sub(
        r"""\b(undefined|nan|ties|rank_gaps|repeats|unknown|score|rank)=(["'])(.*?)\2""",
        lambda found: f"--{found[1].replace('_', '-')} {shlex.quote(found[3])}",
        message,
    )
    message = message.replace("in_order=True", "--in-order")
    return message.replace("paired_runs=True", "--paired-runs")
