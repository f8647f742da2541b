"""The parts of a store that leave it: for another store, another process, or a file.

A *part* is the ``UserRows`` or ``Totals`` of a store. It goes with the ``Schema`` of the store,
which says how they were computed. A store takes only parts of its own schema.
"""

import functools
import math
import sys
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Any, NamedTuple, Self, get_args

import numpy as np
import numpy.typing as npt

from recmetrics._core.errors import (
    ArgumentError,
    InputError,
    InputTypeError,
    UnknownMetricError,
    warn,
)
from recmetrics._core.options import one_of
from recmetrics._core.spec import LEAST, Definition, MetricSpec, Request, UserWeight, parse
from recmetrics._core.types import NaNPolicy, TiePolicy, Undefined

Arrays = dict[str, npt.NDArray[Any]]
Shape = tuple[int | None, int | None]  # users and items, None where these are not known
# The form of the arrays of a state: it grows by 1 where they change. Form 0 did not say so.
FORM = 2
# The names of the arrays in a saved state that have a text for each metric, and of all of text.
_METRIC_FIELDS = ("metrics", "specs", "modules", "undefined", "ties", "weights")
_CLASSES = {  # that write the states of each ``keep``
    "rows": "Evaluator",
    "values": "StreamEvaluator",
    "means": "StreamEvaluator",
}
_DTYPES = {"b": np.bool_, "i": np.int64, "f": np.float64}
_TEXT_FIELDS = (*_METRIC_FIELDS, "nan", "keep", "data", "version")


class Schema(NamedTuple):
    """The metrics, policies, data and shape of results; parts of equal schemas can be merged."""

    metrics: dict[str, str]  # the canonical metric string of each key of results
    undefined: dict[str, str]  # the policy of each key, as the next
    ties: dict[str, str]
    weights: dict[str, str]  # of users in the mean of each key
    nan: str
    keep: str  # "rows" of users, or of events "values" or "means"
    shape: Shape
    data: dict[str, str]  # a hash of the truth, of the other sets and of the side information
    version: str  # of the package, where the values were computed

    @classmethod
    def of(
        cls, request: Request, keep: str, shape: Shape, data: dict[str, str], version: str
    ) -> Self:
        """Make the schema of the results of a request."""
        definitions = request.definitions.items()
        return cls(
            metrics={text: str(definition.spec) for text, definition in definitions},
            undefined={text: definition.undefined for text, definition in definitions},
            ties={text: definition.ties for text, definition in definitions},
            weights={text: request.weights.get(text, "1") for text in request.definitions},
            nan=request.nan,
            keep=keep,
            shape=shape,
            data=data,
            version=version,
        )

    @property
    def is_range(self) -> bool:
        """True if the metrics have the keys that ``ties="range"`` adds."""
        return any(key.endswith(LEAST) for key in self.metrics)

    def check_same(self, other: "Schema") -> None:
        """Refuse the schema of another store whose parts cannot be merged into this one.

        Warns of parts that another version of the package computed.
        """
        if self == other:
            return

        def refuse(quantity: str, ours: object = "", theirs: object = "") -> None:
            values = f": {ours} and {theirs}" if ours else ""
            msg = (
                f"evaluators with different {quantity} cannot be merged{values}; expected the same "
                "in both"
            )
            raise ArgumentError(msg)

        if self.is_range != other.is_range:
            policies = [
                "range" if schema.is_range else _shortly(schema.ties) for schema in (self, other)
            ]
            refuse("ties=", *policies)
        for name in ("metrics", "undefined", "ties", "weights", "nan", "keep"):
            ours = getattr(self, name)
            theirs = getattr(other, name)
            if ours != theirs:
                quantity = name if name in ("metrics", "weights") else f"{name}="
                refuse(quantity, _shortly(ours), _shortly(theirs))
        for our_size, their_size in zip(self.shape, other.shape, strict=True):
            if our_size != their_size and None not in (our_size, their_size):
                refuse("users and items", self.shape, other.shape)
        if ("truth" in self.data) != ("truth" in other.data):
            msg = (
                "one evaluator has the truth of all users, and the other that of a part of them "
                "(users=); to merge them, make both in one of these ways"
            )
            raise ArgumentError(msg)
        for name in self.data | other.data:
            if self.data.get(name) != other.data.get(name):
                refuse(name)
        if self.version != other.version:
            msg = (
                f"values of recmetrics {self.version} and {other.version} are merged, which may "
                "compute them differently; expected one version on all machines"
            )
            warn(msg)

    def arrays(self, request: Request) -> Arrays:
        """The metrics, policies and hashes as plain arrays, by name, for ``_schema_of``.

        ``request`` is that of the store.
        """
        for text, (spec, _, _) in request.definitions.items():
            if any(callable(value) for _, value in spec.options):
                msg = (
                    f"{text} has a callable as an option, which arrays cannot hold; pickle the "
                    "evaluator instead, with a function that a module defines, not a lambda"
                )
                raise ArgumentError(msg)
        texts: dict[str, Any] = {
            "metrics": list(self.metrics),
            "specs": list(self.metrics.values()),
            # A metric that is none of the package is known once its module is imported.
            "modules": [d.spec.metric.module for d in request.definitions.values()],
            "undefined": list(self.undefined.values()),
            "ties": list(self.ties.values()),
            "weights": list(self.weights.values()),
            "nan": self.nan,
            "keep": self.keep,
            "data": list(self.data.items()),
            "version": self.version,
        }
        arrays: Arrays = {name: np.array(text, np.str_) for name, text in texts.items()}
        arrays["form"] = np.array(FORM)
        arrays["shape"] = np.array([-1 if size is None else size for size in self.shape])
        return arrays


def this_version() -> str:
    """The version of the package."""
    return sys.modules["recmetrics"].__version__  # type: ignore[no-any-return]


def checked_array(
    name: str,
    array: npt.NDArray[Any],
    kinds: str,
    shape: tuple[int, ...],
    least: float = -math.inf,
    most: float = math.inf,
) -> npt.NDArray[Any]:
    """Return an array, or raise a ValueError if it does not fit.

    ``kinds`` has the letters of NumPy for kinds of dtypes. Integers must be from ``least`` to
    ``most``. An array without numbers may come from a list of JSON, without its shape and dtype.
    """
    if not array.size and not math.prod(shape):
        return np.empty(shape, _DTYPES[kinds[0]])
    fits = array.dtype.kind in kinds and array.shape == shape
    if fits and "i" in kinds and array.size:
        fits = array.min() >= least and array.max() <= most
    if not fits:
        msg = f"{name} does not fit"
        raise ValueError(msg)
    return array


@contextmanager
def reading(
    state: Mapping[str, Any], class_name: str, keeps: Sequence[str]
) -> Iterator[tuple[Arrays, Request, Schema]]:
    """Yield the arrays of a state, and the request and the schema that they hold.

    Any error of the caller's block says that the state is not one of the class. ``keeps`` are the
    values of ``Schema.keep`` that the class has.
    """
    expected_state = f"expected what {class_name}.state() gave"
    if not isinstance(state, Mapping):
        msg = f"state is a {type(state).__name__}; {expected_state}"
        raise InputTypeError(msg)
    if "metrics" not in state and "form" not in state:
        msg = f"state names no metrics; {expected_state}"
        raise InputError(msg)
    keep = str(state.get("keep"))
    if keep in _CLASSES and keep not in keeps:
        writer_class = _CLASSES[keep]
        msg = (
            f"state is what {writer_class}.state() gave; {expected_state}; type "
            f"{writer_class}.from_state(state)"
        )
        raise InputError(msg, argument="state")
    _check_form(state)
    try:
        fields = {name: np.asarray(array) for name, array in state.items()}
        if "form" not in fields:
            fields["version"] = np.array("of an unknown version")
            fields["weights"] = np.full(fields["metrics"].shape, "1")  # means were plain
        yield fields, *_schema_of(fields, keeps)
    except UnknownMetricError:  # its message says which module declares the metric
        raise
    except KeyError as error:
        writer = "" if "form" in state else ", since an earlier version of recmetrics wrote it"
        msg = f"state lacks {error.args[0]}{writer}; {expected_state}"
        raise InputError(msg) from None
    except (IndexError, TypeError, ValueError) as error:
        msg = f"state is damaged ({error}); {expected_state}"
        raise InputError(msg) from None


def _check_form(state: Mapping[str, Any]) -> None:
    """Refuse a state whose arrays have another form, and warn of one that does not name its own."""
    form = np.asarray(state.get("form", 0))
    if form.tolist() == FORM:
        return
    if "form" in state:
        msg = (
            f"state has the form {form}, written by recmetrics {state.get('version')}; expected "
            f"form {FORM}, which recmetrics {this_version()} reads: use one version on all machines"
        )
        raise InputError(msg)
    msg = (
        "state does not say which version of recmetrics wrote it, as in form 0; its values may "
        "differ from those of this version"
    )
    warn(msg)


def _schema_of(fields: Arrays, keeps: Sequence[str]) -> tuple[Request, Schema]:
    """Read a request with the definitions of metrics, and the schema, from saved arrays.

    A ValueError says what does not fit.
    """
    if any(fields[name].size and fields[name].dtype.kind != "U" for name in _TEXT_FIELDS):
        msg = "names are not text"
        raise ValueError(msg)
    nan, keep, version = (fields[name].tolist() for name in ("nan", "keep", "version"))
    one_of("nan", nan, NaNPolicy)
    if keep not in keeps:
        msg = f"keep is {keep!r}"
        raise ValueError(msg)
    checked_array("shape", fields["shape"], "iu", (2,), -1)
    n_users, n_items = (None if size == -1 else size for size in fields["shape"].tolist())
    columns = tuple(tuple(fields[name].tolist()) for name in _METRIC_FIELDS)
    data = tuple(map(tuple, fields["data"].tolist()))

    # The definitions of a metric that is none of the package may be declared anew.
    is_of_package = not any(fields["modules"].tolist())
    read = _read_once if is_of_package else _read_schema
    return read(columns, nan, keep, (n_users, n_items), data, version)


def _read_schema(
    columns: tuple[tuple[str, ...], ...],
    nan: NaNPolicy,
    keep: str,
    shape: Shape,
    data: tuple[tuple[str, str], ...],
    version: str,
) -> tuple[Request, Schema]:
    """Make the request and the schema of saved texts.

    ``columns`` are those of ``_METRIC_FIELDS``; ``data`` has the name of each piece of data and its
    hash.
    """
    definitions = {}
    weights = {}
    for key, spec, module, undefined, ties, weight in zip(*columns, strict=True):
        one_of("ties", ties, TiePolicy)
        one_of("undefined", undefined, Undefined)
        one_of("weights", weight, UserWeight)
        definitions[key] = Definition(_parse_saved(spec, module), ties, undefined)
        if weight != "1":
            weights[key] = weight
    if not all(len(pair) == 2 for pair in data):
        msg = "data does not fit"
        raise ValueError(msg)
    request = Request.of(definitions)
    request.nan = nan
    request.weights.update(weights)
    return request, Schema.of(request, keep, shape, dict(data), version)


# A decision reads the states of thousands of parts, whose texts are the same.
_read_once = functools.lru_cache(maxsize=16)(_read_schema)


def _parse_saved(spec: str, module: str) -> MetricSpec:
    """Read a metric string; the error for an unknown metric names the ``module`` to import.

    ``module`` is "" for a metric of the package.
    """
    try:
        return parse(spec)
    except UnknownMetricError as error:
        if not module:
            raise ValueError(*error.args) from None
        advice = f"type: import {module}"
        if module == "__main__":
            advice = "declare it here as well, or in a module that both programs import"
        msg = f"{spec} is a metric of the program that saved the state; {advice}"
        raise UnknownMetricError(msg) from error


def _shortly(value: object) -> object:
    """The policy that all metrics have, if ``value`` is a dict of equal ones; or metric strings."""
    if isinstance(value, dict):
        if all(key == text for key, text in value.items()):
            return list(value)
        policies = set(value.values())
        if len(policies) == 1 and policies <= {*get_args(TiePolicy), *get_args(Undefined)}:
            return policies.pop()
    return value
