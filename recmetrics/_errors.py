"""Every exception of the package.

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
"""


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
