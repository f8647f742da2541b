"""What a new process loads, and when it compiles."""

import sys
import threading
import time
from io import StringIO

import numpy as np
import pytest
import scipy.sparse as sp
from asserts import python

from recmetrics import Metrics, audit, overlap
from recmetrics._core import jit
from recmetrics.cli import _terminal

# Everything that is neither of Python nor part of NumPy, of scipy.sparse, or ours.
LOADED = """
import sys, numpy, scipy.sparse
before = set(sys.modules)
{code}
loaded = {{".".join(name.split(".")[:2]) for name in sys.modules.keys() - before}}
print(*sorted(name for name in loaded if name.split(".")[0] not in sys.stdlib_module_names))
"""
EXAMPLE = """
import sys
import numpy as np
from recmetrics import Metrics
for _ in range({n}):
    print(Metrics.compute(np.array([[0.9, 0.1, 0.8, 0.3], [0.2, 0.7, 0.1, 0.6]]),
                          np.array([[1, 0, 0, 1], [0, 1, 0, 0]]), ["ndcg@2", "recall@2"]))
print("numba" in sys.modules)
"""


KERNEL = """
import sys
from recmetrics._core.jit import kernel

@kernel
def double(number):
    return 2 * number
"""


def loaded_by(code, **environment):
    return python("-P", "-c", LOADED.format(code=code), **environment).stdout.split()


def test_the_import_loads_the_package_alone():
    """Without Numba, scipy.special and scipy.linalg, which take two thirds of the time."""
    modules = {*loaded_by("import recmetrics")}
    of_old_numpy = {"numpy.typing", "numpy._typing"}
    assert {name.split(".")[0] for name in modules - of_old_numpy} == {"recmetrics"}


COMMANDS = """
import sys
from recmetrics.cli import main
for words in sys.argv[1:]:
    try:
        main(words.split())
    except SystemExit as end:
        assert not end.code, words
    assert "numba" not in sys.modules, words
"""


def test_commands_that_compute_nothing_load_no_numba():
    helps = ["--help", "compare --help", "evaluate --help"]
    python("-P", "-c", COMMANDS, *helps, "--version", "metrics", "metrics ndcg")


def test_comparing_and_explaining_load_no_numba():
    code = """
import recmetrics
recmetrics.explain("ndcg@10")
recmetrics.summary({"ndcg@10": [0.1, 0.4, 0.2]})
recmetrics.compare({"a": {"ndcg@10": [0.1, 0.4, 0.2]}, "b": {"ndcg@10": [0.3, 0.1, 0.2]}})
"""
    assert not [name for name in loaded_by(code) if name.startswith(("numba", "llvmlite"))]


def test_a_hundred_small_calls_do_not_even_import_numba():
    code = EXAMPLE.format(n=100)
    *values, has_numba = python("-P", "-c", code, NUMBA_DISABLE_JIT="0").stdout.splitlines()
    assert has_numba == "False"
    # recall: one of two relevant items, then the only one; ndcg: rank 1 of two items, then rank 1.
    assert len(set(values)) == 1
    assert "'recall@2': array([0.5, 1. ])" in values[0]


MODES = """
from recmetrics._core import jit
for jit_mode, numba_disabled in (("never", 0), ("auto", 0), ("always", 1), ("always", 0)):
    os.environ |= {"RECMETRICS_JIT": jit_mode, "NUMBA_DISABLE_JIT": str(numba_disabled)}
    jit._mode.cache_clear()  # as in a new process, which would take a second
    double(2)
    print("numba" in sys.modules)
"""


def test_the_environment_says_when_to_compile():
    done = python("-P", "-c", f"import os{KERNEL}{MODES}")
    assert done.stdout.split() == ["False", "False", "False", "True"]


def test_an_unknown_mode_is_an_error():
    code = """
import recmetrics
try:
    recmetrics.Metrics.compute([[1.0, 2.0]], [[1, 0]], "hit@1")
except recmetrics.ArgumentError as error:
    print(error)
"""
    printed = python("-P", "-c", code, RECMETRICS_JIT="yes").stdout
    assert printed == (
        "the environment variable RECMETRICS_JIT must be auto, always or never, got 'yes'; unset "
        "it for auto\n"
    )


COUNTED_CALLS = """
import sys
import numpy as np
import scipy.sparse as sp
from recmetrics import Metrics
from recmetrics._core import jit

def calls_until_numba(compute):
    jit._Work.total = 0.0
    for n_calls in range(1, 99):
        try:
            compute()
        except ImportError:
            return n_calls

sys.modules["numba"] = None  # to import it is an error
scores = np.random.default_rng(0).random((5_000, 500), dtype=np.float32)
truth = (scores > 0.98).astype(np.float32)
print(calls_until_numba(lambda: Metrics.compute(scores, truth, "ndcg@10")))
print(calls_until_numba(lambda: Metrics.compute(scores[:1_000], truth[:1_000], "ndcg@10")))
n_items = 500
users = np.arange(240)[:, np.newaxis]
is_candidate = (np.arange(n_items) + users) % 5 == 0
truth = is_candidate & ((np.arange(n_items) + users) % 2 == 0)
scores = np.where(is_candidate, np.random.default_rng(0).random(is_candidate.shape), 0.0)
print(calls_until_numba(lambda: Metrics.compute(scores, truth, "mrr", candidates=is_candidate)))
print(calls_until_numba(lambda: Metrics.compute(sp.csr_array(scores), truth, "mrr")))
scores = np.random.default_rng(0).random(22_000)
sizes = [1_000] * 22
print(calls_until_numba(lambda: Metrics.compute_groups(scores, scores > 0.4, "auc", sizes=sizes)))
"""


def test_work_adds_up_until_numba_is_imported():
    """About 10 of 500 items are relevant to each of 5,000 users, which each is compared with 500.

    A user takes 10 microseconds, a relevant item 6, and 500 comparisons 0.7: 0.39 s, above 0.3; of
    1,000 users a fifth of it, and 0.01 s as hits of a metric: the fourth call is above 0.3 s.

    Then each of 240 users has 50 relevant ones among 100 candidates: 12,000 items of 6 microseconds
    are 0.072 s, as hits of a metric 0.012 s, and all else less than 0.012 s: the fourth call is
    above 0.3 s.

    Of 22 groups of 1,000 rows, 600 of them relevant, these take 0.092 s, and the bins of the rows
    0.07 microseconds for each: the fourth call is above 0.3 s. With comparisons, which would take
    0.018 s, the third would be.
    """
    environment = {"NUMBA_DISABLE_JIT": "0", "RECMETRICS_JIT": "auto"}
    large, small, *pools = python("-P", "-c", COUNTED_CALLS, **environment).stdout.split()
    assert large == "1"
    assert small == "4"
    assert pools == ["4", "4", "4"]


def test_the_command_says_once_that_it_compiles(tmp_path):
    np.save(tmp_path / "scores.npy", [[2.0, 1.0]])
    np.save(tmp_path / "truth.npy", [[0, 1]])
    code = """
from recmetrics.cli import _terminal, main
_terminal._LONG_COMPILATION = 0.05  # to compile any kernel takes more
main(["evaluate", "scores.npy", "truth.npy", "-m", "hit@1", "--json"])
"""
    settings = {"NUMBA_CACHE_DIR": str(tmp_path), "NUMBA_DISABLE_JIT": "0"}
    settings["RECMETRICS_JIT"] = "always"
    done = python("-P", "-c", code, cwd=tmp_path, **settings)
    assert done.stderr == "recmetrics: compiling metrics for this machine; later runs reuse them\n"
    assert python("-P", "-c", code, cwd=tmp_path, **settings).stderr == ""


@pytest.mark.parametrize("text, before", [("a line\n", ""), ("epochs: 0.1", "\n")])
def test_a_terminal_shows_how_long_a_compilation_takes(text, before, monkeypatch):
    """In a line that is erased; what stands in the line before it stays."""
    shown = StringIO()
    shown.isatty = lambda: True
    monkeypatch.setattr(sys, "stderr", shown)
    monkeypatch.setattr(_terminal, "_LONG_COMPILATION", 0.01)
    _terminal.write(f"\n{text}")
    with _terminal.telling_of_compilation():
        jit._report_compilation(True)
        while shown.getvalue().count("\r") < 2:
            time.sleep(0.01)
        jit._report_compilation(False)
        jit._report_compilation(True)
        jit._report_compilation(False)  # too short to be told
    line = "\r\x1b[Kcompiling metrics for this machine; later runs reuse them"
    assert shown.getvalue().startswith(f"{before}{line}: 1 s{line}: 2 s")
    assert shown.getvalue().endswith(" s\r\x1b[K")
    _terminal.write("\n")


def test_where_no_thread_can_start_a_compilation_is_not_told(monkeypatch, capsys):
    class Refused(threading.Thread):
        def start(self):
            msg = "can't start new thread"
            raise RuntimeError(msg)

    monkeypatch.setattr(threading, "Thread", Refused)
    with _terminal.telling_of_compilation():
        jit._report_compilation(True)
        jit._report_compilation(False)
    assert capsys.readouterr().err == ""


TWO_THREADS = """
import threading
from recmetrics._core import jit
reports = []
with jit.while_compiling(reports.append):
    threads = [threading.Thread(target=double, args=(2,)) for _ in range(2)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
print(reports == [True, False] * (len(reports) // 2), len(reports) > 0)
"""


def test_threads_that_compile_first_report_it_once():
    settings = {"NUMBA_DISABLE_JIT": "0", "RECMETRICS_JIT": "always"}
    assert python("-P", "-c", KERNEL + TWO_THREADS, **settings).stdout == "True True\n"


# --- What is counted ------------------------------------------------------------------------------

# One relevant item for each of 100 users, among 2,000 items. All numbers are microseconds of Python
# for one item, as measured, and what a call must count at least.
SCORES = np.random.default_rng(0).random((100, 2_000), dtype=np.float32)
TRUTH = np.eye(100, 2_000, dtype=np.float32)
EVERY_ROW = 100 * 10.0 + 200_000 * 0.0006
EVERY_LIST = EVERY_ROW + 100 * 5.0
LISTS = np.argsort(-SCORES, axis=1)[:, :50]
RANKED = (100 * 50 + 100) * 0.35  # the items of all lists, and the relevant ones
RANGE = 100 * sum(range(1, 51))  # the items of all lists at each of 50 cutoffs
N_PAIRS = 100 * 50 * 49 / 2  # of two items of a list
FORTY = np.tile(np.arange(2_000) >= 1_960, (100, 1))  # excluded items
SIMILAR = np.ones((2_000, 2_000), np.int8)
UNSORTED = sp.csr_array(
    (np.ones(1_000), np.tile(np.arange(10)[::-1], 100), np.arange(0, 1_001, 10)), (100, 2_000)
)


def of_table():
    pd = pytest.importorskip("pandas", reason="pandas is not installed")
    pytest.importorskip("narwhals", reason="narwhals is not installed")
    from recmetrics.tables import evaluate_table

    users = np.arange(100).repeat(50)
    recs = pd.DataFrame({"user": users, "item": LISTS.ravel(), "rank": np.tile(range(1, 51), 100)})
    return evaluate_table(recs, recs[recs["rank"] == 9], "mrr@1")


COUNTED = {
    "scores": (lambda: Metrics.compute(SCORES, TRUTH, "mrr@1"), EVERY_ROW),
    "half precision": (
        lambda: Metrics.compute(SCORES.astype(np.float16), TRUTH, "mrr@1"),
        EVERY_ROW + 200_000 * 0.007,
    ),
    # Each of 100 hits of a user is read with 100 and at 200 ranks of a tie group.
    "err of equal scores": (
        lambda: Metrics.compute(np.zeros((5, 200)), [range(100)] * 5, "err", ties="expected"),
        5 * 100 * (100 + 199) * 0.35,
    ),
    "many relevant items": (
        lambda: Metrics.compute(SCORES, 1 - TRUTH, "mrr@1"),
        EVERY_ROW + 199_900 * 0.25,
    ),
    "pairs of relevant and excluded items": (  # fewer than 50 are not hidden in a copy of a row
        lambda: Metrics.compute(SCORES, TRUTH, "mrr", exclude=FORTY),
        EVERY_ROW + 100 * 6.0 + 100 * 40 * (0.1 + 0.3),
    ),
    "excluded items": (
        lambda: Metrics.compute(SCORES, TRUTH, "mrr@1", exclude=1 - TRUTH),
        EVERY_ROW + 199_900 * 0.1 + 100 * 2.0,  # relevant items that are sought among them
    ),
    "lists of scores": (lambda: Metrics.compute(SCORES, TRUTH, "coverage@1"), EVERY_LIST),
    # Each user's best of 1,000 scores in tiles, 0.011 each; about 1 + ln(1,000) are collected.
    "factors": (
        lambda: Metrics.compute_factors(
            np.eye(100, 9), np.ones((2_000, 9)), TRUTH, "mrr@1", candidates=range(1_000)
        ),
        100 * (10.0 + 1_000 * 0.011 + (1 + np.log(1_000)) * 2.5),
    ),
    "lists of two models": (lambda: overlap(SCORES, -SCORES, "jaccard@1"), 2 * EVERY_LIST),
    "an audit": (lambda: audit(SCORES, TRUTH, k=1), EVERY_ROW + EVERY_LIST),
    "rankings": (lambda: Metrics.compute_ranked(LISTS, TRUTH, "mrr@1"), RANKED),
    "repeats": (
        lambda: Metrics.compute_ranked([*LISTS], TRUTH, "mrr@1", repeats="drop"),
        RANKED + 100 * 50 * 0.3,
    ),
    "unsorted items": (
        lambda: Metrics.compute_ranked(LISTS[:, :1], UNSORTED, "mrr@1"),
        (100 + 1_000) * 0.35 + 1_000 * (1.0 + 10 * 0.14),  # each is compared with ten
    ),
    "features": (
        lambda: Metrics.compute_ranked(LISTS, TRUTH, "diversity@2", features=np.ones((2_000, 9))),
        RANKED + 2_000 * 9 * 0.7 + 100 * 2 * (9 * 0.17 + 0.3),
    ),
    "stored features": (
        lambda: Metrics.compute_ranked(
            LISTS, TRUTH, "diversity@50", features=sp.csr_array(np.ones((2_000, 3)))
        ),
        RANKED + 2_000 * 3 * 0.7 + 100 * 50 * (3 * 0.9 + 0.3),
    ),
    "similarities": (
        lambda: Metrics.compute_ranked(LISTS, TRUTH, "diversity", similarity=SIMILAR),
        RANKED + N_PAIRS * 0.22 + 100 * 50 * 0.3,
    ),
    "stored similarities": (
        lambda: Metrics.compute_ranked(LISTS, TRUTH, "diversity", similarity=sp.eye_array(2_000)),
        RANKED + N_PAIRS * 1.4 + 100 * 50 * 0.3,
    ),
    "genres": (
        lambda: Metrics.compute_ranked(
            LISTS, TRUTH, "calibration@50", genres=np.ones((2_000, 3)), profile=TRUTH
        ),
        RANKED + 100 * (50 + 1) * 3 * 0.9 + 100 * 50 * 0.3,
    ),
    "metrics of hits": (
        lambda: Metrics.compute_ranked(LISTS, TRUTH, "ndcg@1:50"),
        RANKED + 50 * 100 * 1.0,
    ),
    "metrics of lists": (
        lambda: Metrics.compute_ranked(LISTS, TRUTH, "popularity@1:50", popularity=np.ones(2_000)),
        RANKED + RANGE * 0.3,
    ),
    "metrics of all lists": (  # each adds an item to a count, and to a sum of weights
        lambda: Metrics.compute_ranked(LISTS, TRUTH, "exposure_gini@1:50"),
        RANKED + RANGE * 2 * 0.5,
    ),
    # Users and items of both tables are numbered, and rows grouped by user.
    "tables": (of_table, RANKED + (5_000 + 100) * (0.3 + 0.3 + 1.0)),
}


@pytest.mark.parametrize("name", COUNTED)
def test_what_a_call_reads_is_counted(name, monkeypatch):
    """Else a large input would be read as Python, which takes ten times as long as compiled."""
    call, least = COUNTED[name]
    monkeypatch.setattr(jit._Work, "total", 0.0)
    call()
    assert jit._Work.total >= least * (1 - 1e-9)


@pytest.mark.parametrize(("gain", "n_hits"), [(-9, 0), (9, 100)])
def test_hits_are_counted_once_they_are_known(gain, n_hits, monkeypatch):
    """A good model takes ten times as long as a bad one, and before the call both are alike."""
    monkeypatch.setattr(jit._Work, "total", 0.0)
    values = Metrics.compute(SCORES + gain * TRUTH, TRUTH, "hit@1")["hit@1"]
    assert np.count_nonzero(values) == n_hits
    of_hits = n_hits * (9.0 + 2_000 * 0.0006)
    of_metric = (100 + n_hits) * 1.0
    expected = EVERY_ROW + 100 * 0.25 + of_hits + of_metric
    assert jit._Work.total == pytest.approx(expected, rel=1e-9)
