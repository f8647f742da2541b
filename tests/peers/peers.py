"""Agreement with the systems of the convention table: each call is run as it is written there.

python tests/peers/peers.py 1000                      every system, each in its own environment
python tests/peers/peers.py 1000 ranx trec            only these
python tests/peers/peers.py 1000 --environments DIR   keeps the environments

The figures go to ``docs/agreement.json``, from which ``docs/conventions.py`` writes the page.
"""

import argparse
import ast
import json
import math
import subprocess
import sys
import tempfile
import venv
import warnings
from contextlib import contextmanager
from pathlib import Path

import numpy as np
import pytest
from numba import config
from peers_run import Given, answered, load

from recmetrics import Metrics
from recmetrics._core.spec import CONVENTIONS, METRICS, make_spec

sys.path.insert(0, str(Path(__file__).parents[2] / "docs"))

from systems import OTHERS, PROSE  # noqa: F401

pd = pytest.importorskip("pandas", reason="pandas is not installed")

SYSTEMS = Path(__file__).parent / "systems"
AGREEMENT = Path(__file__).parents[2] / "docs" / "agreement.json"
EXACT = 1e-12
SINGLE = 1e-5  # of systems that compute in float32


def module_of(convention):
    """The path of the module that calls a system."""
    return SYSTEMS / f"{convention.replace('-', '_').replace('.', '_')}.py"


# The systems that can be run; of the others there are recorded numbers.
ALL = {**CONVENTIONS, **OTHERS}
RUNNABLE = [convention for convention in ALL if module_of(convention).exists()]


# The facts of a system that its module states where they differ from these. A fact in words holds
# for the calls with such words in them.
FACTS = {
    "REQUIREMENTS": [],  # what each call of pip installs, in order
    "SOURCE": None,  # repository, commit and folder to copy, where there is no package
    "TIES": [""],  # they order equal scores as the table says
    "GAPS": [],  # they read a column of ranks
    "ALONE": [],  # they refuse one item alone
    "JUDGED": [],  # they read no lists of users without relevant items
    "LISTED": [],  # they leave out a user without a list
    "SINGLE": [],  # they compute in float32
    "TABLE": False,  # it reads ids, by which it breaks ties
    "ROWS": False,  # it sees the items that may be recommended, and no others: R counts only these
    "SWALLOWS": True,  # it may exclude a relevant item
    "BEYOND": True,  # it takes a k beyond the catalogue
    "FULL": False,  # it fills up lists shorter than k
    "CLASSES": False,  # each user has one relevant item, whose index is the truth
    "SIZES": [],  # they count a group without a row
}


def facts(convention):
    """Read the facts of a system's module, which may not be importable here."""
    found = dict(FACTS)
    for node in ast.parse(module_of(convention).read_text()).body:
        if isinstance(node, ast.Assign) and getattr(node.targets[0], "id", None) in FACTS:
            found[node.targets[0].id] = ast.literal_eval(node.value)
    return found


def problem(rng, known):
    """A random problem of what the users of a system meet, with its facts ``known``."""
    n_users, n_items = int(rng.integers(1, 7)), int(rng.integers(4, 31))
    shape = n_users, n_items
    scores = rng.permuted(np.tile(np.arange(1.0, n_items + 1), (n_users, 1)), axis=1) / 32
    if known["TIES"] and rng.random() < 0.5:
        scores = np.ceil(scores * rng.integers(2, 9)) / 16
    share = rng.choice([0.1, 0.3, 0.7])
    truth = (rng.random(shape) < share) * rng.integers(1, rng.choice([2, 5]), shape)
    truth *= rng.random((n_users, 1)) < 0.8
    exclude = rng.random(shape) < rng.choice([0.0, 0.3, 0.6, 0.9])
    exclude &= (rng.random(shape) < 0.5) | (truth == 0)  # half of the relevant ones as well
    exclude[rng.random(n_users) < 0.05] = True
    if known["CLASSES"]:
        truth = (np.arange(n_items) == rng.integers(0, n_items, (n_users, 1))).astype(int)
    if not known["SWALLOWS"]:
        exclude &= truth == 0
    k = int(rng.integers(1, 41 if known["BEYOND"] else n_items + 1))
    if known["FULL"]:
        exclude[(~exclude).sum(axis=1) == 0] = False
        k = min(k, int((~exclude).sum(axis=1).min()))
    gaps = np.zeros(shape, np.int64)
    if known["GAPS"] and rng.random() < 0.5:
        gaps = np.cumsum(rng.random(shape) < 0.2, axis=1)
    return Given(scores, truth, exclude, k, gaps)


def calls_of(convention):
    """The lines of a system, each with True where it is a variant."""
    system = ALL[convention]
    return [*((line, False) for line in system.lines), *((line, True) for line in system.variants)]


def ours(convention, line, given, known, *, variant=False):
    """The values under the plain name and the convention; of a variant all options are typed."""
    text, rules = _typed(convention, line, given.k, variant=variant)
    if _among(known["JUDGED"], line.call):
        given = _of_users(given, given.truth.any(axis=1))
    truth = given.truth * ~given.exclude if known["ROWS"] else given.truth
    if known["TABLE"] or given.gaps.any():
        rules.pop("ties", None)
        return _of_table(given, truth, text, rules, by="score" if known["TABLE"] else "rank")
    given_as = truth.argmax(axis=1) if known["CLASSES"] else truth
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # of relevant items that are excluded
        got = Metrics.compute(given.scores, given_as, [text], exclude=given.exclude, **rules)
    values = np.atleast_1d(got[text])
    metric = METRICS[line.metric.partition("@")[0]]
    if variant and line.undefined == "nan" and metric.is_sum:
        values[~truth.any(axis=1)] = np.nan  # as under a convention
    return values


def ours_of_groups(convention, line, given, known, *, variant=False):
    """The values of the same users as groups: by sizes where some may be 0, else by ids."""
    text, rules = _typed(convention, line, given.k, variant=variant)
    groups = given.groups()
    if _among(known["SIZES"], line.call):
        scores, grades, sizes = groups
        return Metrics.compute_groups(scores, grades, text, sizes=sizes, **rules)[text]
    scores, grades, ids = groups.mixed()
    values = np.full(len(groups.sizes), np.nan)  # of a group without a row
    got = Metrics.compute_groups(scores, grades, text, ids=ids, **rules)[text]
    values[list(dict.fromkeys(ids.tolist()))] = got
    return values


def _typed(convention, line, k, *, variant):
    """The metric string of a line, and the rules of the call."""
    name, _, cutoff = line.metric.partition("@")
    text = str(make_spec(name, k if cutoff else None))
    has_line = line.metric in {each.metric for each in ALL[convention].lines}
    rules = {"convention": convention if has_line else None}
    if variant:
        defaults = {each.name: each.default for each in METRICS[name].options.values()}
        typed = {
            key: value for key, value in (defaults | line.options).items() if value is not None
        }
        options = ", ".join(f"{key}={value}" for key, value in typed.items())
        text = text.replace(name, f"{name}({options})" if typed else name, 1)
        rules |= {"undefined": line.undefined, "ties": line.ties}
    return text, rules


def _of_users(given, users):
    """The problem of some of the users."""
    each = (array[users] for array in (given.scores, given.truth, given.exclude))
    return Given(*each, given.k, given.gaps[users])


def _of_table(given, truth, text, rules, by):
    """The values of a table of ids with scores or ranks; NaN of a user who is in no table."""
    from recmetrics.tables import evaluate_table

    rows = [
        (user, str(item), given.scores[user, item], rank)
        for user, (items, ranks) in enumerate(zip(given.lists(), given.ranks, strict=True))
        for item, rank in zip(items, ranks, strict=True)
    ]
    recs = pd.DataFrame(rows, columns=["user", "item", "score", "rank"])[["user", "item", by]]
    users, items = np.nonzero(truth)
    relevant = pd.DataFrame({"user": users, "item": items.astype(str)})
    relevant["rating"] = truth[users, items]
    if recs.empty or relevant.empty:  # tables without rows have columns of no type
        of_no_list = math.nan if by == "score" else 0.0
        return np.where(truth.any(axis=1), of_no_list, np.nan)
    gaps = {"rank_gaps": "keep"} if by == "rank" else {}
    found = evaluate_table(recs, relevant, [text], **gaps, **rules)
    return found[text].reindex(range(len(truth))).to_numpy(np.float64)


class Agreement:
    """How far one call agreed."""

    def __init__(self):
        self.largest = 0.0  # difference of values that both have
        self.values = 0
        self.differ = 0  # values that one alone has, or that differ by more than rounding

    def add(self, got, expected, tolerance):
        """Compare the values of a problem."""
        if len(expected) == 1 < len(got):  # the system gives the mean
            got = np.array([np.nanmean(got) if not np.isnan(got).all() else math.nan])
        same = np.isnan(got) == np.isnan(expected)
        both = same & ~np.isnan(got)
        difference = np.abs(got - expected, where=both, out=np.zeros(len(got)))
        apart = ~same | (difference > tolerance)
        self.values += len(got)
        self.differ += int(apart.sum())
        self.largest = max(self.largest, float(difference[~apart].max(initial=0.0)))


def compared(convention, problems, answers):
    """Compare the answers of a system, (problem, call, user), with ours."""
    known = facts(convention)
    found = {line.call: Agreement() for line, _ in calls_of(convention)}
    for given, values in zip(problems, answers, strict=True):
        for (line, variant), theirs in zip(calls_of(convention), values, strict=True):
            if not _can_agree(line.call, given, known):
                continue
            got, expected = ours(convention, line, given, known, variant=variant), np.array(theirs)
            if METRICS[line.metric.partition("@")[0]].per_user and len(expected) == len(got):
                asked = _asked(line.call, given, known)
                got, expected = got[asked], expected[asked]
            found[line.call].add(got, expected, _tolerance(line.call, known))
    return found


def compared_groups(convention, problems, answers):
    """Compare what a system answers of the groups of each problem, values or a mean, with ours."""
    known = facts(convention)
    found = {line.call: Agreement() for line, _ in calls_of(convention)}
    with_rows = [given for given in problems if given.has_rows()]
    for given, values in zip(with_rows, answers, strict=True):
        sizes = given.groups().sizes
        for (line, variant), theirs in zip(calls_of(convention), values, strict=True):
            least = 1 + _among(known["ALONE"], line.call) - _among(known["SIZES"], line.call)
            asked = sizes >= least
            if not asked.any() or not _ties_agree(line.call, given, known):
                continue
            got = ours_of_groups(convention, line, given, known, variant=variant)
            expected = np.array(theirs)
            if len(expected) == len(got):
                expected = expected[asked]
            found[line.call].add(got[asked], expected, _tolerance(line.call, known))
    return found


def _tolerance(call, known):
    return SINGLE if _among(known["SINGLE"], call) else EXACT


def _ties_agree(call, given, known):
    tied = any(len(np.unique(row)) < len(row) for row in given.scores)
    return _among(known["TIES"], call) or not tied


def _can_agree(call, given, known):
    """Say whether the call is one for the ties and ranks of a problem."""
    has_order = _among(known["GAPS"], call) or not given.gaps.any()
    return has_order and _ties_agree(call, given, known)


def _asked(call, given, known):
    """The users who are queries there: a user without truth and without a list occurs nowhere."""
    listed = (~given.exclude).sum(axis=1)
    if known["ROWS"] or _among(known["LISTED"], call):
        return listed > _among(known["ALONE"], call)
    return (listed > 0) | given.truth.any(axis=1)


def _among(calls, call):
    return any(words in call for words in calls)


def problems_of(convention, n_problems, seed=0):
    """Random problems for a system."""
    rng, known = np.random.default_rng(seed), facts(convention)
    return [problem(rng, known) for _ in range(n_problems)]


# --- In this environment ------------------------------------------------------------------------


def installed(convention):
    """The module of a system, or None where the system is not installed here."""
    try:
        with quiet():
            return load(module_of(convention))
    except ImportError:
        return None


@contextmanager
def quiet():
    """A system's own warnings are not ours; ranx would compile for two minutes, so it does not."""
    jit, config.DISABLE_JIT = config.DISABLE_JIT, 1
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            yield
    finally:
        config.DISABLE_JIT = jit


def theirs(module, call, given):
    """The values of every user by the system itself; NaN where it leaves the user out."""
    with quiet():
        return np.array(module.values(call.format(k=given.k), given), np.float64)


def agreement_here(convention, n_problems, seed=0):
    """Compare with a system that is installed here: the values, and those of groups or None."""
    module, problems = installed(convention), problems_of(convention, n_problems, seed)
    calls = [line.call for line, _ in calls_of(convention)]
    with quiet():
        answers = [answered(module, given, calls) for given in problems]
    of_groups = [groups for _, groups in answers if groups is not None]
    found = compared_groups(convention, problems, of_groups) if of_groups else None
    return compared(convention, problems, [values for values, _ in answers]), found


# --- In an environment of its own ---------------------------------------------------------------


def make_environment(convention, folder):
    """Install a system into an empty environment, unless it is there; gives its Python."""
    python = folder / "bin" / "python"
    if not python.exists():
        venv.create(folder, with_pip=True, clear=True)
        for arguments in facts(convention)["REQUIREMENTS"]:
            subprocess.run([python, "-m", "pip", "install", "-q", *arguments.split()], check=True)
        if source := facts(convention)["SOURCE"]:
            repository, commit, package = source
            subprocess.run(["git", "clone", "-q", repository, folder / "source"], check=True)
            subprocess.run(["git", "checkout", "-q", commit], cwd=folder / "source", check=True)
            (packages,) = (folder / "lib").glob("python*/site-packages")
            (folder / "source" / package).rename(packages / package)
    return python


def agreement_in(python, convention, n_problems, seed=0):
    """Compare with a system in its environment, as ``agreement_here``; gives its version, too."""
    problems = problems_of(convention, n_problems, seed)
    lines = [line for line, _ in calls_of(convention)]
    with tempfile.TemporaryDirectory() as folder:
        asked, answers = Path(folder) / "problems.json", Path(folder) / "answers.json"
        written = [
            {name: np.asarray(value).tolist() for name, value in given._asdict().items()}
            | {"calls": [line.call for line in lines]}
            for given in problems
        ]
        asked.write_text(json.dumps(written))
        script = SYSTEMS.parent / "peers_run.py"
        run = [python, "-W", "ignore", script, module_of(convention), asked, answers]
        done = subprocess.run(run, check=False, cwd=folder, capture_output=True, text=True)
        if done.returncode:  # otherwise what a system writes about its users is of no use
            sys.exit(done.stderr)
        answer = json.loads(answers.read_text())
    of_groups = None
    if answer["groups"]:
        of_groups = compared_groups(convention, problems, answer["groups"])
    return answer["version"], compared(convention, problems, answer["values"]), of_groups


def main():
    """Measure, and keep the figures beside the earlier ones of the other systems."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawTextHelpFormatter
    )
    parser.add_argument("problems", type=int)
    parser.add_argument("systems", nargs="*", metavar="system")
    parser.add_argument("--environments", type=Path)
    given = parser.parse_args()
    folder = given.environments or Path(tempfile.mkdtemp())
    for convention in given.systems or RUNNABLE:
        python = make_environment(convention, folder / convention)
        version, found, of_groups = agreement_in(python, convention, given.problems)
        agreement = json.loads(AGREEMENT.read_text())
        agreement[convention] = {
            "version": version,
            "python": f"{sys.version_info.major}.{sys.version_info.minor}",
            "problems": given.problems,
            "calls": recorded(found),
            **({} if of_groups is None else {"groups": recorded(of_groups)}),
        }
        AGREEMENT.write_text(json.dumps(agreement, indent=1) + "\n")
        for call, each in [*found.items(), *(of_groups or {}).items()]:
            line = f"{each.largest:7.0e} {each.differ:6} of {each.values:6}  {call}"
            sys.stdout.write(f"{convention:22} {line}\n")


def recorded(found):
    """The number of values of each call, how many differ, and how far at most the others do."""
    return {
        call: [each.values, each.differ, float(f"{each.largest:.0e}")]
        for call, each in found.items()
    }


if __name__ == "__main__":
    main()
