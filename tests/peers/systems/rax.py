"""rax: how its users call it, with the items that must not be recommended left out.

R counts the others. Labels of one list are read; the mean of several is that of the values.
"""

import jax
import numpy as np
import rax

jax.config.update("jax_platforms", "cpu")
jax.config.update("jax_enable_x64", True)

PACKAGE = "rax"
REQUIREMENTS = ["jax==0.10.2", "rax==0.4.0"]
ROWS = True


def values(call: str, given) -> list[float]:
    """Compute the value of each user; NaN of a user without a row."""

    def value(grades, scores):
        arrays = {"scores": scores, "labels": grades.astype(np.float64)}
        return float(eval(call, vars(rax) | arrays))

    return given.of_rows(value)
