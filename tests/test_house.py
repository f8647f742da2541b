"""The order of the package: who may import whom, what is written once, how long the way is."""

import ast
import functools
import inspect
import re
import shutil
import textwrap
from collections import Counter
from graphlib import TopologicalSorter
from pathlib import Path

import pytest
from asserts import python
from problems import JIT
from way import ways

import recmetrics
from recmetrics import Metrics
from recmetrics._core.options import Shared

PACKAGE = Path(recmetrics.__file__).parent
# From the lowest to the highest: a room imports rooms on lines before its own.
FLOORS = [
    ("_core", "_core/errors", "_core/types", "_core/numba_internals"),
    ("_core/machine_code", "_core/options"),
    ("_core/jit",),
    ("_core/threads", "_core/spec"),
    ("_core/inputs",),
    ("_core/selection",),
    ("_core/metrics",),
    ("_core/results",),
    ("_core/compute", "_core/evaluator", "_core/stream"),
    ("_core/warmup", "_files", "_printing", "dask"),
    ("_inspection", "_report"),
    ("_metrics", "tables", "torchmetrics"),
    ("spark",),
    ("__init__",),
    ("cli",),
    ("__main__",),
]
# What the walls let through: the folders from which the files of a folder import.
WALLS = {
    "_core": set(),
    "_files": {"_core"},
    "_printing": {"_core"},
    "_report": {"_core", "_files", "_printing"},
    "_inspection": {"_core", "_printing"},
    "dask": {"_core"},
    "spark": {"_core", "_report", "tables"},
    "tables": {"_core", "_files", "_inspection", "_printing"},
}
FLOOR = {room: floor for floor, rooms in enumerate(FLOORS) for room in rooms}
STAGES = ("_core/inputs", "_core/selection", "_core/metrics", "_core/results", "dask")


def module_of(path, package=PACKAGE):
    """``("_core", "spec", "grammar")``; a door is ``("_core", "spec")``."""
    parts = path.relative_to(package).with_suffix("").parts
    return parts[:-1] if parts[-1] == "__init__" and len(parts) > 1 else parts


def room_of(module):
    """A room is a folder with its files, or a file alone; those of ``_core`` stand inside it."""
    return module[:2] if module[0] == "_core" else module[:1]


@functools.cache
def modules_of(package):
    """The modules of a package, or of a copy of it; no test adds a file."""
    return {module_of(path, package) for path in package.rglob("*.py")}


@functools.cache
def nodes_of(text):
    """Every node of a file; most files of a copy of the package are those of the package."""
    return list(ast.walk(ast.parse(text)))


def imports_of(path, package=PACKAGE):
    """The modules of the package that a file imports, wherever in it; a type checker's, too."""
    modules = modules_of(package)
    for node in nodes_of(path.read_text()):
        if isinstance(node, ast.Import):
            names = [alias.name for alias in node.names]
        elif isinstance(node, ast.ImportFrom):
            assert not node.level, f"{path} imports relatively"
            names = [f"{node.module}.{alias.name}" for alias in node.names]
        else:
            continue
        for name in names:
            top, *parts = name.split(".")
            if top == package.name:
                while parts and tuple(parts) not in modules:
                    parts.pop()  # the name of an object
                module = tuple(parts) or ("__init__",)
                door = ".".join([top, *room_of(module)])
                yield module, isinstance(node, ast.ImportFrom) and node.module == door


def wrong_imports(package=PACKAGE):
    """Imports that point upward, or past a folder's door."""
    wrong = []
    for path in sorted(package.rglob("*.py")):
        own = module_of(path, package)
        for imported, by_door in imports_of(path, package):
            room, own_room = room_of(imported), room_of(own)
            if room == own_room:
                continue
            if FLOOR["/".join(room)] >= FLOOR["/".join(own_room)]:
                wrong.append(f"{'/'.join(own)} imports upward: {'/'.join(imported)}")
            elif imported != room and not by_door:
                wrong.append(f"{'/'.join(own)} imports past a door: {'/'.join(imported)}")
    return wrong


def test_every_room_has_its_floor():
    rooms = {"/".join(room_of(module_of(path))) for path in PACKAGE.rglob("*.py")}
    assert rooms == set(FLOOR)


def test_imports_point_downward_and_through_doors():
    assert wrong_imports() == []


@pytest.mark.parametrize(
    ("file", "line", "problem"),
    [
        (
            "_core/inputs/sets.py",
            "from recmetrics._core.selection import Hits",
            "upward: _core/selection",
        ),
        (
            "_core/spec/request.py",
            "def late():\n    from recmetrics._core.compute import Metrics",
            "upward: _core/compute",
        ),
        (
            "_core/results/measure.py",
            "if TYPE_CHECKING:\n    from recmetrics._core.evaluator import Evaluator",
            "upward: _core/evaluator",
        ),
        (
            "tables/_values.py",
            "import recmetrics._core.selection.hits",
            "past a door: _core/selection/hits",
        ),
        (
            "_core/evaluator.py",
            "from recmetrics._core.inputs.sets import Rows",
            "past a door: _core/inputs/sets",
        ),
    ],
)
def test_a_wrong_import_is_seen(file, line, problem, tmp_path):
    package = tmp_path / "recmetrics"
    shutil.copytree(PACKAGE, package, ignore=shutil.ignore_patterns("__pycache__"))
    (package / file).write_text(f"{(package / file).read_text()}\n{line}\n")
    assert [each.partition(" imports ")[2] for each in wrong_imports(package)] == [problem]


def through_walls(package=PACKAGE):
    """Each folder that a wall closes off, and what its files import all the same."""
    for folder, open_to in WALLS.items():
        imported = {
            module[0] for path in (package / folder).rglob("*.py") for module, _ in imports_of(path)
        }
        yield from ((folder, other) for other in sorted(imported - open_to - {folder}))


def test_the_core_stands_alone_and_no_room_reaches_through_a_wall():
    assert list(through_walls()) == []


@pytest.mark.parametrize(
    ("file", "line", "reach"),
    [
        ("_core/compute.py", "from recmetrics._printing import Grid", ("_core", "_printing")),
        ("_core/results/store.py", "from recmetrics import Summary", ("_core", "__init__")),
        ("_report/gate.py", "from recmetrics._inspection import audit", ("_report", "_inspection")),
        ("_inspection/audits.py", "import recmetrics._report.gate", ("_inspection", "_report")),
    ],
)
def test_a_hole_in_a_wall_is_seen(file, line, reach, tmp_path):
    package = tmp_path / "recmetrics"
    shutil.copytree(PACKAGE, package, ignore=shutil.ignore_patterns("__pycache__"))
    (package / file).write_text(f"{(package / file).read_text()}\n{line}\n")
    assert list(through_walls(package)) == [reach]


def test_no_file_imports_itself_by_way_of_others():
    files = {
        module_of(path): {imported for imported, _ in imports_of(path)}
        for path in PACKAGE.rglob("*.py")
    }
    for module, imported in files.items():  # within a folder nobody goes out by the door
        imported -= {room_of(module)}
    list(TopologicalSorter(files).static_order())  # raises where there is a circle


def test_no_file_name_stands_twice():
    names = Counter(path.stem.strip("_") for path in PACKAGE.rglob("*.py"))
    assert [name for name, count in names.items() if count > 1 and name != "init"] == []


def test_behind_the_request_nobody_knows_conventions():
    known = [
        (path.name, node.lineno)
        for folder in STAGES
        for path in (PACKAGE / folder).glob("*.py")
        for node in nodes_of(path.read_text())
        if "convention" in (getattr(node, "id", ""), getattr(node, "attr", ""))
        or "convention" in (getattr(node, "arg", ""), getattr(node, "value", ""))
    ]
    assert known == []


def test_a_door_names_every_file_behind_it():
    for door in sorted(PACKAGE.rglob("*/__init__.py")):
        text = ast.get_docstring(ast.parse(door.read_text()))
        words = set(re.findall(r"\w+", text))
        assert {path.stem for path in door.parent.glob("*.py")} - {"__init__"} <= words, door


# --- The data flow -------------------------------------------------------------------------------


def last_lines(method, number):
    body = ast.parse(textwrap.dedent(inspect.getsource(method))).body[0].body
    return [ast.unparse(statement) for statement in body[-number:]]


def test_the_methods_read_as_the_data_flow():
    flow = last_lines(Metrics.compute, 4)
    assert [re.match(r"(\w+) ?=|return (\w+)", line).group(1, 2) for line in flow] == [
        ("request", None),
        ("scores", None),
        ("users", None),
        (None, "values_of"),
    ]
    for method in (Metrics.compute_factors, Metrics.compute_ranked):
        other = last_lines(inspect.unwrap(method), 4)
        assert [a == b for a, b in zip(flow[2:], other[2:], strict=True)] == [True, True]
        assert flow[1] != other[1]
    assert flow[0] == last_lines(inspect.unwrap(Metrics.compute_factors), 4)[0]


# Moves from file to file, and Python calls. The first is the way that a reader follows; the others
# have a quarter of room.
MOST = {
    "Metrics.compute": (40, 105),
    "Metrics.compute_factors": (71, 177),
    "Evaluator.update": (25, 70),
    "recmetrics evaluate": (177, 793),
    "evaluate_table": (102, 300),
}


@pytest.mark.skipif(not JIT, reason="needs the JIT")  # else every helper of a kernel is a call
@pytest.mark.parametrize("job", MOST)
def test_the_way_of_a_call_is_short(job):
    moves, calls = MOST[job]
    way = ways().get(job)
    if way is None:
        pytest.skip("pandas or narwhals is not installed")
    assert way.moves <= moves
    assert len(way.steps) <= calls


# --- The shared keywords -------------------------------------------------------------------------

NAMES = set(Shared.__annotations__)


def names_in(node):
    """The shared keywords that one statement writes out."""
    if isinstance(node, ast.arguments):
        names = [each.arg for each in node.kwonlyargs]
    elif isinstance(node, ast.Call):
        names = [each.arg for each in node.keywords]
    elif isinstance(node, ast.ClassDef):
        names = [each.target.id for each in node.body if isinstance(each, ast.AnnAssign)]
    elif isinstance(node, ast.Dict):
        names = [getattr(key, "value", None) for key in node.keys]
    elif isinstance(node, ast.Tuple | ast.List | ast.Set):
        names = [getattr(each, "value", None) for each in node.elts]
    else:
        names = []
    return NAMES & set(names)


def test_the_shared_keywords_are_written_out_in_few_places():
    places = [
        f"{path.relative_to(PACKAGE)}:{getattr(node, 'lineno', '')}"
        for path in sorted(PACKAGE.rglob("*.py"))
        for node in nodes_of(path.read_text())
        if len(names_in(node)) >= 5
    ]
    assert len(places) <= 9, places  # evaluate_table has them twice, for its overloads


def test_every_line_that_is_defended_names_its_tests():
    folder = Path(__file__).parents[1]
    text = (folder / "SECURITY.md").read_text()
    table = [line for line in text.splitlines() if line.startswith("| ")][2:]
    assert len(table) > 10
    for line in table:
        named = re.findall(r"`(tests/[\w/]+\.py)(?:::(\w+))?`", line)
        assert named, line
        for file, test in named:
            assert f"def {test or 'test_'}" in (folder / file).read_text(), (file, test)


def test_no_annotation_fails_with_an_old_scipy():
    """Its sparse arrays take no ``[...]`` when a function is defined."""
    found = []
    for path in sorted(PACKAGE.rglob("*.py")):
        text = path.read_text()
        if "from __future__ import annotations" in text:
            continue
        for node in nodes_of(text):
            name = getattr(node.value, "attr", "") if isinstance(node, ast.Subscript) else ""
            if re.fullmatch(r"cs[rc]_(array|matrix)", name):
                found.append(f"{path.relative_to(PACKAGE)}:{node.lineno}")
    assert found == []


def edited_copy(edits, folder):
    """Copy the package into a folder, and make the edits there."""
    package = folder / "recmetrics"
    shutil.copytree(PACKAGE, package, ignore=shutil.ignore_patterns("__pycache__"))
    for file, old, new in edits:
        text = (package / file).read_text()
        assert text.count(old) == 1
        (package / file).write_text(text.replace(old, new))


def in_copies(code, *folders):
    """The lines that a script prints with the copy of the package in each folder."""
    code = f"""
import sys
for folder in {list(map(str, folders))!r}:
    sys.path.insert(0, folder)
    for name in [each for each in sys.modules if each.partition(".")[0] == "recmetrics"]:
        del sys.modules[name]
    exec({code!r}, {{"__name__": "__main__"}})
    assert sys.modules["recmetrics"].__file__.startswith(folder)
"""
    # No kernel changes; compiling those of the copy would take a quarter of a minute.
    return python("-P", "-c", code, NUMBA_DISABLE_JIT="1").stdout.split("\n")[:-1]


# --- New side information ------------------------------------------------------------------------

TOPICS = [
    (
        "_core/options.py",  # of arrays, then of tables
        "    genres: Matrix | None\n",
        "    genres: Matrix | None\n    topics: Matrix | None\n",
    ),
    (
        "_core/options.py",
        "    genres: SideTable | None\n",
        "    genres: SideTable | None\n    topics: SideTable | None\n",
    ),
    *(
        (
            file,
            "        genres: Matrix | None = None,\n",
            "        genres: Matrix | None = None,\n        topics: Matrix | None = None,\n",
        )
        for file in ("_core/compute.py", "_core/evaluator.py")
    ),
    (
        "_core/inputs/side.py",
        '    "profile": SideInput(\n',
        '    "topics": SideInput(content="the topics of each item", shape="(n_items, t)",\n'
        '        read=_read_items, make="topics=topics", warm=np.eye,\n'
        '        table="a table of items and their topics"),\n'
        '    "profile": SideInput(\n',
    ),
]
# A metric that reads them: the mean number of the first topic in the list.
OF_TOPICS = """
import inspect, sys
import numpy as np
from recmetrics import Evaluator, Metrics, StreamEvaluator, warmup
from recmetrics._core import options
from recmetrics._core.spec import SIDE, metric

def kernel(lists, topics, k, out):
    for user, length in enumerate(lists.length):
        out[user] = np.mean(topics[lists.items[user, :length][:k], 0])

@metric(reads="lists", kernel=kernel, reference=kernel, needs=(("topics",),), formula="", latex="",
        citation="", prepare=lambda side, options: side.values["topics"].entries)
def topical_at_k(pred_scores, ground_truth, k: int = 100, **shared): ...
"""
USE_TOPICS = f"""{OF_TOPICS}
import contextlib, io, json, tempfile
import pandas as pd
from recmetrics import cli
from recmetrics.tables import evaluate_table

scores, truth, topics = [[3.0, 2.0, 1.0]], np.array([[0, 0, 1]]), [[4.0], [2.0], [1.0]]
text = "topical@2"
both = Evaluator(truth, text, topics=topics), StreamEvaluator(text, topics=topics)
both[0].update(scores)
both[1].update(scores, truth)
recs = pd.DataFrame({{"user": 1, "item": [0, 1, 2], "score": scores[0]}})
table = pd.DataFrame({{"item": [2, 1, 0], "topic": [1.0, 2.0, 4.0]}})
values = [
    Metrics.compute(scores, truth, text, topics=topics),
    Metrics.compute_ranked([[0, 1, 2]], truth, text, topics=topics),
    *(each.compute() for each in both),
    evaluate_table(recs, recs, text, topics=table),
]
with tempfile.TemporaryDirectory() as folder, contextlib.redirect_stdout(io.StringIO()) as out:
    files = [f"{{folder}}/{{name}}.npy" for name in ("scores", "truth", "topics")]
    for file, array in zip(files, (scores, truth, topics)):
        np.save(file, array)
    assert cli.main(["evaluate", *files[:2], "--topics", files[2], "-m", text, "--json"]) == 0
values.append({{text: [json.loads(out.getvalue())["means"][0]["mean"]]}})
print(*(float(np.asarray(each[text])[0]) for each in values))
try:
    Metrics.compute(scores, truth, text)
except ValueError as error:
    print(error)
warmup(text)
"""
PLACES = f"""{OF_TOPICS}
def written_out(function):
    return set(inspect.signature(inspect.unwrap(function)).parameters)

places = {{
    "Side of _core/options.py": {{*options.Side.__annotations__, "propensity"}},
    "SideTables of _core/options.py": set(options.SideTables.__annotations__),
    "Metrics.compute": written_out(Metrics.compute),
    "Evaluator": written_out(Evaluator.__init__),
    "SIDE of _core/inputs/side.py": set(SIDE),
}}
every = set(SIDE) | places["Side of _core/options.py"] | places["SideTables of _core/options.py"]
print(*(f"{{place}} lacks {{name}}" for place in places for name in sorted(every - places[place])))
"""


def test_new_side_information_takes_four_files(tmp_path):
    pytest.importorskip("narwhals", reason="narwhals is not installed")
    pytest.importorskip("pandas", reason="pandas is not installed")
    edited_copy(TOPICS, tmp_path)
    assert in_copies(USE_TOPICS, tmp_path) == [
        "3.0 3.0 3.0 3.0 3.0 3.0",
        "topical@2 needs topics= (the topics of each item, (n_items, t)), got none; type "
        "topics=topics",
    ]
    assert len({file for file, _, _ in TOPICS}) <= 4


def test_the_core_knows_no_option_of_the_command():
    files = sorted((PACKAGE / "_core").rglob("*.py"))
    assert [path.name for path in files if re.search(r"--[a-z]", path.read_text())] == []


def test_a_place_that_side_information_lacks_is_named(tmp_path):
    """One process imports each copy of the package in turn, since NumPy takes longer to import."""
    named = ["Side of", "SideTables of", "Metrics.compute", "Evaluator", "SIDE of"]
    copies = {"as it is": []}
    copies |= {place: TOPICS[:n] + TOPICS[n + 1 :] for n, place in enumerate(named)}
    for place, edits in copies.items():
        edited_copy(edits, tmp_path / place)
    as_it_is, *told = in_copies(PLACES, *(tmp_path / place for place in copies))
    assert as_it_is == ""
    for place, line in zip(named, told, strict=True):
        assert line.startswith(place)
        assert line.endswith("lacks topics")
        assert line.count("lacks") == 1
