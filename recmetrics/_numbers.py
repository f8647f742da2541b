"""What counts as a whole number among arguments."""

import operator
from typing import Any

import numpy as np


def whole_number(value: Any) -> int | None:
    """``value`` as an int, or None where it is no integer of any kind.

    True is none: a flag in the place of a number is a mistake.
    """
    if isinstance(value, (bool, np.bool_)):
        return None
    try:
        return operator.index(value)
    except TypeError:
        return None
