"""Kernels: compiled with and without Numba's internals, and cached until the package changes."""

import ast
import json
import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

import recmetrics
from recmetrics._core.machine_code import _FOLDERS_WITHOUT_KERNELS

PACKAGE = Path(recmetrics.__file__).parent
HELPERS = """
from recmetrics._core.jit import helper
FACTOR = 1

@helper
def square(value):
    return FACTOR * value * value
"""
KERNELS = """
from recmetrics._core.jit import kernel, prefetch
from recmetrics._core.metrics.helpers import square

@kernel
def total(values):
    found = 0.0
    for index, value in enumerate(values):
        prefetch(values, index + 8)
        found += square(value)
    return found

@kernel
def largest(values):
    found = 0.0
    for index in range(values.size):
        found = max(found, square(values[index]))
    return found
"""
CALL = """
import sys
import numpy as np
from recmetrics import kernels
from recmetrics._core.metrics.helpers import square
from recmetrics._core.jit import while_compiling

kernel, told = getattr(kernels, sys.argv[1]), []
with while_compiling(told.append):
    answer = kernel(np.array([1.0, -3.0, 2.0]).astype(sys.argv[2]))
from recmetrics._core.machine_code import dispatcher_of
dispatchers = [dispatcher_of(kernel), dispatcher_of(square)]
hits = [sum(dispatcher.stats.cache_hits.values()) for dispatcher in dispatchers]
libraries = []
for dispatcher in dispatchers:
    libraries += [type(code.library).__name__ for code in dispatcher.overloads.values()]
print(answer, *hits, *libraries, *told)
"""


@pytest.fixture
def package(tmp_path):
    """A package of a kernel and a helper: the whole takes longer to import than to compile this."""
    folder = tmp_path / "recmetrics"
    (folder / "_core" / "metrics").mkdir(parents=True)
    files = {
        f"_core/{name}.py": (PACKAGE / "_core" / f"{name}.py").read_text()
        for name in ("errors", "jit", "machine_code", "numba_internals")
    }
    files |= {"_core/metrics/helpers.py": HELPERS, "kernels.py": KERNELS}
    files |= dict.fromkeys(("__init__.py", "_core/__init__.py", "_core/metrics/__init__.py"), "")
    for name, text in files.items():
        (folder / name).write_text(text)
    return folder


# A module that Python has compiled is stale only where its file has another second or size.
OF_ALL = {"PYTHONPATH": "", "PYTHONDONTWRITEBYTECODE": "1"}


def settings_of(package, **environment):
    """The environment of a process that imports the package, and compiles."""
    settings = {"NUMBA_DISABLE_JIT": "0", "RECMETRICS_JIT": "always"} | OF_ALL
    return settings | {"NUMBA_CACHE_DIR": str(package.parent / "cache")} | environment


def printed_by(package, code, arguments, given=None, **environment):
    """What a new process prints."""
    return subprocess.run(
        [sys.executable, "-c", code, *arguments],
        input=given,
        cwd=package.parent,
        env=os.environ | settings_of(package, **environment),
        stdout=subprocess.PIPE,
        text=True,
        timeout=300,
        check=True,
    ).stdout


FORKS = """
import json, os, sys, traceback
import numpy, numba  # which takes longer than all that a fork does

for line in sys.stdin:
    code, arguments, folder, environment = json.loads(line)
    reading, writing = os.pipe()
    child = os.fork()
    if child == 0:
        status = 1
        try:
            os.dup2(writing, 1)
            os.environ |= environment
            numba.config.reload_config()
            os.chdir(folder)
            sys.path.insert(0, "")
            sys.argv[1:] = arguments
            exec(code, {"__name__": "__main__"})
            sys.stdout.flush()
            status = 0
        except BaseException:
            traceback.print_exc()
        os._exit(status)
    os.close(writing)
    with open(reading) as pipe:
        printed = pipe.read()
    print(json.dumps([os.waitpid(child, 0)[1], printed]), flush=True)
"""


@pytest.fixture(scope="module")
def fork():
    """``printed_by`` in a fork of a process that has imported Numba, and nothing of the package."""
    if not hasattr(os, "fork"):
        yield printed_by
        return
    parent = subprocess.Popen(
        [sys.executable, "-P", "-c", FORKS],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
        env=os.environ | OF_ALL | {"NUMBA_DISABLE_JIT": "0"},
    )

    def printed_by_fork(package, code, arguments, **environment):
        settings = settings_of(package, **environment)
        line = json.dumps([code, arguments, str(package.parent), settings])
        parent.stdin.write(f"{line}\n")
        parent.stdin.flush()
        status, printed = json.loads(parent.stdout.readline())
        assert status == 0
        return printed

    yield printed_by_fork
    parent.communicate(timeout=60)


@pytest.fixture
def run(package, fork):
    """The answer, cache hits of kernel and helper, the helper's kind of code, what was told."""

    def run(before="", kernel="total", dtype="float64", **environment):
        return fork(package, f"{before}\n{CALL}", [kernel, dtype], **environment).split()

    return run


UNKNOWN = "import numba; numba.__version__ = '0.99.0'"
COMPILED = ["14.0", "0", "0", "_KernelCode", "_HelperCode", "True", "False"]
PLAINLY = ["14.0", "0", "0", "JITCodeLibrary", "JITCodeLibrary"]


def test_a_helper_is_compiled_in_kernels_alone_also_where_an_earlier_process_used_it(run):
    """With machine code of its own, also from the cache, its callers cannot be vectorised."""
    assert run() == COMPILED
    assert run(kernel="largest") == ["9.0", *COMPILED[1:]]


HASHED = """
from numba.core.targetconfig import TargetConfig

hashed = []
hash_of = TargetConfig.__hash__
TargetConfig.__hash__ = lambda self: hashed.append(1) or hash_of(self)
"""


def test_numba_does_not_read_all_options_wherever_a_function_is_called(package, fork):
    """That took a tenth of a first call."""
    code = f"{HASHED}\n{CALL}\nprint(len(hashed))"
    arguments = ["largest", "float64"]
    assert int(fork(package, code, arguments).split()[-1]) == 0
    assert int(fork(package, f"{UNKNOWN}\n{code}", arguments).split()[-1]) > 0


@pytest.mark.parametrize("before", ["", UNKNOWN], ids=["internals", "plain"])
def test_a_kernel_is_compiled_anew_where_a_helper_in_another_file_has_changed(package, run, before):
    assert run(before)[:2] == ["14.0", "0"]
    assert run(before)[:2] == ["14.0", "1"]
    helpers = package / "_core" / "metrics" / "helpers.py"
    helpers.write_text(HELPERS.replace("FACTOR = 1", "FACTOR = 2"))
    assert run(before)[:2] == ["28.0", "0"]


def test_files_without_kernels_and_the_times_of_files_leave_machine_code_as_it_is(package, run):
    assert run() == COMPILED
    (package / "cli").mkdir()
    (package / "cli" / "command.py").write_text("OPTION = 1")
    for file in package.rglob("*.py"):
        os.utime(file, (1e9, 1e9))  # an image of a container rounds them to seconds
    assert run()[:2] == ["14.0", "1"]


def test_no_kernel_stands_where_changes_are_not_seen():
    decorator = re.compile(r"\.jit import .*(kernel|helper)")
    folders = [PACKAGE / name for name in _FOLDERS_WITHOUT_KERNELS]
    files = [path for folder in folders for path in folder.rglob("*.py")]
    assert files
    assert [path for path in files if decorator.search(path.read_text())] == []


def test_code_that_another_process_saved_under_the_same_name_is_not_called(package, run):
    """Numba numbers the signatures of a kernel, and two processes may take one number at once."""
    cache, other = package.parent / "cache", package.parent / "other"
    assert run() == COMPILED
    assert run(dtype="int8", NUMBA_CACHE_DIR=str(other))[0] == "14.0"
    (mine,), (its,) = (folder.rglob("kernels.total*.nbc") for folder in (cache, other))
    mine.write_bytes(its.read_bytes())
    assert run()[:1] == run()[:1] == ["14.0"]
    assert run()[:2] == ["14.0", "1"]


def private_names():
    """The modules of Numba that ``numba_internals`` imports, each with a name."""
    for node in ast.parse((PACKAGE / "_core" / "numba_internals.py").read_text()).body:
        if isinstance(node, ast.ImportFrom) and node.module.startswith("numba.core"):
            yield from ((node.module, each.name) for each in node.names)


WITHOUT = f"""
import importlib, sys
import numba
call = compile({CALL!r}, "call", "exec")
for line in sys.stdin:
    module_name, name = line.split()
    module = importlib.import_module(module_name)
    private = getattr(module, name)
    delattr(module, name)
    for imported in [each for each in sys.modules if each.partition(".")[0] == "recmetrics"]:
        del sys.modules[imported]
    import recmetrics._core.machine_code
    setattr(module, name, private)
    numba.config.CACHE_DIR = f"cache/{{name}}"  # which holds nothing
    print(name, end=" ")
    exec(call)
"""


def test_without_an_internal_name_it_compiles_plainly(package):
    """Numba needs some of the names itself, so each is away while the package is imported.

    One process imports the package anew for each, since Numba takes longer to import.
    """
    names = list(private_names())
    given = "\n".join(map(" ".join, names))
    printed = printed_by(package, WITHOUT, ["total", "float64"], given)
    assert [line.split() for line in printed.splitlines()] == [
        [name, *PLAINLY] for _, name in names
    ]


@pytest.mark.parametrize(("before", "expected"), [("", COMPILED), (UNKNOWN, PLAINLY)])
def test_without_a_folder_for_machine_code_every_process_compiles(package, run, before, expected):
    nowhere = package.parent / "file"
    nowhere.touch()
    names = ("NUMBA_CACHE_DIR", "HOME", "XDG_CACHE_HOME")
    options = dict.fromkeys(names, str(nowhere)) | {"PYTHONDONTWRITEBYTECODE": "1"}
    for folder in (package, package / "_core" / "metrics"):
        (folder / "__pycache__").touch()  # a file where Numba wants a folder
    for _ in range(2):
        assert run(before, **options) == expected


@pytest.mark.thorough
def test_a_call_with_an_unknown_numba():
    code = f"""
{UNKNOWN}
from recmetrics import Metrics
print(Metrics.compute([[1.0, 3.0, 2.0]], [[1, 0, 1]], ["mrr@2", "auc"], ties="expected"))
"""
    environment = os.environ | {"RECMETRICS_JIT": "always"}
    done = subprocess.check_output([sys.executable, "-c", code], text=True, env=environment)
    assert done == "{'mrr@2': array([0.5]), 'auc': array([0.])}\n"


def test_one_file_reads_internals_of_numba():
    private = re.compile(r"^\s*(from|import) (numba\.core|llvmlite)", re.MULTILINE)
    files = [path.name for path in PACKAGE.rglob("*.py") if private.search(path.read_text())]
    assert files == ["numba_internals.py"]


LIMITED = """
import resource, sys
import numpy as np
from recmetrics._core.jit import kernel

def new():
    @kernel
    def total(values):
        found = 0.0
        for value in values:
            found += value
        return found
    return total

for limit in sys.stdin:
    most = int(limit) if limit.strip() else resource.RLIM_INFINITY
    resource.setrlimit(resource.RLIMIT_FSIZE, (most, resource.RLIM_INFINITY))
    total = new()
    print(total(np.ones(3)), sum(total.compiled.stats.cache_hits.values()), flush=True)
"""


@pytest.fixture
def limited(package):
    """Call a kernel as new; gives its result and how often the cache was used.

    A kernel that is made anew looks into the cache as the first call of a process does, and a
    process for each call would take most of the time of these tests.
    """
    pytest.importorskip("resource", reason="no limits for files here")
    script, folder = package.parent / "kernel.py", package.parent / "cache"
    script.write_text(LIMITED)
    child = subprocess.Popen(
        [sys.executable, script],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        env=os.environ
        | {"PYTHONPATH": "", "NUMBA_CACHE_DIR": str(folder)}
        | {"NUMBA_DISABLE_JIT": "0", "RECMETRICS_JIT": "always"},
    )

    def call(limit=""):
        child.stdin.write(f"{limit}\n")
        child.stdin.flush()
        return child.stdout.readline().split()

    yield folder, call
    _, errors = child.communicate(timeout=60)
    assert (child.returncode, errors) == (0, "")


@pytest.mark.parametrize("limit", ["0", "1000"])  # bytes of a file: no index, or no code behind it
def test_on_a_full_disk_every_process_compiles(limited, limit):
    folder, call = limited
    assert call(limit) == call(limit) == ["3.0", "0"]
    assert call() == ["3.0", "0"]
    assert call() == ["3.0", "1"]
    assert not list(folder.rglob("*.tmp.*"))


@pytest.mark.parametrize("kind", ["nbi", "nbc"])
def test_a_damaged_file_in_the_cache_is_replaced(limited, kind):
    folder, call = limited
    assert [call(), call()] == [["3.0", "0"], ["3.0", "1"]]
    for part in (b"", b"rubbish", None):  # None is half of it
        (file,) = folder.rglob(f"*.{kind}")
        whole = file.read_bytes()
        file.write_bytes(whole[: len(whole) // 2] if part is None else part)
        assert [call(), call()] == [["3.0", "0"], ["3.0", "1"]], part
