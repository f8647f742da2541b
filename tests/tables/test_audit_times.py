"""The times of a split: every check by hand, in every library's tables, and by the command."""

import datetime
import decimal
import json
import re
from pathlib import Path

import numpy as np
import pytest
from asserts import message_of
from commands import printed, refused

from recmetrics import ArgumentError, InputError, InputTypeError

pd = pytest.importorskip("pandas", reason="pandas is not installed")
pl = pytest.importorskip("polars", reason="polars is not installed")
pa = pytest.importorskip("pyarrow", reason="pyarrow is not installed")
pytest.importorskip("narwhals", reason="narwhals is not installed")

from recmetrics.tables import TimeFinding, audit_times  # noqa: E402

# ann is tested at 20 and 50, bob at 40, cem at 30; cem and item 9 are in no training row.
TRAIN = {
    "user": ["ann", "ann", "ann", "bob", "bob", "dan"],
    "item": [1, 2, 3, 1, 4, 5],
    "time": [10, 25, 30, 40, 15, 60],
}
TRUTH = {"user": ["ann", "ann", "bob", "cem"], "item": [4, 1, 5, 9], "time": [20, 50, 40, 30]}
EXPECTED = {
    "after_own_test": TimeFinding(1, 3, 2, "ann", 2),
    "at_own_test": TimeFinding(1, 3, 1, "bob", 1),
    # 25, 30, 40 and 60 are after 20
    "after_first_test": TimeFinding(4, 6, 4, "ann", 2),
    # item 5 is tested at 40 and trained at 60, item 9 is tested alone; of the items 1, 4, 5 and 9
    "new_items": TimeFinding(2, 4, 2, "bob", 5),
    "in_both": TimeFinding(1, 4, 1, "ann", 1),
    "without_train": TimeFinding(1, 3, 1, "cem", 9),
}


def dated(table):
    """The same with dates, 1 day for each unit of time."""
    start = datetime.datetime(2020, 1, 1)
    return table | {"time": [start + datetime.timedelta(days=t) for t in table["time"]]}


FORMS = {
    "pandas": pd.DataFrame,
    "polars": pl.DataFrame,
    "pyarrow": pa.table,
    "pandas dates": lambda t: pd.DataFrame(dated(t)),
    "polars dates": lambda t: pl.DataFrame(dated(t)).with_columns(pl.col("time").cast(pl.Date)),
    "pyarrow dates": lambda t: pa.table(dated(t)),
    "pandas dates without a type": lambda t: pd.DataFrame(
        t | {"time": [each.date() for each in dated(t)["time"]]}
    ),
    "fractions": lambda t: pl.DataFrame(t).with_columns(pl.col("time") / 7),
}


@pytest.mark.parametrize("form", FORMS)
def test_every_check_by_hand(form):
    found = audit_times(FORMS[form](TRAIN), FORMS[form](TRUTH))
    assert found.findings == EXPECTED
    assert (found.n_train, found.n_truth, found.n_users, found.information) == (6, 4, 3, {})
    assert found.findings["after_own_test"].share == pytest.approx(1 / 3)


@pytest.mark.parametrize("unit", [1e3, 1e6, 1e9])
@pytest.mark.parametrize("library", ["pandas", "polars", "pyarrow"])
def test_times_of_two_units_are_told(unit, library):
    """Seconds of 1990 and of 2025 are of one unit, and places in a row, such as 5, of none."""

    def other_unit(train_times, test_times):
        train = FORMS[library]({"user": ["a", "b"], "item": [1, 2], "time": train_times})
        truth = FORMS[library]({"user": ["a", "b"], "item": [3, 4], "time": test_times})
        found = audit_times(train, truth)
        return found.findings.get("other_unit"), "such as seconds and milliseconds" in str(found)

    seconds = [631_000_000, 631_000_060]
    later = [1_736_000_000, 1_736_000_060]
    assert other_unit(seconds, later) == (None, False)
    assert other_unit([5, 6], [5 * int(unit), 6 * int(unit)]) == (None, False)
    scaled = [int(unit) * time for time in later]
    assert other_unit(seconds, scaled) == (TimeFinding(2, 2, 2, "a", 3), True)
    assert other_unit(scaled, seconds) == (TimeFinding(2, 2, 2, "a", 3), True)


@pytest.mark.parametrize(
    ("train_times", "test_times", "are_of_two_units"),
    [
        ([20200131, 20200201], [1_580_500_000, 1_580_600_000], True),
        ([20200131235959, 20200201000000], [1_580_500_000, 1_580_600_000], True),
        ([20200131, 20200201], [20200301, 20200302], False),
        ([20_000_000, 20_500_000], [300_000_000, 400_000_000], False),  # seconds, say, of a study
        (["1970-01-01 00:26:20", "1970-01-20"], ["2020-01-31", "2020-02-01"], True),
        (["1970-01-01", "1970-01-20"], ["1970-01-31", "1970-02-01"], False),
        (["1970-01-01", "1970-02-01"], ["2020-01-31", "2020-02-01"], False),
        (["1969-12-31", "1970-01-20"], ["2020-01-31", "2020-02-01"], False),
    ],
)
def test_days_as_numbers_and_dates_of_another_unit_are_told(
    train_times, test_times, are_of_two_units
):
    """Dates are all of January 1970 where numbers of seconds were read as nanoseconds."""

    def table(items, times):
        times = pd.to_datetime(times, format="mixed") if isinstance(times[0], str) else times
        return pd.DataFrame({"user": ["a", "b"], "item": items, "time": times})

    tables = table([1, 2], train_times), table([3, 4], test_times)
    for train, truth in (tables, tables[::-1]):
        assert ("other_unit" in audit_times(train, truth).findings) is are_of_two_units


def test_times_of_zones_are_compared_as_they_are():
    def zoned(table, zone):
        return FORMS["pandas dates"](table).assign(
            time=lambda f: f.time.dt.tz_localize("UTC").dt.tz_convert(zone)
        )

    assert audit_times(zoned(TRAIN, "Asia/Tokyo"), zoned(TRUTH, "UTC")).findings == EXPECTED


def found_with(*times):
    """The findings for a user who is trained, then tested, at these times; each a column."""
    train = pd.DataFrame({"user": ["a"], "item": [1], "time": times[0]})
    truth = pd.DataFrame({"user": ["a"], "item": [2], "time": times[1]})
    return {*audit_times(train, truth).findings} - {"new_items"}


NOW = 1_700_000_000_000_000_000  # in nanoseconds; float64 has multiples of 256 here
INT64 = 2**63 - 1


@pytest.mark.parametrize(
    ("earlier", "later"),
    [
        (np.array([NOW]), np.array([NOW + 1])),
        (np.array([INT64 - 1]), np.array([INT64], np.uint64)),
        (np.array([INT64 - 1]), np.array([float(2**63)])),
        (np.array([float(2**53)]), np.array([2**53 + 1])),
        ([decimal.Decimal(2**53)], [decimal.Decimal(2**53 + 1)]),
        (np.array([NOW], "datetime64[ns]"), np.array([NOW + 1], "datetime64[ns]")),
        (np.array([-1], "datetime64[ns]"), np.array([0], "datetime64[us]")),
        (np.array(["2200-01-01"], "datetime64[ns]"), np.array(["3000-01-01"], "datetime64[s]")),
        (np.array([2**53], "datetime64[us]"), np.array([2**53 + 1], "datetime64[us]")),
    ],
)
def test_times_are_compared_exactly(earlier, later):
    if isinstance(earlier, list):
        kind = pd.ArrowDtype(pa.decimal128(38, 0))
        earlier, later = pd.Series(earlier, dtype=kind), pd.Series(later, dtype=kind)
    assert found_with(earlier, later) == set()
    assert found_with(later, earlier) == {"after_own_test", "after_first_test"}
    assert found_with(later, later) == {"at_own_test"}


def test_a_training_row_at_the_first_time_of_the_test_is_not_after_it():
    train = pd.DataFrame({"user": [1, 2, 2], "item": [1, 1, 2], "time": [20, 20, 21]})
    truth = pd.DataFrame({"user": [1, 2, 2], "item": [2, 3, 4], "time": [20, 30, 40]})
    found = audit_times(train, truth)
    assert found.information["after_first_test"] == TimeFinding(1, 3, 1, 2, 2)  # the row at 21
    assert found.findings["at_own_test"] == TimeFinding(1, 2, 1, 1, 1)


@pytest.mark.parametrize("form", ["pandas", "polars", "pyarrow"])
@pytest.mark.parametrize("lacking", ["train", "truth"])
@pytest.mark.parametrize("is_date", [True, False])
def test_a_time_zone_in_one_table_alone_is_refused(form, lacking, is_date):
    def table(name, zone):
        times = pd.Series(dated(TRAIN if name == "train" else TRUTH)["time"])
        if zone:
            times = times.dt.tz_localize(zone)
        elif is_date:
            times = times.dt.date
        frame = pd.DataFrame(TRAIN if name == "train" else TRUTH).assign(time=times)
        if form == "polars":
            return pl.from_pandas(frame)
        return pa.table(frame) if form == "pyarrow" else frame

    zone = "Asia/Tokyo"
    tables = {name: table(name, None if name == lacking else zone) for name in ("train", "truth")}
    told = message_of(InputTypeError, lambda: audit_times(*tables.values()))
    other = "truth" if lacking == "train" else "train"
    assert told.startswith(
        f"column 'time': {other} has the time zone {zone} and {lacking} has none, expected a time "
        f"zone in both or in none; if {lacking} has the times of {zone}, type {lacking}"
    )
    names = {**tables, "pandas": pd, "polars": pl, "pyarrow": pa}
    exec(told.partition(", type ")[2], names)
    assert audit_times(names["train"], names["truth"]).findings == EXPECTED


@pytest.mark.parametrize("form", ["polars", "pyarrow"])
@pytest.mark.parametrize("unit", ["ms", "us", "ns"])
def test_advice_on_a_time_zone_is_followed_by_every_unit(form, unit):
    """Nanoseconds hold no year 9999, and microseconds do not tell the two times apart."""
    times = [10**18, 10**18 + 1]
    if unit != "ns":
        times = pl.Series(["9999-12-30", "9999-12-31"]).str.to_date()
    times = pl.Series(times).cast(pl.Datetime(unit))
    train = pl.DataFrame({"user": 1, "item": 1, "time": times[1:]})
    truth = pl.DataFrame({"user": 1, "item": 2, "time": times[:1].dt.replace_time_zone("UTC")})
    if form == "pyarrow":
        train, truth = pa.table(train), pa.table(truth)
    told = message_of(InputTypeError, lambda: audit_times(train, truth))
    names = {"train": train, "polars": pl, "pyarrow": pa}
    exec(told.partition(", type ")[2], names)
    assert audit_times(names["train"], truth).findings["after_own_test"].n == 1


def test_it_prints_as_a_report():
    assert str(audit_times(pd.DataFrame(TRAIN), pd.DataFrame(TRUTH))).splitlines() == [
        "6 training rows, 4 test rows of 3 users",
        "  users with training rows after their earliest test row: 1 of 3 (33.3%), 2 rows, "
        "first (user 'ann', item 2)",
        "  users with training rows at the time of their earliest test row: 1 of 3 (33.3%), "
        "first (user 'bob', item 1)",
        "  training rows after the earliest test row of all users: 4 of 6 (66.7%), "
        "first (user 'ann', item 2)",
        "  test items that have no training row up to the time of their test row: 2 of 4 (50.0%), "
        "first (user 'bob', item 5)",
        "  test rows whose user and item are also a training row: 1 of 4 (25.0%), "
        "first (user 'ann', item 1)",
        "  users without a training row: 1 of 3 (33.3%), first (user 'cem', item 9)",
    ]


def test_the_last_row_of_each_user_is_no_finding():
    train = pd.DataFrame({"user": [1, 2, 2], "item": [1, 1, 2], "time": [1, 5, 9]})
    found = audit_times(train, pd.DataFrame({"user": [1, 2], "item": [2, 1], "time": [8, 10]}))
    assert list(found.findings) == ["new_items", "in_both"]
    assert found.information == {"after_first_test": TimeFinding(1, 3, 1, 2, 2)}
    assert str(found).endswith(
        "item 2)\n    no finding: the test has the last rows of its users, and others act later "
        "(the model knows what they do, unless the split is at one time)"
    )
    assert repr(found) == str(found)
    cells = re.findall("<t[hd][^>]*>(.*?)</t[hd]>", found._repr_html_())
    lines = zip(cells[2::2], cells[3::2], strict=True)
    assert [f"{meaning}: {fact}" for meaning, fact in lines] == [
        line.strip() for line in str(found).splitlines()[1:]
    ]
    drawn = audit_times(train, pd.DataFrame({"user": [1, 2], "item": [2, 1], "time": [8, 7]}))
    assert list(drawn.findings)[:2] == ["after_own_test", "after_first_test"]
    assert (drawn.information, "no finding" in str(drawn)) == ({}, False)


def test_the_last_rows_of_each_user_are_no_finding():
    train = pd.DataFrame({"user": [1, 2, 2], "item": [1, 1, 2], "time": [1, 5, 9]})
    truth = pd.DataFrame({"user": [1, 1, 2], "item": [2, 3, 3], "time": [8, 9, 10]})
    found = audit_times(train, truth)
    assert found.information == {"after_first_test": TimeFinding(1, 3, 1, 2, 2)}
    # A user who is in no test acts after the first one: the split is at one time, and leaks.
    other = pd.DataFrame({"user": [3], "item": [1], "time": [9]})
    found = audit_times(pd.concat([train, other]), truth)
    assert found.findings["after_first_test"] == TimeFinding(2, 4, 2, 2, 2)
    assert found.information == {}


def test_a_fair_split_has_nothing_odd():
    train = pd.DataFrame({"u": [1, 1, 2], "i": [1, 2, 2], "t": [1.0, 2.0, 3.0]})
    truth = pd.DataFrame({"u": [1, 2], "i": [2, 1], "t": [4.0, 5.0]}).query("u == 2")
    found = audit_times(train, truth, user="u", item="i", time="t")
    assert found.findings == {}
    at_once = truth.assign(i=3, t=3.0)  # an item that is trained and tested at the same time
    both = audit_times(pd.concat([train, at_once]), at_once, user="u", item="i", time="t")
    assert list(both.findings) == ["at_own_test", "in_both"]
    assert str(found) == "3 training rows, 1 test row of 1 user: nothing odd"
    assert audit_times(train, truth[:0], user="u", item="i", time="t").n_users == 0


def test_rows_of_an_item_after_its_first_training_row_are_not_new():
    train = pd.DataFrame({"user": ["a"], "item": [1], "time": [10]})
    truth = pd.DataFrame({"user": ["b", "b", "b"], "item": [1, 1, 2], "time": [5, 20, 20]})
    found = audit_times(train, truth).findings["new_items"]
    assert found == TimeFinding(2, 2, 2, "b", 1)  # both items; the first and the last row


@pytest.mark.parametrize("library", [pd, pl, pa], ids=lambda library: library.__name__)
@pytest.mark.parametrize(
    "texts",
    [
        [str(time) for time in TRAIN["time"]],
        [f"{time / 4}" for time in TRAIN["time"]],
        [f"2024-01-{day:02} 10:30:00" for day in (10, 25, 30, 4, 15, 6)],
    ],
)
def test_times_of_text_are_converted_as_the_error_says(library, texts):
    make = library.table if library is pa else library.DataFrame
    names = {"pandas": pd, "polars": pl, "pyarrow": pa, "train": make({**TRAIN, "time": texts})}
    told = message_of(InputTypeError, lambda: audit_times(names["train"], make(TRUTH)))
    exec(told.partition("such as by ")[2], names)
    converted = names["train"]["time"].to_numpy().astype(str)
    if "-" in texts[0]:
        assert [time[:16] for time in converted] == [t[:16].replace(" ", "T") for t in texts]
    else:
        assert converted.astype(float).tolist() == list(map(float, texts))


@pytest.mark.parametrize("library", [pd, pl, pa], ids=lambda library: library.__name__)
def test_periods_and_durations_are_converted_as_the_error_says(library):
    days = [datetime.timedelta(days=t) for t in TRAIN["time"]]
    make = library.table if library is pa else library.DataFrame
    trains = {"durations": make({**TRAIN, "time": days})}
    if library is pd:
        trains["periods"] = make(dated(TRAIN)).assign(time=lambda f: f.time.dt.to_period("D"))
    for noun, train in trains.items():
        names = {"polars": pl, "pyarrow": pa, "train": train}
        told = message_of(InputTypeError, lambda train=train: audit_times(train, make(TRUTH)))
        assert f"holds {noun}, expected numbers or dates" in told
        exec(told.partition("such as by ")[2], names)
        times = pd.Series(names["train"]["time"].to_numpy())
        assert ((times - times[0]) / (times[1] - times[0])).tolist() == [
            0,
            1,
            4 / 3,
            2,
            1 / 3,
            10 / 3,
        ]


def test_errors_say_what_to_type():
    train, truth = pd.DataFrame(TRAIN), pd.DataFrame(TRUTH)

    def said(error, *tables, **columns):
        return message_of(error, lambda: audit_times(*tables, **columns))

    assert "train has no column 'time'" in said(InputError, train.drop(columns="time"), truth)
    assert "truth is of type int, expected a pandas" in said(InputTypeError, train, 3)
    assert said(InputTypeError, train, pl.DataFrame(TRUTH)).startswith(
        "train is a pandas table and truth"
    )
    assert "time must" not in said(ArgumentError, train, truth, time=3)
    text = said(InputTypeError, train.astype({"time": str}), truth)
    assert "holds text, expected numbers or dates" in text
    assert "such as by train = train.assign(**{'time': train['time'].astype(int)})" in text
    objects = said(InputTypeError, train.assign(time=[(1,)] * 6), truth)
    assert objects.startswith("train, column 'time' holds objects, expected numbers or dates; con")
    # As from a database: read as dates, they would not stand beside the numbers of the truth.
    decimals = train.assign(time=[*map(decimal.Decimal, train["time"])])
    code = re.search("such as by train = (.+)$", said(InputTypeError, decimals, truth))[1]
    assert audit_times(eval(code, {"train": decimals}), truth) == audit_times(train, truth)
    mixed = said(InputTypeError, train, pd.DataFrame(dated(TRUTH)))
    assert mixed.startswith("column 'time': train holds Int64, truth holds Datetime")
    for missing in (np.nan, None):
        told = said(InputError, train.assign(time=[1, 2, 3, 4, 5, missing]), truth)
        assert "column 'time': row 5 (counted from 0) is null or NaN" in told
    none = pd.DataFrame(dated(TRAIN)).assign(time=lambda f: f.time.where(f.time.dt.day != 11))
    assert "expected a time in every row" in said(InputError, none, pd.DataFrame(dated(TRUTH)))


# --- The command ---------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "suffix, form", [(".csv", "polars"), (".csv", "polars dates"), (".parquet", "pandas dates")]
)
def test_the_command_prints_the_same(tmp_path, capsys, suffix, form):
    files = [tmp_path / f"{name}{suffix}" for name in ("train", "truth")]
    for file, table in zip(files, (TRAIN, TRUTH), strict=True):
        frame = FORMS[form](table)
        frame = pl.from_pandas(frame) if isinstance(frame, pd.DataFrame) else frame
        frame = frame.rename({"time": "at"})
        frame.write_csv(file) if suffix == ".csv" else frame.write_parquet(file)
    out = printed(capsys, "audit-times", *files, "--time", "at")
    assert out.splitlines()[1].startswith(
        "  users with training rows after their earliest test row"
    )
    document = json.loads(printed(capsys, "audit-times", *files, "--time", "at", "--json"))
    got = {
        name: (each["n"], each["of"], each["rows"]) for name, each in document["findings"].items()
    }
    assert got == {name: (each.n, each.of, each.rows) for name, each in EXPECTED.items()}


def test_the_command_folds_at_the_width_of_a_terminal(tmp_path, capsys, monkeypatch):
    monkeypatch.chdir(tmp_path)
    for name, table in {"train.csv": TRAIN, "truth.csv": TRUTH}.items():
        pl.DataFrame(table).write_csv(name)
    wide = printed(capsys, "audit-times", "train.csv", "truth.csv")
    monkeypatch.setenv("COLUMNS", "60")
    monkeypatch.setattr("sys.stdout.isatty", lambda: True)
    narrow = printed(capsys, "audit-times", "train.csv", "truth.csv")
    assert narrow.split() == wide.split()
    assert max(map(len, narrow.splitlines())) <= 60 < max(map(len, wide.splitlines()))


def test_the_command_refuses_what_it_cannot_read(tmp_path, capsys, monkeypatch):
    monkeypatch.chdir(tmp_path)
    pl.DataFrame(TRAIN).write_csv("train.csv")
    pl.DataFrame(TRUTH).with_columns(pl.lit("soon").alias("time")).write_csv("soon.csv")
    assert "give the files TRAIN TRUTH" in refused(capsys, "audit-times", "train.csv")
    both = ("audit-times", "train.csv", "soon.csv")
    expected = "as time; expected a number or a date such as 2020-01-31"
    assert f"holds 'soon' {expected}" in refused(capsys, *both)
    assert "no column 'at'" in refused(capsys, *both, "--time", "at")
    assert "--user and --item have the same column" in refused(capsys, *both, "--user", "item")
    write_times("gap.csv", 10, "", 30)
    told = refused(capsys, "audit-times", "train.csv", "gap.csv")
    assert told.endswith("'gap.csv', line 3: holds '' as time; expected a number")


@pytest.mark.parametrize("rating", ["", "5\t"])
def test_a_header_above_lines_of_numbers(rating, tmp_path, capsys, monkeypatch):
    monkeypatch.chdir(tmp_path)
    lines = {"train.data": f"1\t1\t{rating}10\n1\t2\t{rating}30\n"}
    lines["test.data"] = f"1\t3\t{rating}20\n"
    for name, text in lines.items():
        Path(name).write_text(text)
    told = refused(capsys, "audit-times", *lines)
    header = re.search("such as '(.+)'$", told)[1].encode().decode("unicode_escape")
    for name, text in lines.items():
        Path(name).write_text(f"{header}\n{text}")
    assert "after their earliest test row: 1 of 1" in printed(capsys, "audit-times", *lines)


def write_times(name, *times):
    rows = [f"u,{item},{time}" for item, time in zip("abc", times, strict=False)]
    Path(name).write_text("\n".join(["user,item,time", *rows, ""]))


@pytest.mark.parametrize("date", ["01/02/2020", "03/21/2020", "01-02-2020"])
@pytest.mark.parametrize("line", [2, 3])
def test_only_iso_dates_are_read(line, date, tmp_path, capsys, monkeypatch):
    """The first of them would be the second of January, or the first of February."""
    monkeypatch.chdir(tmp_path)
    dates = ["2020-01-02", "2020-01-03"]
    write_times("train.csv", *dates)
    dates[line - 2] = date
    write_times("truth.csv", *dates)
    assert refused(capsys, "audit-times", "train.csv", "truth.csv") == (
        f"TRUTH 'truth.csv', line {line}: holds {date!r} as time; expected a date such as "
        "2020-01-31"
    )


@pytest.mark.parametrize("sign", "-/.")
def test_dates_begin_with_the_year(sign, tmp_path, capsys, monkeypatch):
    monkeypatch.chdir(tmp_path)
    write_times("train.csv", f"2020{sign}01{sign}02", f"2020{sign}02{sign}01")
    write_times("truth.csv", f"2020{sign}01{sign}03")
    out = printed(capsys, "audit-times", "train.csv", "truth.csv")
    # The second training row, of the first of February, is after the test row of the user.
    assert "training rows after their earliest test row: 1 of 1" in out


def test_nanoseconds_of_a_csv_keep_their_order(tmp_path, capsys, monkeypatch):
    monkeypatch.chdir(tmp_path)
    write_times("train.csv", 1_600_000_000_000_000_001, 1_600_000_000_000_000_003)
    write_times("truth.csv", 1_600_000_000_000_000_002)
    argv = ("audit-times", "train.csv", "truth.csv", "--json")
    document = json.loads(printed(capsys, *argv))
    assert document["findings"]["after_own_test"]["rows"] == 1
    assert "at_own_test" not in document["findings"]


def test_nanoseconds_of_dates_in_a_csv_keep_their_order(tmp_path, capsys, monkeypatch):
    monkeypatch.chdir(tmp_path)
    noon = "2024-01-01T12:00:00.000000"
    write_times("train.csv", f"{noon}100", f"{noon}300")
    write_times("truth.csv", f"{noon}200")
    document = json.loads(printed(capsys, "audit-times", "train.csv", "truth.csv", "--json"))
    assert document["findings"]["after_own_test"]["rows"] == 1
    assert "at_own_test" not in document["findings"]
    write_times("train.csv", "1600-01-01", "2020-01-03")  # beyond what nanoseconds can say
    write_times("truth.csv", "2020-01-02")
    document = json.loads(printed(capsys, "audit-times", "train.csv", "truth.csv", "--json"))
    assert document["findings"]["after_own_test"]["rows"] == 1


def test_no_date_of_a_csv_is_taken_for_another(tmp_path, capsys, monkeypatch):
    """.NET writes 7 decimals; int64 has such fractions of the years 1677 to 2262."""
    monkeypatch.chdir(tmp_path)
    last = "9999-12-31T23:59:59.9999999"
    write_times("train.csv", "2020-01-01T00:00:00.0000001", last)
    write_times("truth.csv", "2020-06-01T00:00:00.0000000")
    assert refused(capsys, "audit-times", "train.csv", "truth.csv") == (
        f"TRAIN 'train.csv', line 3: holds {last!r} in a file of nanoseconds; expected years from "
        "1678 to 2261, or 6 decimals of a second in all rows"
    )
    for first, last in (
        ("2020-01-01T00:00:00.0000000", "9999-12-31T23:59:59.9999990"),
        ("1600-01-01T00:00:00.0000000Z", "9999-12-31T00:00:00Z"),
    ):
        write_times("train.csv", first, last)
        zone = "Z" if last.endswith("Z") else ""
        write_times("truth.csv", f"2020-06-01T00:00:00.0000001{zone}")
        document = json.loads(printed(capsys, "audit-times", "train.csv", "truth.csv", "--json"))
        assert document["findings"]["after_own_test"]["rows"] == 1


def test_times_of_a_csv_may_be_fractions(tmp_path, capsys, monkeypatch):
    monkeypatch.chdir(tmp_path)
    write_times("train.csv", 10.25, 10.75)
    write_times("truth.csv", 10.5)
    document = json.loads(printed(capsys, "audit-times", "train.csv", "truth.csv", "--json"))
    assert document["findings"]["after_own_test"]["rows"] == 1


def test_a_zone_in_some_times_of_files_alone_is_refused(tmp_path, capsys, monkeypatch):
    monkeypatch.chdir(tmp_path)
    write_times("zone.csv", "2020-01-01T10:00:00Z", "2020-01-01T12:00:00+01:00")
    write_times("none.csv", "2020-01-01T11:00:00", "2020-01-01T11:30:00")
    write_times("both.csv", "2020-01-01T11:00:00Z", "2020-01-01T11:30:00")
    write_times("day.csv", "2020-01-01", "2020-01-02")
    assert refused(capsys, "audit-times", "zone.csv", "none.csv") == (
        "TRUTH 'none.csv', column 'time' has no time zone, and TRAIN 'zone.csv' has one; expected "
        "a zone in both files or in none: write it behind each time, such as 2020-01-31T12:00:00Z"
    )
    assert refused(capsys, "audit-times", "none.csv", "zone.csv").startswith("TRAIN 'none.csv'")
    assert refused(capsys, "audit-times", "both.csv", "zone.csv") == (
        "TRAIN 'both.csv', line 3: has no time zone in '2020-01-01T11:30:00', where "
        "the first row has one; expected a zone such as Z or +01:00 behind each time, or behind "
        "none"
    )
    write_times("other.csv", "2020-01-01T11:00:00", "2020-01-01T11:30:00+02:00")
    assert "line 3: has a time zone in" in refused(capsys, "audit-times", "zone.csv", "other.csv")
    for files in (("zone.csv", "zone.csv"), ("none.csv", "day.csv")):
        assert "2 training rows" in printed(capsys, "audit-times", *files)


@pytest.mark.parametrize("times", ["1577836800", "1577836800.0"])
def test_the_command_says_how_to_make_dates_of_a_file_of_numbers(
    times, capsys, monkeypatch, tmp_path
):
    monkeypatch.chdir(tmp_path)
    Path("train.csv").write_text(f"user,item,time\na,1,{times}\n")
    Path("test.csv").write_text("user,item,time\na,2,2019-12-31T23:00:00\n")
    message = refused(capsys, "audit-times", "train.csv", "test.csv")
    told = r"type (.+) \(TRAIN train.csv; in Python, after (.+); then (.+), and give that file\)$"
    change, first, last = re.search(told, message).groups()
    exec("; ".join((first, change, last)), {"polars": pl})
    argv = ("audit-times", "rows_of_train.csv", "test.csv", "--json")
    audit = json.loads(printed(capsys, *argv))
    assert audit["findings"]["after_own_test"]["n"] == 1
