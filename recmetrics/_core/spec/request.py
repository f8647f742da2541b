"""Request: the metrics of a call, each with its resolved definition, checked without data."""

from collections.abc import Callable, Iterable, Mapping
from functools import cached_property, lru_cache
from typing import Any, Literal, NamedTuple, Unpack

from recmetrics._core.errors import (
    ArgumentError,
    InputTypeError,
    MetricSpecError,
    RecmetricsError,
    blame,
    did_you_mean,
)
from recmetrics._core.options import Shared, check_progress, one_of, thread_count
from recmetrics._core.spec.grammar import (
    GREATEST,
    LEAST,
    MetricsList,
    MetricSpec,
    expand_cutoffs,
    make_spec,
    parse,
)
from recmetrics._core.spec.registry import METRICS, SIDE
from recmetrics._core.spec.systems import CONVENTIONS, UserWeight, line_for, read_convention
from recmetrics._core.spec.undefined import NoTruth, policy_of
from recmetrics._core.types import Convention, NaNPolicy, Progress, TiePolicy, Ties, Undefined


class Definition(NamedTuple):
    """A metric of a request, with its resolved policies."""

    spec: MetricSpec
    ties: TiePolicy
    undefined: Undefined


class Cutoffs(NamedTuple):
    """The cutoffs of a request for a catalogue of ``n_items``, None where that is unknown."""

    n_items: int | None
    of: dict[str, int | None]  # the k that each metric is computed with; None: its whole list
    hits: int | None  # the last rank searched for relevant items; None: no metric needs ranks
    lists: int | None  # the length read of each list; None: no metric needs lists
    exposure: int  # the length that metrics of all lists read
    ideal: int | None  # how many of a user's largest relevances are read in order; None: all
    slots: int | None  # how many of these, and of a user's hits, are read at all; None: all


class SideWords(NamedTuple):
    """The words of an entry point for side information, in errors."""

    named: Mapping[str, str]  # each argument and its content
    ending: str = ", got none"  # ends an error where ``make`` has no text
    make: Mapping[str, str] = {}  # the text to type for each argument
    # What metrics of all items also need: one argument of each group.
    of_catalogue: tuple[tuple[str, ...], ...] = ()


@lru_cache(maxsize=1)
def _arguments() -> SideWords:
    """The words of calls whose side information is keyword arguments."""
    named = {name: f"{name}= ({side.content}, {side.shape})" for name, side in SIDE.items()}
    make = {name: side.make for name, side in SIDE.items()}
    named["strata"] = "strata="
    make["strata"] = "strata={{{name!r}: items}}"
    return SideWords(named, make=make)


# The tie policy that gives a level, and the words for the level.
_LEVELS: dict[str, tuple[TiePolicy, str]] = {
    "chance": ("expected", "chance level"),
    "ceiling": ("best", "ceiling"),
}


Level = Literal["chance", "ceiling", "groups", "sampled"]


class _Call(NamedTuple):
    """What the checks read of a call, beside its request."""

    level: Level | None
    ties: Ties | None
    shared: Mapping[str, Any]
    words: SideWords


_LARGEST_K = 1 << 53  # kernels hold k as int64 and as float64; no list is as long

# The metrics that the rank of one relevant item determines.
_OF_ONE_RANK = ("hit", "recall", "mrr", "ndcg", "auc", "mean_rank", "percentile_rank")


class Request:
    """The metrics of a call, and the rules that hold for all of them.

    ``level`` is "chance" or "ceiling" to compute this level instead of metrics of scores, "groups"
    for groups, whose items have no names, or "sampled" for ranks among samples. ``side_words`` are
    the caller's words for side information, where it has its own. Of the data among the shared
    keywords it only matters whether they were given. All errors that can be found without data are
    raised here.
    """

    nan: NaNPolicy = "raise"
    n_threads: int | None = None
    progress: Progress = None
    drops_negative = False  # whether a negative relevance is not relevant, not an error
    convention: Convention | None = None  # None also where definitions alone are known

    def __init__(
        self,
        metrics_list: MetricsList | Mapping[str, MetricSpec],
        *,
        level: Level | None = None,
        side_words: SideWords | None = None,
        **shared: Unpack[Shared],
    ) -> None:
        undefined = shared.get("undefined")
        convention = shared.get("convention")
        ties: Ties | None = shared.get("ties")
        if level in _LEVELS:
            ties = _LEVELS[level][0]
        self.nan: NaNPolicy = shared.get("nan", "raise")
        self.n_threads = shared.get("n_threads")
        self.progress = shared.get("progress")
        if undefined is not None:
            one_of("undefined", undefined, Undefined)
        if convention is not None:
            convention = read_convention(convention)
            self.convention = convention
            self.drops_negative = CONVENTIONS[convention].negative == "zero"
        one_of("nan", self.nan, NaNPolicy)
        if ties is not None:
            one_of("ties", ties, Ties)
        check_progress(self.progress)
        thread_count(self.n_threads)

        try:
            self._hold(definitions_of(metrics_list, convention, ties, undefined))
        except RecmetricsError as error:
            blame(error, "metrics_list")
            raise

        if convention is not None:
            for text, definition in self.definitions.items():
                spec = definition.spec
                line = line_for(convention, spec.name, cutoff=spec.k is not None)
                if line.weight != "1":
                    self.weights[text] = line.weight
                if line.ties != definition.ties:
                    self.of_other_ties.append(text)

        call = _Call(level, ties, shared, side_words or _arguments())
        for check in _CHECKS[level]:
            check(self, call)

    def _hold(self, definitions: dict[str, Definition]) -> None:
        """Keep the definitions, and note what they read."""
        self.definitions = definitions
        self.of_hits: dict[str, Definition] = {}
        self.of_lists: dict[str, Definition] = {}
        self.of_exposure: dict[str, Definition] = {}
        # The weight of users in the means of metrics whose system weighs them.
        self.weights: dict[str, UserWeight] = {}
        self.of_other_ties: list[str] = []  # the metrics whose system has another tie policy
        by_input = {"hits": self.of_hits, "lists": self.of_lists, "exposure": self.of_exposure}
        # True where selection must find tie groups, and where it must read whole rows.
        self.ties = False
        self.whole_rows = False
        # True where all relevances of a user are read: they are compared with rel, or tie groups
        # reach beyond the cutoff.
        self.whole_sets = False
        # The metrics that may need side information: of lists, of strata, weighted by propensities.
        self.of_side: list[MetricSpec] = []
        self.strata: dict[str, str] = {}  # by stratum, the first metric that names it
        self.weighed: list[str] = []  # the metrics that are weighted by propensities

        for text, definition in definitions.items():
            spec = definition.spec
            by_input[spec.metric.reads][text] = definition
            if spec.stratum is not None:
                self.strata.setdefault(spec.stratum, text)
            if spec.options and spec.is_weighed:
                self.weighed.append(text)
                self.of_side.append(spec)
            elif spec.stratum is not None or spec.metric.reads == "lists":
                self.of_side.append(spec)
            if definition.ties != "index":
                self.ties = True
            if self.ties or spec.reads_whole_list:
                self.whole_rows = True
            if self.ties or spec.values.get("rel") is not None:
                self.whole_sets = True

    @classmethod
    def of(cls, definitions: Mapping[str, Definition], rules: "Request | None" = None) -> "Request":
        """Make a request from resolved definitions, with the rules of another request."""
        request = cls.__new__(cls)
        if rules is not None:
            request.nan = rules.nan
            request.n_threads = rules.n_threads
            request.progress = rules.progress
        request._hold(dict(definitions))
        return request

    @property
    def per_user(self) -> list[str]:
        """The metrics that have one value per user."""
        return [text for text in self.definitions if text not in self.of_exposure]

    @cached_property
    def bounds(self) -> list[tuple[float, float]]:
        """The least and the greatest value of each metric of ``per_user``."""
        return [self.definitions[text].spec.bounds for text in self.per_user]

    @cached_property
    def has_callable(self) -> bool:
        """True if an option is a callable: only its call shows whether its weights are valid."""
        for definition in self.definitions.values():
            if any(map(callable, definition.spec.values.values())):
                return True
        return False

    @property
    def of_all_items(self) -> list[str]:
        """The metrics that count every item that may be recommended, also in given rankings."""
        return [text for text, d in self.of_hits.items() if d.spec.metric.counts_all_items]

    @property
    def threads(self) -> int:
        """The number of threads that the call may use."""
        return thread_count(self.n_threads)

    def cutoffs(self, n_items: int | None, longest: int = 0) -> Cutoffs:
        """Limit the ranks that are read to the catalogue; a metric divides by the k of its string.

        ``longest`` is the length of the longest list, for a catalogue of unknown size.
        """
        of: dict[str, int | None] = {}
        deepest = {"hits": 0, "lists": 0, "exposure": 0}  # the last rank that is read, by input
        whole_list = longest if n_items is None else n_items
        for text, (spec, _, _) in self.definitions.items():
            k = spec.k
            reads = spec.metric.reads
            if k is not None:
                k = min(k, _LARGEST_K)
                if n_items is not None and reads == "exposure":
                    k = max(1, min(k, n_items))  # cutoffs that read the same ranks share their sums
            of[text] = k
            depth = whole_list
            if k is not None and not spec.reads_whole_list:
                depth = k if n_items is None else max(1, min(k, n_items))
            deepest[reads] = max(deepest[reads], depth)
        hits = deepest["hits"] if self.of_hits else None
        lists = None
        if self.of_lists or self.of_exposure:
            lists = max(deepest["lists"], deepest["exposure"])
        ideal = self._ideal_depth(of)
        slots = None
        if hits is not None and ideal is not None and not self.whole_sets:
            slots = max(ideal, deepest["hits"])
        return Cutoffs(n_items, of, hits, lists, deepest["exposure"], ideal, slots)

    def _ideal_depth(self, of: Mapping[str, int | None]) -> int | None:
        """How many of a user's largest relevances metrics read in order, None for all.

        ``of`` are the cutoffs. A metric that the caller defines gets all of them.
        """
        depth = 0
        for text, (spec, _, _) in self.of_hits.items():
            k = of[text]
            if k is None or spec.values.get("ideal_depth") == "all" or spec.metric.module:
                return None
            depth = max(depth, k)
        return depth


def _refuse_cutoffs(cutoffs: Mapping[Any, Any]) -> None:
    """Refuse a dict such as ``{"ndcg": [10, 20]}``, whose cutoffs would be lost.

    It returns if any value is no cutoff: then the keys of the dict are read as metrics.
    """
    metric_strings = []
    for name, value in cutoffs.items():
        for k in value if isinstance(value, list | tuple) else [value]:
            if not isinstance(k, int) or "@" in str(name):
                return
            metric_strings.append(f"{name}@{k}")
    if metric_strings:
        msg = f"metrics_list is a dict, expected a list of metric strings; type {metric_strings}"
        raise MetricSpecError(msg)


def _with_keys(metrics: Iterable[Any]) -> list[tuple[str, Any]]:
    """Pair each metric with its key; a range of cutoffs becomes the strings that it stands for."""
    pairs: list[tuple[str, Any]] = []
    for metric in metrics:
        if not isinstance(metric, str):
            pairs.append((str(metric), metric))
        elif ":" in metric:
            pairs += [(text, text) for text in expand_cutoffs(metric)]
        else:  # str() of a member of an enum of strings is its name, such as "Metric.NDCG"
            text = str.__str__(metric)
            pairs.append((text, text))
    return pairs


def _keys_and_metrics(metrics_list: Any) -> Iterable[tuple[str, Any]]:
    """Read every form of ``metrics_list``: the metrics, with their keys in results."""
    if isinstance(metrics_list, str | MetricSpec):
        return _with_keys([metrics_list])
    shape: Any = getattr(metrics_list, "shape", None)
    are_texts = shape is None or (
        len(shape) == 1 and all(isinstance(text, str) for text in metrics_list)
    )
    if not are_texts:
        msg = (
            f"metrics_list is a {type(metrics_list).__name__} of shape "
            f"{tuple(shape)}, expected metric strings such as "
            "['ndcg@10', 'recall@20']; the truth comes before the metrics"
        )
        raise MetricSpecError(msg)
    if isinstance(metrics_list, Mapping):
        if all(isinstance(spec, MetricSpec) for spec in metrics_list.values()):
            return metrics_list.items()
        _refuse_cutoffs(metrics_list)
    if isinstance(metrics_list, Iterable) and not isinstance(metrics_list, bytes):
        return _with_keys(metrics_list)
    msg = (
        "metrics_list must be a list of metric strings such as ['ndcg@10', 'recall@20'], "
        f"got {metrics_list!r}"
    )
    raise MetricSpecError(msg)


def _definition(
    metric: Any, convention: Convention | None, ties: TiePolicy | None, undefined: Undefined | None
) -> Definition:
    """Resolve a metric string or a spec; anything else is refused.

    A spec that the caller made is unchecked and without a convention, so it is made anew.
    """
    if isinstance(metric, MetricSpec):
        spec = make_spec(metric.name, metric.k, dict(metric.options), convention)
        return define(spec, convention, ties, undefined)
    if not isinstance(metric, str):
        parse(metric)  # refuses it
    definition = _parsed(metric, convention, ties, undefined)
    declared = METRICS.get(definition.spec.name)
    if declared is None or definition.spec.metric not in (declared, declared.at_k):
        # The metric has been declared anew, as by a cell of a notebook that ran again, so what the
        # cache holds is of the former declaration.
        _parsed.cache_clear()
        definition = _parsed(metric, convention, ties, undefined)
    return definition


def definitions_of(
    metrics_list: MetricsList | Mapping[str, MetricSpec],
    convention: Convention | None = None,
    ties: Ties | None = None,
    undefined: Undefined | None = None,
) -> dict[str, Definition]:
    """Resolve the metrics of a call, by their keys in results; none is an error."""
    policy: TiePolicy | None = "expected" if ties == "range" else ties
    definitions = {
        text: _definition(metric, convention, policy, undefined)
        for text, metric in _keys_and_metrics(metrics_list)
    }
    if not definitions:
        msg = "metrics_list is empty; expected metric strings such as ['ndcg@10', 'recall@20']"
        raise MetricSpecError(msg)
    if ties == "range":
        return _with_bounds(definitions)
    return definitions


def _with_bounds(definitions: Mapping[str, Definition]) -> dict[str, Definition]:
    """Add, after each metric, its least and greatest value over all orders of equal scores."""
    ranges: dict[str, Definition] = {}
    for text, definition in definitions.items():
        least = definition._replace(ties="worst")
        greatest = definition._replace(ties="best")
        if not definition.spec.metric.higher_is_better:
            least, greatest = greatest, least
        ranges |= {text: definition, text + LEAST: least, text + GREATEST: greatest}
    return ranges


@lru_cache(maxsize=1024)  # a training loop asks for the same strings every time
def _parsed(
    text: str, convention: Convention | None, ties: TiePolicy | None, undefined: Undefined | None
) -> Definition:
    """Resolve a metric string; the cache keeps its definition."""
    return define(parse(text, convention), convention, ties, undefined)


def define(
    spec: MetricSpec,
    convention: Convention | None = None,
    ties: TiePolicy | None = None,
    undefined: Undefined | None = None,
) -> Definition:
    """Resolve the policies of a metric: those of the caller, else those of the convention.

    A metric that reads groups of equal scores by definition does so instead of ranking them by
    index.
    """
    of_system: NoTruth | None = None
    if convention is not None:
        line = line_for(convention, spec.name, cutoff=spec.k is not None)
        ties = ties or line.ties
        of_system = line.undefined
    ties = ties or "index"
    if ties == "index" and (spec.metric.averages_ties or spec.values.get("tied") == "block"):
        ties = "expected"
    return Definition(spec, ties, policy_of(spec.metric, undefined, of_system))


def of_shown_items(text: str) -> str:
    """Write what to type for a metric of all items where only the shown items are known."""
    return (
        "items that were shown, with their labels, type Metrics.compute_groups(scores, labels, "
        f"[{text!r}], ids=users)"
    )


def _refuse_missing_side(request: Request, call: _Call) -> None:
    """Refuse a metric whose side information is missing, or given in two ways.

    A metric needs one argument of each of its groups.
    """
    words = call.words
    definitions = request.of_hits
    if call.level is None:
        definitions = request.definitions
    for text, definition in definitions.items():
        groups = definition.spec.needs
        metric = definition.spec.metric
        if metric.reads == "exposure" or metric.counts_all_items:
            groups = (*groups, *words.of_catalogue)
        for group in groups:
            names = [name for name in group if call.shared.get(name) is not None]
            if len(names) > 1:
                msg = (
                    f"{text} takes {' or '.join(f'{name}=' for name in group)}, got both; "
                    "give one of them"
                )
                raise ArgumentError(msg)
            if not names:
                contents = " or ".join(words.named[name] for name in group)
                advice = words.ending
                if words.make.get(group[0]):
                    advice = f", got none; type {words.make[group[0]]}"
                if group in words.of_catalogue and metric.counts_all_items:
                    advice += "; for " + of_shown_items(text)
                msg = f"{text} needs {contents}{advice}"
                raise ArgumentError(msg, argument=group[0])


def _refuse_what_groups_lack(request: Request, _: _Call) -> None:
    """Refuse a metric that reads strata, propensities or the names of items."""
    if request.strata:
        text = next(iter(request.strata.values()))
        msg = (
            f"{text} names a stratum, but groups have no strata; give a truth in which the items "
            "outside the stratum are not relevant, or type Metrics.compute(..., strata=...)"
        )
        raise ArgumentError(msg)
    if request.weighed:
        msg = (
            f"{request.weighed[0]} is weighted by propensities, but groups have none; leave out "
            "weigh=, or type Metrics.compute(..., propensity=...)"
        )
        raise ArgumentError(msg)
    for text in request.definitions:
        _refuse_lists(request, text, "value for groups, whose items have no names", "leave it out")


def _refuse_unknown_strata(request: Request, call: _Call) -> None:
    """Refuse a metric of a stratum that is not given."""
    words = call.words
    strata = call.shared.get("strata")
    if strata is not None and not isinstance(strata, Mapping):
        msg = (
            f"strata must be a dict of sets of items by name, got {type(strata).__name__}; type "
            "strata={'tail': items}"
        )
        raise InputTypeError(msg, argument="strata")
    strata = strata or {}
    for name, text in request.strata.items():
        if name not in strata:
            has = "got none"
            if strata:
                has = f"which has {', '.join(map(repr, strata))}"
            hint = did_you_mean(name, (key for key in strata if isinstance(key, str)))
            hint = hint or f"type {words.make['strata'].format(name=name)}"
            msg = f"{text} needs the items of {name!r} in {words.named['strata']}, {has}; {hint}"
            raise ArgumentError(msg, argument="strata")


def _refuse_undecided_ties(request: Request, call: _Call) -> None:
    """Refuse a metric that has no value under its tie policy."""
    for text, (spec, ties, _) in request.definitions.items():
        if ties != "index":
            policy = f"ties={call.ties or ties!r}"
            advice = "compute it in a separate call with ties='index'"
            _refuse_lists(request, text, policy, advice)
            if call.ties not in (None, "index") or spec.values.get("tied") != "block":
                _refuse_divisor(text, spec, policy, advice)


def _refuse_several_ranks(request: Request, _: _Call) -> None:
    """Refuse a metric that sampled ranks do not determine."""
    for text, definition in request.definitions.items():
        spec = definition.spec
        least: Any = spec.values.get("rel")
        if least is not None and least > 1:
            msg = f"{text}: no sampled item is relevant, whose relevance is 1; leave out rel="
            raise ArgumentError(msg)
        if spec.name not in _OF_ONE_RANK or spec.stratum is not None or spec.is_weighed:
            msg = (
                f"{text} reads more than the rank of one relevant item; {', '.join(_OF_ONE_RANK)} "
                "can be estimated from sampled ranks, without of= and weigh="
            )
            raise ArgumentError(msg)


def _refuse_level(request: Request, call: _Call) -> None:
    """Refuse a metric that has no chance level, or no ceiling."""
    level = str(call.level)
    for text, (spec, _, _) in request.definitions.items():
        if level != "chance" or not spec.metric.any_order:
            _refuse_lists(request, text, _LEVELS[level][1], "leave it out")
        if level == "chance":
            _refuse_divisor(text, spec, "chance level", "leave it out")
        elif not has_ceiling(spec):
            unless = spec.metric.ceiling_unless
            choices = ", ".join(f"{option}={choice}" for option, choice in unless.items())
            option = list(unless)[-1]
            msg = (
                f"{text} has no ceiling: with {choices} a list of less relevant items may have a "
                f"higher value; type {option}={spec.metric.options[option].default}, or leave it "
                "out"
            )
            raise ArgumentError(msg)


def _refuse_lists(request: Request, text: str, quantity: str, advice: str) -> None:
    """Refuse a metric that reads more of a list than the ranks of its relevant items.

    ``quantity`` is what such a metric does not have, such as "ceiling"; ``advice`` ends the error.
    """
    if text not in request.of_hits:
        able = ", ".join(m.name for m in METRICS.values() if m.reads == "hits")
        msg = (
            f"{text} reads the lists themselves and has no {quantity}; only {able} have it; "
            f"{advice}"
        )
        raise ArgumentError(msg)


def _refuse_divisor(text: str, spec: MetricSpec, quantity: str, advice: str) -> None:
    """Refuse a metric without an expectation, such as one that divides by the hits found.

    ``quantity`` is what such a metric does not have; ``advice`` ends the error.
    """
    if spec.metric.no_expectation:
        of_whole_list = MetricSpec(spec.name, None, spec.options)
        if not of_whole_list.metric.no_expectation:
            advice = f"type {of_whole_list}, or {advice}"
        msg = f"{text} has no {quantity}: {spec.metric.no_expectation}; {advice}"
        raise ArgumentError(msg)
    for option in spec.without_orders:
        reason = "its divisor depends on the items in the list"
        if option == "tied":
            reason = "equal scores have one rank and no orders"
            advice = advice.replace("compute", "leave out ties=, or compute")
        msg = (
            f"{text} has no {quantity}: with {option}={spec.values[option]}, {reason}; type "
            f"{option}={spec.metric.options[option].default}, or {advice}"
        )
        raise ArgumentError(msg)


def has_ceiling(spec: MetricSpec) -> bool:
    """Say whether descending relevances have the greatest value of the metric."""
    unless = spec.metric.ceiling_unless.items()
    return not unless or any(spec.values[option] != choice for option, choice in unless)


_OF_STRATA_AND_SIDE = (_refuse_unknown_strata, _refuse_missing_side)
_CHECKS: dict[Level | None, tuple[Callable[[Request, _Call], None], ...]] = {
    None: (*_OF_STRATA_AND_SIDE, _refuse_undecided_ties),
    "chance": (*_OF_STRATA_AND_SIDE, _refuse_level),
    "ceiling": (*_OF_STRATA_AND_SIDE, _refuse_level),
    "groups": (_refuse_what_groups_lack, _refuse_undecided_ties),
    "sampled": (_refuse_several_ranks,),
}
