"""Random problems for the fuzzer: what a call is given, as plain values that print as code."""

from dataclasses import dataclass, fields, replace
from importlib.util import find_spec

import numpy as np
from inside import CONVENTIONS, METRICS, MetricSpec, has_ceiling, parse
from problems import SCORES, is_refused, numbers, of_kind, read

from recmetrics import UnknownOptionError

FLOATS = ["float64", "float32", "float16"]
INTEGERS = ["bool", "int8", "uint8", "int16", "uint16", "int32", "uint32", "int64", "uint64"]
TENSOR_ONLY = ["bfloat16"] if find_spec("torch") else []
LAYOUTS = ["C", "F", "columns", "backwards", "read-only", "byte-swapped", "memory map", "lists"]
TENSORS = ["tensor", "tensor columns", "tensor with grad"]
DENSE_FORMS = ["dense", "float32", "float16", "F", "columns", "read-only", "byte-swapped", "tensor"]
SPARSE_FORMS = ["csr", "csr_matrix", "csc", "lil", "dok", "bsr", "dia", "split coo", "messy csr"]
LIST_FORMS = ["arrays", "sets", "tuples of int32"]
INDEX_FORMS = [*LIST_FORMS, "classes"]  # of a truth, which do not give the catalogue
SHARED_FORMS = ["shared", "shared list", "mask"]
BATCHES = {"evaluator", "stream", "threads", "dask", "dask factors"}
FLAT = {"groups"}  # entries whose items have no names
SLOW = {"dask", "dask factors", "tables"}  # entries drawn less often
RANKINGS = {"ranked", "tables"}  # entries that read lists, not scores
CONSTANT = {"chance": "expected", "ceiling": "best"}  # entries that read no scores, as tie policies


@dataclass(frozen=True, kw_only=True)
class Problem:
    """One call. ``seed`` decides batches, cuts of rankings and side information."""

    metrics: tuple
    scores: tuple
    truth: tuple
    exclude: tuple | None = None
    candidates: tuple | None = None
    stratum: tuple | None = None  # the items of each user in strata["s"]
    entry: str = "compute"
    dtype: str = "float64"
    layout: str = "C"
    truth_form: str = "dense"
    exclude_form: str = "arrays"
    candidates_form: str = "arrays"
    stratum_form: str = "arrays"
    ties: str = "index"
    convention: str | None = None
    undefined: str | None = None
    nan: str = "raise"
    n_threads: int = 1
    tight: bool = False
    seed: int = 0

    def __repr__(self):
        given = [
            f"    {f.name}={getattr(self, f.name)!r},\n"
            for f in fields(self)
            if f.name in ("metrics", "scores", "truth") or getattr(self, f.name) != f.default
        ]
        return f"Problem(\n{''.join(given)})"

    @property
    def shape(self):
        return len(self.truth), len(self.truth[0])

    @property
    def policy(self):
        """The tie policy that the entry point computes; "expected" also for a range."""
        return CONSTANT.get(self.entry, "expected" if self.ties == "range" else self.ties)

    @property
    def keys(self):
        """The metric of each key of the result, and what is taken of its values over all orders.

        There is one order, except under "expected".
        """
        takes = {"": np.mean}
        if self.ties == "range" and self.entry not in CONSTANT:
            takes |= {"[least]": np.min, "[greatest]": np.max}
        return {
            text + ending: (text, take) for text in self.metrics for ending, take in takes.items()
        }


def draw(seed, entries):
    """A random problem for one of the entry points."""
    rng = np.random.default_rng(seed)

    def pick(*choices):
        return choices[rng.integers(len(choices))]

    weights = np.array([1 if name in SLOW else 4 for name in entries])
    entry = str(rng.choice(entries, p=weights / weights.sum()))
    ties = pick("index", "index", "index", "expected", "worst", "best")
    if entry in RANKINGS:
        ties = "index"
    policy = CONSTANT.get(entry, ties)
    n_users, n_items = _size(rng, small=policy == "expected", factors="factors" in entry)
    dtype, layout = _memory(rng, entry)
    scores = _scores(rng, dtype, n_users, n_items, exact="factors" in entry)
    nan = "raise"
    if dtype in FLOATS and rng.random() < 0.15 and "factors" not in entry:
        # An error tells of what is read at once, which batches and chunks decide.
        nan = "exclude" if entry in BATCHES | FLAT else pick("raise", "exclude")
        scores[rng.random(scores.shape) < pick(0.02, 0.3)] = np.nan
    exclude = _sets(rng, n_users, n_items) if rng.random() < 0.4 else None
    candidates, candidates_form = None, "arrays"
    if rng.random() < 0.35:
        candidates = _sets(rng, n_users, n_items)
        candidates_form = pick(*LIST_FORMS, *DENSE_FORMS, *SPARSE_FORMS, *SHARED_FORMS)
        if candidates_form in SHARED_FORMS:
            candidates = (candidates[0],) * n_users
    if entry in RANKINGS | FLAT:
        candidates = exclude = None
    stratum, stratum_form = None, "arrays"
    if rng.random() < 0.3 and entry not in FLAT:
        stratum = _sets(rng, n_users, n_items)
        forms = [*LIST_FORMS, *DENSE_FORMS, *SPARSE_FORMS, *SHARED_FORMS]
        stratum_form = pick(*(SHARED_FORMS if entry == "stream" else forms))
        if stratum_form in SHARED_FORMS:
            stratum = (stratum[0],) * n_users
    truth_form = pick(*DENSE_FORMS, *SPARSE_FORMS, *INDEX_FORMS)
    truth = _truth(rng, n_users, n_items, binary=truth_form in INDEX_FORMS)
    if truth_form == "classes":
        truth *= np.cumsum(truth, axis=1) == 1  # the first of each row
    convention = pick(*CONVENTIONS) if rng.random() < 0.15 else None
    metrics = _metrics(rng, entry, policy, convention, n_items, truth_form)
    if stratum is not None:
        metrics = tuple(
            dict.fromkeys(_of_stratum(text) if rng.random() < 0.5 else text for text in metrics)
        )
    if not metrics:
        convention, metrics = None, ("ndcg@3",)
    problem = Problem(
        metrics=metrics,
        scores=tuple(tuple(row) for row in scores.tolist()),
        truth=tuple(tuple(row) for row in truth.tolist()),
        exclude=exclude,
        candidates=candidates,
        entry=entry,
        dtype=dtype,
        layout=layout,
        truth_form=truth_form,
        exclude_form=pick(*LIST_FORMS, *DENSE_FORMS, *SPARSE_FORMS),
        candidates_form=candidates_form,
        stratum=stratum,
        stratum_form=stratum_form,
        ties=ties,
        convention=convention,
        undefined=pick(None, None, "nan", "zero", "one", "nan" if "dask" in entry else "raise"),
        nan=nan,
        n_threads=pick(1, 1, 2),
        tight=bool(rng.random() < 0.4),
        seed=int(rng.integers(1 << 31)),
    )
    # By the seed: another draw would change the problems that earlier faults are found by.
    is_range = ties == "expected" and problem.seed % 2
    return replace(problem, ties="range") if is_range else problem


def _size(rng, *, small, factors):
    """A few users and items; more items reach the lanes, tiles and sorts of selection."""
    if small:  # all orders of equal scores are enumerated
        return int(rng.integers(1, 4)), int(rng.integers(1, 7))
    kind = rng.random()
    if kind < 0.78:
        return int(rng.integers(1, 7)), int(rng.integers(1, 25))
    if kind < 0.93 or factors:
        return int(rng.integers(1, 4)), int(rng.integers(60, 200))
    return int(rng.integers(1, 3)), int(rng.integers(760, 1700))


def _memory(rng, entry):
    if entry == "tables":
        return "int8", "C"
    if "factors" in entry:
        dtypes = FLOATS if entry == "device factors" else [*FLOATS, "int32"]
        return str(rng.choice(dtypes)), "tensor" if entry == "device factors" else "C"
    if entry == "device" or (entry != "dask" and rng.random() < 0.15):
        dtype = str(rng.choice([*FLOATS, *TENSOR_ONLY, *INTEGERS]))
        layouts = TENSORS if dtype in FLOATS + TENSOR_ONLY else TENSORS[:-1]
        return dtype, str(rng.choice(layouts))
    dtype = str(rng.choice([*FLOATS, *FLOATS, *INTEGERS]))
    lists = dtype in ("float64", "int64", "bool") and entry != "dask"
    layouts = LAYOUTS if lists else LAYOUTS[:-1]
    return dtype, str(rng.choice(layouts))


def _scores(rng, dtype, n_users, n_items, *, exact):
    """(n_users, n_items) numbers of that dtype, as one that holds them exactly."""
    shape = n_users, n_items
    if exact:  # whose sums are the same in every order
        return rng.integers(-4, 5, shape).astype(np.float64)
    if dtype in FLOATS + TENSOR_ONLY:
        # bfloat16 has the 8 bits of its significand in common with every float of few digits
        info = np.finfo("float16" if dtype == "bfloat16" else dtype)
        extremes = [] if dtype == "bfloat16" else [info.max, -info.max, info.smallest_subnormal]
        near = [] if dtype == "bfloat16" else [1 + info.eps, 1 - info.epsneg]
        pool = np.array([*SCORES, *extremes, *near], np.float64)
        kind = rng.integers(7)
        if kind == 0:
            scores = rng.standard_normal(shape)
            scores = np.round(scores * 16) / 16 if dtype == "bfloat16" else scores
        elif kind == 1:
            scores = rng.choice(rng.choice(pool, 2), shape)
        elif kind == 2:
            scores = np.where(rng.random(shape) < 0.1, rng.choice(pool, shape), -np.inf)
        elif kind == 3:
            scores = np.sort(rng.integers(-100, 100, shape).astype(float), axis=1)
        elif kind == 4:
            scores = -np.sort(rng.integers(-100, 100, shape).astype(float), axis=1)
        else:
            scores = rng.choice(pool, shape)
        with np.errstate(over="ignore"):
            return scores.astype("float32" if dtype == "bfloat16" else dtype).astype(np.float64)
    if dtype == "bool":
        return rng.random(shape) < rng.choice([0.1, 0.5, 1.0])
    limits = np.iinfo(dtype)
    pool = np.array([limits.min, limits.max, limits.max - 1, limits.max // 2, 0, 1, 2, 3], dtype)
    if rng.random() < 0.5:
        return rng.choice(pool, shape)
    return rng.integers(limits.min, limits.max, shape, dtype=dtype, endpoint=True)


def _truth(rng, n_users, n_items, *, binary):
    density = rng.choice([0.02, 0.2, 0.6, 1.0])
    if n_items > 200:
        density = rng.choice([2, 10, 90]) / n_items
    grades = [1.0] if binary or rng.random() < 0.4 else [0.5, 1.0, 2.0, 4.0]
    truth = rng.choice(grades, (n_users, n_items)) * (rng.random((n_users, n_items)) < density)
    truth[rng.random(n_users) < 0.1] = 0.0
    return truth


def _sets(rng, n_users, n_items):
    """A tuple of items for each user, ascending."""
    density = rng.choice([0.0, 0.1, 0.5, 0.9, 1.0])
    chosen = rng.random((n_users, n_items)) < density
    return tuple(tuple(np.flatnonzero(row).tolist()) for row in chosen)


def _metrics(rng, entry, policy, convention, n_items, truth_form):
    """Up to five metric strings that the entry point computes."""
    kinds = ["hits"]
    knows_catalogue = entry not in RANKINGS or truth_form not in INDEX_FORMS
    if policy == "index" and entry not in {*CONSTANT, *FLAT} and knows_catalogue:
        kinds = ["hits", "hits", "lists", "exposure"]
    able = [metric for kind in kinds for metric in of_kind(kind)]
    if entry in RANKINGS:  # which end somewhere
        able = [metric for metric in able if not metric.counts_all_items]
    if n_items > 50:  # the similarity of every two items takes the reference too long
        able = [metric for metric in able if ("features", "similarity") not in metric.needs]
    found = {}
    for _ in range(rng.integers(1, 6)):
        if convention is None:
            text = _text(rng, able[rng.integers(len(able))], n_items)
        else:
            lines = CONVENTIONS[convention].lines
            name, _, cut = lines[rng.integers(len(lines))].metric.partition("@")
            if METRICS[name] not in able:
                continue
            text = _text(rng, METRICS[name], n_items, cut=bool(cut))
        try:
            spec = parse(text, convention)
        except UnknownOptionError:  # the convention chooses what does not read an option of text
            continue
        allowed = has_ceiling(spec) if entry == "ceiling" else not is_refused(spec)
        # The reference orders the best and the worst lists by relevance alone.
        weighs = policy in ("index", "expected") and entry not in FLAT
        if (policy == "index" or allowed) and (weighs or not spec.is_weighed):
            found[text] = spec
    return tuple(found)


def _of_stratum(text):
    """The metric of the stratum "s", where it has strata."""
    spec = parse(text)
    if spec.metric.reads != "hits" and "of" not in spec.metric.options:
        return text
    name, at, k = text.partition("@")  # all options stay, as a convention may have others
    return (f"{name[:-1]}, of=s)" if name.endswith(")") else f"{name}(of=s)") + at + k


def _text(rng, metric, n_items, cut=None):
    if cut is None:
        cut = rng.random() < 0.75
    options = []
    for option in metric.options.values():
        choices = list(option.choices or ([None] if option.is_name else numbers(option)))
        if option.name == "max_rel":
            choices = [None, 4.0, 5.5]  # at least the largest grade
        value = choices[rng.integers(len(choices))]
        if value is not None and rng.random() < 0.7:
            options.append((option.name, value))
    k = None
    if cut:
        few = min(n_items + 3, 30) if rng.random() < 0.8 else n_items + 3
        k = int(rng.integers(1, few + 1))
    return str(MetricSpec(metric.name, k, read(metric, options)))  # defaults typed as well
