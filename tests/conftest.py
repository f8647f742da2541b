"""A fresh compilation cache for every test run, and no skip that nobody expected.

What an earlier run compiled must not decide whether this one passes. Child processes inherit the
folder, so they start warm.
"""

import atexit
import os
import re
import signal
import tempfile

import pytest

if "PYTEST_XDIST_WORKER" not in os.environ:  # workers have the folder of the process they serve
    _CACHE = tempfile.TemporaryDirectory(prefix="recmetrics-numba-", ignore_cleanup_errors=True)
    atexit.register(_CACHE.cleanup)
    os.environ["NUMBA_CACHE_DIR"] = _CACHE.name  # before anything imports numba

# A shell that runs the tests in the background has them, and their children, ignore Ctrl-C; nohup
# has them ignore the end of the terminal.
for name, usual in (("SIGINT", signal.default_int_handler), ("SIGHUP", signal.SIG_DFL)):
    number = getattr(signal, name, None)
    if number is not None and signal.getsignal(number) is signal.SIG_IGN:
        signal.signal(number, usual)


def pytest_configure(config):
    if "RECMETRICS_LOOPS" in os.environ:  # by which planted faults are seen without compilation
        from inside import call_loops

        call_loops()
    config.addinivalue_line("markers", "needs_jit: too large for kernels that are not compiled")
    config.addinivalue_line("markers", "thorough: takes long, and few changes break it")


def pytest_collection_modifyitems(items):
    """Put the tests of selection last, since the fuzzer at the front compiles the same kernels.

    Half of the tests go to each of two processes. If both came to these kernels at once, each would
    compile them for most of a minute; the later one loads them from the cache.
    """
    items.sort(key=lambda item: item.path.parent.name == "selection")


def pytest_runtest_setup(item):
    """Leave out what would take hours with ``NUMBA_DISABLE_JIT=1``, and what only CI runs."""
    from problems import JIT  # imports numba, which reads the folder above

    if item.get_closest_marker("needs_jit") and not JIT:
        pytest.skip("needs the JIT")
    if item.get_closest_marker("thorough") and "RECMETRICS_THOROUGH" not in os.environ:
        pytest.skip("set RECMETRICS_THOROUGH=1 to run it, as CI does")


@pytest.fixture(scope="module", params=["Python", "machine code"])
def both_ways(request):
    """Run kernels as Python, then compiled, whatever this process has compiled before.

    For a module, since hypothesis calls a test many times within one fixture of a function.
    """
    from inside import compiled, in_python

    with in_python() if request.param == "Python" else compiled():
        yield


@pytest.hookimpl(trylast=True)
def pytest_terminal_summary(terminalreporter):
    """Tell in one line why tests were skipped."""
    skipped = terminalreporter.stats.get("skipped", [])
    if skipped and not terminalreporter.hasopt("skipped"):
        lacking = sum(str(report.longrepr).count("not installed") for report in skipped)
        terminalreporter.write_line(
            f"{len(skipped)} skipped, {lacking} of them for want of a package; -rs tells each"
        )


@pytest.fixture
def registry_stays():
    """Take metrics that a test declares out of the registry again."""
    from recmetrics._core.spec import METRICS

    before = dict(METRICS)
    yield
    METRICS.clear()
    METRICS.update(before)


@pytest.fixture
def threads_start_early():
    """Let few scores be many blocks and threads, where kernels are not compiled."""
    from problems import JIT
    from sizes import patched

    with patched({} if JIT else {"_core.inputs.scores": {"LEAST_SCORES": 1 << 15}}):
        yield


@pytest.fixture
def small_blocks():
    """Blocks of few users, also in one thread."""
    from sizes import SMALL, patched

    with patched(SMALL):
        yield


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport():
    """Turn a skip into a failure where RECMETRICS_ALLOWED_SKIPS does not match its reason."""
    report = yield
    allowed = os.environ.get("RECMETRICS_ALLOWED_SKIPS")
    if allowed is not None and report.skipped and not hasattr(report, "wasxfail"):
        reason = str(report.longrepr)
        if not re.search(allowed, reason):
            report.outcome = "failed"
            report.longrepr = f"unexpected skip: {reason}"
    return report
