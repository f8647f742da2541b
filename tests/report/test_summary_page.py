"""A summary as text, LaTeX, HTML, records and data frames."""

import html.parser

import numpy as np
import pytest
from compared import BACKENDS, NAN, NUMBERS, USERS, WEIGHTS

import recmetrics
from recmetrics import ArgumentError, Evaluation, Metrics, ShapeError, compare, summary

INTERVALS = "intervals by Student's t over users, corrected for skewness"
ADDITIONAL = [
    "{}: fewer than 10 users are below the highest possible value, and the sample may lack "
    "others, so the lower end of the interval is computed with an additional user of the lowest "
    "possible value",
    "{}: fewer than 10 users are above the lowest possible value, and the sample may lack others, "
    "so the upper end of the interval is computed with an additional user of the highest possible "
    "value",
]


def test_the_printed_table():
    found = summary(USERS, by=["new", "old", "new", "old", "old"])
    everyone, new, old = (
        {x.metric: f"[{x.low:.4f}, {x.high:.4f}]" for x in found if x.group == group}
        for group in (None, "new", "old")
    )
    assert str(found).splitlines() == [
        "metric         mean     95 % interval     q10  median     q90  users  left out",
        "-----------  ------  ----------------  ------  ------  ------  -----  --------",
        f"recall@10    0.5500  {everyone['recall@10']}  0.2000  0.5000  1.0000      4         1",
        f"mrr@10       0.4000  {everyone['mrr@10']}  0.0000  0.2500  1.0000      5         0",
        "coverage@10  0.3000                 -       -       -       -      -         -",
        "",
        "group  metric       mean     95 % interval     q10  median     q90  users  left out",
        "-----  ---------  ------  ----------------  ------  ------  ------  -----  --------",
        "new    recall@10  0.2000                 -  0.2000  0.2000  0.2000      1         1",
        f"       mrr@10     0.3750  {new['mrr@10']}  0.2500  0.3750  0.5000      2         0",
        f"old    recall@10  0.6667  {old['recall@10']}  0.4000  0.6000  1.0000      3         0",
        f"       mrr@10     0.4167  {old['mrr@10']}  0.0000  0.2500  1.0000      3         0",
        "",
        f"95 % {INTERVALS}",
        "no interval, one value for all lists: coverage@10",
        *(line.format("recall@10, mrr@10") for line in ADDITIONAL),
        "q10, median, q90: quantiles of the users' values",
        "left out of recall@10: 1 of 5 users has no relevant item",
    ]
    assert repr(found) == str(found)


def test_the_legend():
    found = summary({"ndcg@5": [NAN, NAN, 1.0], "mrr@5": [NAN, NAN, 0.5]}, confidence=0.9)
    assert str(found).splitlines()[-3:] == [  # one user has no interval
        "",
        "q10, median, q90: quantiles of the users' values",
        "left out: 2 of 3 users have no relevant item",
    ]
    found = summary({"ndcg@5": [1.0, 0.5]}, confidence=0.9, n_resamples=500)
    assert str(found).splitlines()[-2:] == [
        "90 % intervals by percentile bootstrap over users, 500 resamples",
        "q10, median, q90: quantiles of the users' values",
    ]
    found = summary({"ndcg@5": [1.0, 0.5, 0.0, 1.0]}, weights=[0, 1, 0, 1])
    assert str(found).splitlines()[-2:] == [
        "weighted; effective: the effective number of users, (sum of weights)^2 / sum of weights^2",
        "left out: 2 users of weight 0",
    ]
    found = summary({"ndcg@5": [1.0, 0.5]}, weights=[1, 2], noun="query")
    assert str(found).splitlines()[-1].startswith("weighted; effective: the effective number of q")
    found = summary({"hit@5": [1.0, 0.5], "coverage@5": np.array(NAN)})
    assert str(found).splitlines()[-1] == (
        "coverage@5 has no value (no user, or a catalogue without items)"
    )
    assert "left out" not in str(summary({"hit@5": [1.0, 0.5]}))


def test_the_legend_of_several_models():
    pytest.importorskip("narwhals", reason="narwhals is not installed")
    pl = pytest.importorskip("polars", reason="polars is not installed")
    columns = {"model": ["a", "a", "b", "b"], "user": ["u", "v"] * 2, "mrr": [0.5, NAN, 0.5, 1.0]}
    assert str(summary(pl.DataFrame(columns))).splitlines()[-1] == (
        "left out of mrr of a: 1 of 2 users has no relevant item"
    )


def test_levels_and_notes_beside_the_means():
    """A level has the users, weights and groups of the model, or is one number."""
    values = {"mrr@10": [1.0, 0.5, 0.0, NAN], "coverage@10": np.array(0.3)}
    levels = {
        "chance": {"mrr@10": [0.4, 0.2, 0.0, NAN], "coverage@10": np.array(0.9), "hit@1": [1.0]},
        "best": {"mrr@10": 1.0},
    }
    chosen = {"by": ["x", "x", "y", "y"], "weights": [3, 1, 1, 1]}
    found = summary(values, levels=levels, noun="session", notes=["two\nlines"], **chosen)
    assert [(r.metric, r.group, r.levels) for r in found] == [
        ("mrr@10", None, {"chance": pytest.approx((3 * 0.4 + 0.2) / 5), "best": 1.0}),
        ("coverage@10", None, {"chance": 0.9}),
        ("mrr@10", "x", {"chance": pytest.approx((3 * 0.4 + 0.2) / 4), "best": 1.0}),
        ("mrr@10", "y", {"chance": 0.0, "best": 1.0}),
    ]
    assert found.to_records()[0]["best"] == 1.0
    lines = str(found).splitlines()
    assert lines[0].split()[:4] == ["metric", "mean", "chance", "best"]
    assert lines[0].split()[-4:] == ["sessions", "effective", "left", "out"]
    assert lines[3].split()[1:5] == ["0.3000", "0.9000", "-", "-"]
    assert lines[-1] == "two lines"
    assert lines[-2] == "left out: 1 of 4 sessions has no relevant item"
    assert lines[-3] == "best: not given for coverage@10"
    with pytest.raises(ShapeError) as caught:
        summary(values, levels={"chance": {"mrr@10": [0.4, 0.2]}})
    assert str(caught.value) == (
        "metric 'mrr@10' of 'chance' has shape (2,); expected that of the values, (4,), or one "
        "number"
    )
    truth = [[1, 0, 0], [0, 1, 1]]
    metrics = ["hit@1", "recall@2"]
    scores = Metrics.compute([[3, 2, 1], [3, 2, 1]], truth, metrics)
    found = summary(scores, levels={"chance": Metrics.chance(truth, metrics)})
    assert [r.levels["chance"] for r in found] == pytest.approx([(1 / 3 + 2 / 3) / 2, 2 / 3])


@pytest.mark.parametrize(
    ("value", "line"),
    [
        (0.0, ADDITIONAL[1].format("ndcg@5")),
        (1.0, ADDITIONAL[0].format("ndcg@5")),
        (
            0.5,
            "ndcg@5: all values are equal, so both ends of the interval are computed with an "
            "additional user, of the lowest or the highest possible value",
        ),
    ],
)
def test_equal_values_are_told_from_few_on_a_side(value, line):
    weights = np.random.default_rng(0).random(30)  # whose mean is rounded
    weighted = str(summary({"ndcg@5": [value] * 30}, weights=weights)).splitlines()
    weighted_line = line.replace("10 users", "10 effective users")
    assert [each for each in weighted if "additional" in each] == [weighted_line]
    lines = str(summary({"ndcg@5": [value] * 30})).splitlines()
    assert [each for each in lines if "additional" in each] == [line]
    differences = str(compare({"a": {"ndcg@5": [0.0] * 30}, "b": {"ndcg@5": [value] * 30}}))
    of_differences = {
        0.0: "it is equal for all users, so both ends of the interval are computed with an",
        1.0: "fewer than 10 users have a difference below 0, and the sample may lack others, so",
        0.5: "it is equal for all users, so both ends of the interval are computed with an",
    }
    assert f"\ndifference of ndcg@5: {of_differences[value]} " in differences


def test_the_rows_that_count_an_additional_user_are_named():
    values = {"mrr@5": np.linspace(0.1, 0.9, 40), "hit@5": np.tile([0.0, 1.0], 20)}
    groups = ["few"] * 4 + ["many"] * 36
    for line in ADDITIONAL:
        assert line.format("mrr@5, hit@5 (only in few)") in str(summary(values, by=groups))
        pair = compare({"a": values, "b": values}, by=groups)
        assert line.format("mrr@5, hit@5 (only a in few, b in few)") in str(pair)
    found = compare({"a": values, "b": values}, levels={"best": {"hit@5": [1.0] * 40}})
    assert ADDITIONAL[0].format("hit@5 (only best)") in str(found).splitlines()
    assert found.to_dict()["widened"] == {"hit@5": ["low"]}
    of_groups = {f"mrr@{k}": np.linspace(0.1, 0.9, 40) for k in (1, 2, 3)}
    of_groups["mrr@2"][:15] = 1.0  # of the 20 users of the first group
    of_groups["mrr@3"][20:30] = 1.0  # of the 15 users of the second group
    found = summary(of_groups, by=["a"] * 20 + ["b"] * 15 + ["c"] * 5)
    assert "\n5 rows of 3 metrics: fewer than 10 users are below the" in str(found)
    del of_groups["mrr@3"]
    of_two = str(summary(of_groups, by=["a"] * 20 + ["b"] * 15 + ["c"] * 5))
    assert "\nmrr@2 (only in a, in c); mrr@1 (only in c): fewer than 10 users are below" in of_two
    many = {f"hit@{k}": values["mrr@5"][:9] for k in range(1, 7)}
    assert ADDITIONAL[0].format("6 metrics") in str(summary(many))


@pytest.mark.parametrize(
    ("noun", "nouns"),
    [("query", "queries"), ("day", "days"), ("search", "searches"), ("class", "classes")],
)
def test_the_plural_of_a_noun(noun, nouns):
    text = str(summary({"mrr@10": [1.0, 0.5, NAN]}, noun=noun))
    assert text.split()[8] == nouns
    assert text.splitlines()[-5:] == [
        f"95 % {INTERVALS.replace('users', nouns)}",
        *(
            line.replace("users", nouns).replace("user", noun).format("mrr@10")
            for line in ADDITIONAL
        ),
        f"q10, median, q90: quantiles of the {nouns}' values",
        f"left out: 1 of 3 {nouns} has no relevant item",
    ]
    values = {"mrr@10": np.array([1.0, 0.5, NAN])}
    told = f"to count {nouns} without a value as 0, give undefined='zero'"
    assert Evaluation(values, noun=noun).notes == (told,)


def test_small_numbers_keep_three_digits():
    found = summary({"m": [0.000121, 0.000123], "n": [0.5, 1.0]}, by=["x", "y"])
    assert "0.000122" in str(found)
    assert "0.7500" in str(found)
    assert "0.000121" in str(found)  # of a group, with the digits of the metric


def test_latex():
    text = summary({"a_b%": [0.5] * 2, "hit@1": [0, 1]}, by=["x&y"] * 2).to_latex()
    assert text.startswith("% \\usepackage{booktabs}\n\n\\begin{tabular}{lrrrrrr}\n\\toprule\n")
    assert "a\\_b\\% & 0.5000 & - & 0.5000 & 0.5000 & 0.5000 & 2 \\\\\n" in text
    assert "hit@1 & 0.5000 & {[}0.0000, 1.0000] & 0.0000 & 0.5000 & 1.0000 & 2 \\\\\n" in text
    assert "x\\&y & a\\_b\\% & 0.5000" in text
    assert text.count("\\end{tabular}") == 2
    assert f"95 \\% {INTERVALS} \\\\\n" in text


class Cells(html.parser.HTMLParser):
    """Collects the text of each row of all tables, and the tags that open."""

    def __init__(self):
        super().__init__()
        self.rows, self.tags, self.text = [], set(), ""

    def handle_starttag(self, tag, attrs):  # noqa: ARG002  # the parser's name
        self.tags.add(tag)
        if tag == "tr":
            self.rows.append([])
        if tag in ("td", "th"):
            self.rows[-1].append("")

    def handle_data(self, data):
        self.text += data
        if self.rows and self.rows[-1]:
            self.rows[-1][-1] += data.strip("\n")


def test_html_shows_the_table_and_escapes_names():
    name = "<b onclick=x>&amp;\x1b"
    found = summary({name: [0.25, 0.75, NAN], "hit@1": [1.0, 0.0, 1.0]}, by=["<i>", "y", "y"])
    page = Cells()
    page.feed(found._repr_html_())
    assert page.tags == {"div", "table", "thead", "tbody", "tr", "th", "td", "p", "br"}
    interval = f"[{found.records[0].low:.4f}, {found.records[0].high:.4f}]"
    assert page.rows[:2] == [
        ["metric", "mean", "95 % interval", "q10", "median", "q90", "users", "left out"],
        ["<b onclick=x>&amp;\\x1b", "0.5000", interval, "0.2500", "0.5000", "0.7500", "2", "1"],
    ]
    assert page.rows[4][:2] == ["<i>", "<b onclick=x>&amp;\\x1b"]
    assert INTERVALS in page.text
    assert "left out of <b onclick=x>&amp;\\x1b: 1 of 3 users has no value" in page.text


def test_records():
    found = summary(USERS, by=["x", "y"] * 2 + ["x"])
    first = found.to_records()[0]
    assert list(first) == ["metric", "group", *NUMBERS, "n_users", "n_undefined", "why"]
    assert first["median"] == pytest.approx(0.5)
    assert len(found) == len(found.to_records()) == 3 + 2 * 2
    assert recmetrics.Summary is type(found)
    for frozen, name in ((found, "confidence"), (found.records[0], "mean")):
        with pytest.raises(AttributeError):
            setattr(frozen, name, 0.5)
    weighted = summary(USERS, weights=WEIGHTS).to_records()
    assert all(list(record) == [*first, "n_effective"] for record in weighted)


@BACKENDS
def test_to_frame(backend):
    package = pytest.importorskip(backend, reason=f"{backend} is not installed")
    found = summary({"coverage@10": np.array(0.3), **USERS}, by=list("ababa"), weights=WEIGHTS)
    compared = compare({"a": USERS, "b": USERS})
    for each, rows in (
        (found.to_records(), found.to_frame(backend=backend)),
        (compared.to_records("means"), compared.to_frame("means", backend=backend)),
    ):
        assert isinstance(rows, package.Table if backend == "pyarrow" else package.DataFrame)
        column = rows["mean"].to_pylist() if backend == "pyarrow" else rows["mean"].to_list()
        assert column == pytest.approx([record["mean"] for record in each], nan_ok=True)
    with pytest.raises(ArgumentError, match=r"^backend must be 'pandas', 'polars' or 'pyarrow'"):
        found.to_frame(backend="duckdb")


def cells_of(frame, key):
    column = frame[key]
    return column.to_pylist() if hasattr(column, "to_pylist") else column.to_list()


@BACKENDS
def test_a_frame_of_more_records_than_its_package_looks_at(backend):
    """polars looked at the first 100, whose group is None."""
    pytest.importorskip(backend, reason=f"{backend} is not installed")
    values = {f"ndcg@{k}": [0.25, 0.75] for k in range(1, 121)}
    frame = summary(values, by=["x", "y"]).to_frame(backend=backend)
    assert sorted(cells_of(frame, "group")[120:]) == ["x"] * 120 + ["y"] * 120
    assert cells_of(frame, "mean")[:120] == [0.5] * 120


@BACKENDS
def test_a_frame_has_the_levels_that_its_first_record_lacks(backend):
    pytest.importorskip(backend, reason=f"{backend} is not installed")
    found = summary({"mrr": [0.5, 1.0], "m": [0.5, 1.0]}, levels={"chance": {"m": 0.125}})
    lacking, level = cells_of(found.to_frame(backend=backend), "chance")
    assert lacking is None or np.isnan(lacking)
    assert level == 0.125


@BACKENDS
def test_a_frame_keeps_large_integers_of_groups(backend):
    pytest.importorskip(backend, reason=f"{backend} is not installed")
    label = 2**53 + 3  # a float is even there
    frame = summary({"m": [0.5, 1.0]}, by=[label, 7]).to_frame(backend=backend)
    assert [int(cell) for cell in cells_of(frame, "group")[1:]] == [label, 7]


@BACKENDS
def test_intervals_and_periods_are_groups_of_a_frame(backend):
    pytest.importorskip(backend, reason=f"{backend} is not installed")
    pd = pytest.importorskip("pandas", reason="pandas is not installed")
    for by, names in (
        (pd.cut([1, 3], [0.5, 2.5, 4.5]), ["(0.5, 2.5]", "(2.5, 4.5]"]),
        (pd.PeriodIndex(["2026-01", "2026-02"], freq="M"), ["2026-01", "2026-02"]),
    ):
        frame = summary({"m": [0.5, 1.0]}, by=by).to_frame(backend=backend)
        assert [str(cell) for cell in cells_of(frame, "group")[1:]] == names


@pytest.mark.parametrize("width", [40, 200])
def test_a_blank_group_has_quotes_in_place_of_the_name_above(width):
    text = summary({"m": [0.5, 1.0, 0.25, 0.75]}, by=["x", "", "x", ""]).to_text(width)
    names = [line.split()[0] for line in text.splitlines() if line.startswith(("x", "''"))]
    assert names == ["x", "''"]


def test_a_blank_model_has_quotes_in_place_of_the_name_above():
    pytest.importorskip("narwhals", reason="narwhals is not installed")
    pd = pytest.importorskip("pandas", reason="pandas is not installed")
    frame = pd.DataFrame({"arm": ["a", "", "a", ""], "user": [1, 1, 2, 2], "m": [0.5, 1, 0.25, 1]})
    text = summary(frame, metrics="m", model="arm").to_text(40)
    assert [line for line in text.splitlines() if line in ("a", "''")] == ["a", "''"]


def test_a_blank_group_is_named_as_the_worst():
    results = {"a": {"m": [0.5, 0.25, 1.0, 0.5, 0.5]}, "b": {"m": [0.75, 0.5, 0.25, 0.5, 1.0]}}
    text = str(compare(results, by=["x", "x", "x", "x", ""], baseline="a"))
    row = text.splitlines()[2]
    assert row.endswith("  '' (0.5000)")  # 2.25 / 4 in x


def test_quantiles_give_way_before_a_cell_folds():
    found = recmetrics.summary({"ndcg@10": [0.1, 0.5, 0.9, 0.3] * 25})
    quantiles = "q10, median, q90: quantiles of the users' values"
    whole = 7 + 6 + 16 + 3 * 6 + 5 + 2 * 6  # the widths of the columns, and between them two blanks
    assert found.to_text(whole).splitlines()[2].endswith("100")
    assert quantiles in found.to_text(whole).splitlines()
    lines = found.to_text(whole - 1).splitlines()
    assert lines[0].split() == ["metric", "mean", "95", "%", "interval", "users"]
    assert len(lines[2].split()) == 5  # one line: the interval has two words
    assert "q10, median, q90: shown in a wider terminal" in lines


def test_a_range_that_is_not_known_is_noted_in_the_word_for_a_user():
    ranks = [1.0] * 20 + [2.0, 3.0, 4.0]  # three are above the lowest possible value
    lines = str(summary({"mean_rank": ranks}, noun="event")).splitlines()
    note = "mean_rank: no maximum is known; the additional event has the greatest value measured"
    assert note in lines
    assert [line for line in lines if "user" in line] == []
