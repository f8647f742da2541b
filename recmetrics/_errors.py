"""Every exception of the package, and its category of warnings.

RecmetricsError
    MetricSpecError (ValueError)       a metric string that cannot be read
        UnknownMetricError             no metric of that name; names the nearest
        UnknownOptionError             the metric has no such option, or no such value
    ArgumentError (ValueError)         undefined=, nan=, ..., k= out of range, or missing side data
    InputError (ValueError)            scores, truth, exclude, candidates, ranking: wrong values
        ShapeError                     arrays whose shapes do not fit
        NaNScoreError                  NaN among the scores
    InputTypeError (TypeError)         something that is no matrix of real numbers
    UndefinedMetricError (ValueError)  a user without relevant items under undefined="raise"
    DeviceMemoryError (RuntimeError)   no memory left on a GPU, as torch has its own error
RecmetricsWarning (UserWarning)        numbers that may not mean what they seem to
"""

import sys
import warnings

_PACKAGE = __name__.partition(".")[0]


class RecmetricsError(Exception):
    """Base of all errors that this package raises on purpose."""


class MetricSpecError(RecmetricsError, ValueError):
    """A metric string that cannot be read."""


class UnknownMetricError(MetricSpecError):
    """A metric name that is not in the registry."""


class UnknownOptionError(MetricSpecError):
    """An option, or a value of an option, that the metric does not have."""


class ArgumentError(RecmetricsError, ValueError):
    """A keyword argument outside its range, or one that a metric needs and was not given."""


class InputError(RecmetricsError, ValueError):
    """Scores, truth, exclude, candidates or a ranking that hold wrong values."""


class ShapeError(InputError):
    """Inputs whose shapes do not fit together."""


class NaNScoreError(InputError):
    """NaN among the scores."""


class InputTypeError(RecmetricsError, TypeError):
    """An input that is not a matrix of real numbers."""


class UndefinedMetricError(RecmetricsError, ValueError):
    """A user whose metric is undefined, under ``undefined="raise"``."""


class DeviceMemoryError(RecmetricsError, RuntimeError):
    """No memory is left on the GPU where the scores are."""


class RecmetricsWarning(UserWarning):
    """Numbers that may not mean what they seem to."""


def warn(message: str, category: type[RecmetricsWarning] = RecmetricsWarning) -> None:
    """Warn at the line that called the package, however deep within it this call is."""
    frame, level = sys._getframe(), 1
    while frame.f_back is not None and _is_own(frame.f_globals.get("__name__", "")):
        frame, level = frame.f_back, level + 1
    warnings.warn(message, category, stacklevel=level)


def _is_own(module: str) -> bool:
    return module.partition(".")[0] == _PACKAGE
