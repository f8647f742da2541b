"""The one exception of the command line, and the words of its messages."""

import re


class CommandError(Exception):
    """What was typed cannot be done; the message is the line that the user sees."""


def reason(error: BaseException) -> str:
    """Say in a few words why ``error`` was raised, without file names or a final dot."""
    text = error.strerror if isinstance(error, OSError) and error.strerror else str(error)
    return " ".join(text.split()).rstrip(".") or type(error).__name__


def with_options(message: str) -> str:
    """Turn what to type in Python into what to type here."""
    return re.sub(r"""\b(undefined|nan|ties)=["'](\w+)["']""", r"--\1 \2", message)
