"""Cells of frames that name users and groups: what Python cannot tell apart or hash is refused."""

import datetime

import pytest
from asserts import message_of

import recmetrics
from recmetrics import InputError, InputTypeError

polars = pytest.importorskip("polars", reason="polars is not installed")
pytest.importorskip("pandas", reason="pandas is not installed")
pytest.importorskip("narwhals", reason="narwhals is not installed")
pytest.importorskip("pyarrow", reason="pyarrow is not installed")

HOURS = [datetime.datetime(2020, 10, 25, hour, 30, tzinfo=datetime.UTC) for hour in (0, 1)]
IN_UTC = polars.DataFrame(
    {"hour": 2 * HOURS, "model": ["old", "old", "new", "new"], "mrr": [0.0, 0.25, 1.0, 0.25]}
)
# The clocks go back between these hours, so both are 2:30.
IN_PARIS = IN_UTC.with_columns(polars.col("hour").dt.convert_time_zone("Europe/Paris"))
DIFFERENCE = ((1.0 - 0.0) + (0.25 - 0.25)) / 2


def difference(frame):
    [only] = recmetrics.compare(frame, baseline="old").differences
    return only.difference, only.n_users


def test_hours_where_the_clocks_go_back():
    assert difference(IN_UTC) == (DIFFERENCE, 2)
    assert difference(IN_PARIS.to_pandas()) == (DIFFERENCE, 2)  # whose times keep the offset
    message = message_of(InputError, difference, IN_PARIS)
    assert message.startswith("results: the column 'hour' holds different times that are equal in")
    of_arrow = IN_PARIS.select("model", "hour", "mrr").to_arrow()
    code = message_of(InputError, difference, of_arrow).rpartition("type ")[2]
    assert difference(eval(code, {"frame": of_arrow})) == (DIFFERENCE, 2)
    of_one = IN_PARIS.filter(model="old").drop("model").with_columns(user=polars.Series([1, 2]))
    message = message_of(InputError, recmetrics.summary, of_one, by="hour")
    assert message.startswith("values: the column 'hour' holds different times")


@pytest.mark.parametrize("dtype", [polars.Datetime("ns"), polars.Duration("ns")])
def test_times_that_differ_by_a_nanosecond(dtype):
    hours = polars.Series([0, 1, 0, 1]).cast(dtype)
    frame = IN_UTC.with_columns(hour=hours)
    code = message_of(InputError, difference, frame).rpartition("type ")[2]
    assert difference(eval(code, {"frame": frame, "polars": polars})) == (DIFFERENCE, 2)
    microseconds = IN_UTC.with_columns(hour=1000 * polars.Series([0, 1, 0, 1])).cast(
        {"hour": dtype}
    )
    assert difference(microseconds) == (DIFFERENCE, 2)


@pytest.mark.parametrize("convert", ["clone", "to_pandas", "to_arrow"])
def test_collections_name_nobody(convert):
    frame = getattr(IN_UTC.with_columns(tags=polars.Series([["a"], ["b"], [], []])), convert)()
    message = message_of(InputTypeError, difference, frame)
    assert message.startswith("results: the column 'tags' holds collections, which name no user")
    code = message.rpartition("type ")[2]
    assert difference(eval(code, {"frame": frame})) == (DIFFERENCE, 2)
