"""Results that compare reads: arrays, evaluators and data frames; what it refuses."""

import enum
import math
import sys
import types

import numpy as np
import pytest
from asserts import assert_equal_records, message_of
from compared import BACKENDS, NEW, OLD, SMALL, frame, maker, only

import recmetrics
from recmetrics import (
    ArgumentError,
    Evaluation,
    Evaluator,
    InputError,
    InputTypeError,
    Metrics,
    ShapeError,
    StreamEvaluator,
    compare,
)


@BACKENDS
def test_rows_of_frames_are_matched_by_user(backend):
    users = ["u", "v", "w", "x", "y", "z"]
    old = frame(backend, users, OLD)
    new = frame(backend, users[::-1], NEW[::-1])
    expected = compare({"old": {"hit@1": OLD}, "new": {"hit@1": NEW}}, rng=0)
    assert_equal_records(only(compare({"old": old, "new": new}, rng=0)), only(expected))
    frames = {
        "a": frame(backend, users[:3], [1, None, 2]),
        "b": frame(backend, users[:3], [1, 2, 3]),
    }
    found = only(compare(frames))  # integers, one of which is missing
    assert (found.difference, found.n_users, found.wins) == (0.5, 2, 1)


def test_na_among_the_ids_in_an_index():
    pytest.importorskip("narwhals", reason="narwhals is not installed")
    pd = pytest.importorskip("pandas", reason="pandas is not installed")
    users = pd.Index([pd.NA, 1, 2, 3, 4, 5], dtype="Int64")
    frames = {
        "old": pd.DataFrame({"hit@1": OLD}, users),
        "new": pd.DataFrame({"hit@1": NEW}, users)[::-1],
    }
    assert_equal_records(
        only(compare(frames)), only(compare({"old": {"hit@1": OLD}, "new": {"hit@1": NEW}}))
    )


@pytest.mark.parametrize("name", ["arrays", "frame"])
def test_the_row_numbers_of_arrays_are_ids(name):
    """An array is in the order of its rows, and a frame beside it may have users in any order."""
    order = [3, 0, 5, 1, 4, 2]
    results = {
        "arrays": {"hit@1": OLD, "coverage@1": np.array(0.5)},
        "frame": frame("pandas", order, [NEW[i] for i in order]).assign(**{"coverage@1": 0.25}),
    }
    text = frame("polars", list(map(str, order)), [NEW[i] for i in order])
    for of_frame in (results["frame"], text):
        models = {name: results[name], **results, "frame": of_frame}
        found = only(compare(models, baseline="arrays", metrics="hit@1"))
        differences = np.subtract(NEW, OLD)
        assert found.difference == pytest.approx(differences.mean())
        assert found.effect_size == pytest.approx(differences.mean() / differences.std(ddof=1))
    chance = {"hit@1": [0.0, 0.2, 0.4, 0.6, 0.8, 1.0]}
    groups = dict(zip(range(6), "xxxyyy", strict=True))
    frames = [results["frame"], frame("pandas", order, OLD)]
    found = compare(
        dict(zip("ab", frames, strict=True)),
        metrics="hit@1",
        levels={"chance": chance},
        by=[groups[user] for user in order],
    )
    assert [mean.mean for mean in found.means if mean.model == "chance" and mean.group] == [
        pytest.approx((0.0 + 0.2 + 0.4) / 3),
        pytest.approx((0.6 + 0.8 + 1.0) / 3),
    ]


@pytest.mark.parametrize("name", ["first", "level"])
def test_the_order_is_that_of_the_first_result(name):
    """Groups, weights and ids of the rows of arrays keep their places beside a data frame."""
    order = [3, 0, 5, 1, 4, 2]
    groups = [*"xxxyyy"]
    weights = np.arange(1.0, 7.0)
    shuffled = frame("pandas", order, [NEW[i] for i in order])
    models = {"a": {"hit@1": OLD}, "b": {"hit@1": NEW}}
    levels = {}
    if name == "first":
        models["b"] = shuffled
    else:
        levels = {"best": shuffled}
    found = compare(models, levels=levels, by=groups, weights=weights)
    plain = compare({"a": {"hit@1": OLD}, "b": {"hit@1": NEW}}, by=groups, weights=weights)
    means = [mean for mean in found.means if mean.model != "best"]
    assert [mean.mean for mean in means] == pytest.approx([mean.mean for mean in plain.means])
    users = [*"abcdef"]
    assert (
        found.movers("hit@1", 2, users=users).gains == plain.movers("hit@1", 2, users=users).gains
    )


def test_the_weights_of_a_system_keep_their_users_beside_a_level_in_a_data_frame():
    rng = np.random.default_rng(0)
    truth = rng.random((40, 30)) < 0.2
    first, second = (
        recmetrics.Metrics.evaluate(rng.random((40, 30)), truth, "recall@10", convention="implicit")
        for _ in range(2)
    )
    order = rng.permutation(40)
    values = first.values["recall@10"]
    level = maker("pandas")({"user": order, "recall@10": values[order]})
    found = compare({"a": first, "b": second}, levels={"level": level})
    expected = compare({"a": first, "b": second})
    assert only(found).difference == only(expected).difference


def test_levels_in_arrays_beside_ids_of_text_are_refused():
    """Nobody knows whose values they are; as for models in arrays."""
    frames = {
        name: frame("pandas", [*"uvwxyz"], column) for name, column in (("a", OLD), ("b", NEW))
    }
    expected = (
        "{} has no ids of users and {} has; expected ids in both, or the row numbers 0 to 5 as "
        "ids: for arrays, type pandas.DataFrame({{'user': users, **{}}}), with the ids of their "
        "rows"
    )
    arrays = {"hit@1": OLD}
    levels = {"chance": arrays}
    message = message_of(InputError, compare, frames, levels=levels, by=[*"pqpqpq"])
    assert message == expected.format("'chance'", "'a'", "level")
    message = message_of(InputError, recmetrics.summary, frames["a"], levels=levels)
    assert message == expected.format("'chance'", "values", "level")

    levels = {"chance": frames["a"]}
    models = {"a": arrays, "b": {"hit@1": NEW}}
    message = message_of(InputError, compare, models, levels=levels)
    assert message == expected.format("'a'", "'chance'", "values")
    message = message_of(InputError, recmetrics.summary, arrays, levels=levels)
    assert message == expected.format("values", "'chance'", "values")

    several = {"a": frames["a"].assign(session=0), "b": frames["b"].assign(session=0)}
    message = message_of(InputError, compare, several, levels={"chance": arrays})
    assert message.endswith(
        ": give 'chance' as a data frame with the columns 'user', 'session', too"
    )


def test_levels_without_values_of_users_need_no_ids():
    frames = {
        name: frame("pandas", [*"uvwxyz"], column).assign(**{"coverage@1": 0.5})
        for name, column in (("a", OLD), ("b", NEW))
    }
    levels = {"random": {"coverage@1": np.array(0.75)}}
    assert [m.mean for m in compare(frames, levels=levels).means if m.model == "random"] == [0.75]
    levels["best"] = {"hit@1": 1.0}
    found = recmetrics.summary(frames["a"], levels=levels)
    assert [mean.levels for mean in found] == [{"best": 1.0}, {"random": 0.75}]


def means_of_level(values, level, results=None, **options):
    """The mean of a level in each group, as ``summary`` shows it, the same as ``compare`` does."""
    results = {"a": values, "b": values} if results is None else results
    found = compare(results, levels={"level": level}, **options)
    compared = {mean.group: mean.mean for mean in found.means if mean.model == "level"}
    for mean in recmetrics.summary(values, levels={"level": level}, **options):
        assert mean.levels == {"level": pytest.approx(compared[mean.group])}
    return compared


@BACKENDS
def test_levels_in_frames_are_matched_by_id(backend):
    """The level lacks y, who has no value, and the column of groups; it has z more."""
    columns = {"user": [*"vwxy"], "segment": [*"ppqq"], "hit@1": [0.1, 0.2, 0.3, None]}
    values = maker(backend)(columns)
    level = frame(backend, [*"zxwv"], [9.0, 3.0, 2.0, 1.0])
    means = {None: (1 + 2 + 3) / 3, "p": (1 + 2) / 2, "q": 3.0}
    assert means_of_level(values, level, by="segment") == means
    assert means_of_level(values, frame("polars", [*"xwv"], [3, 2, 1]), by="segment") == means
    with_models = [
        dict(zip(columns, row, strict=True), model=model)
        for model in "ab"
        for row in zip(*columns.values(), strict=True)
    ]
    rows = {name: [row[name] for row in with_models] for name in with_models[0]}
    table = maker(backend)(rows)
    assert means_of_level(table, level, results=table, by="segment") == means


def test_levels_beside_the_numbers_of_rows():
    """Arrays are in the order of these numbers, which are the ids of the frames."""
    values = frame("pandas", [3, 0, 2, 1], [None, 0.5, 0.5, 0.5]).assign(segment=[*"pqpq"])
    level = {"hit@1": [1.0, 2.0, 3.0, math.nan]}  # of 0, 1, 2, 3
    means = {None: (1 + 2 + 3) / 3, "p": 3.0, "q": (1 + 2) / 2}
    assert means_of_level(values, level, by="segment") == means
    texts = values.assign(user=values["user"].astype(str))
    assert means_of_level(texts, level, by="segment") == means
    arrays = {"hit@1": [0.5, 0.5, 0.5, math.nan]}
    shuffled = frame("pandas", [3, 0, 2, 1], [None, 1.0, 3.0, 2.0])
    assert means_of_level(arrays, shuffled, by=[*"qqpp"]) == means


def test_levels_that_lack_users_with_a_value_are_refused():
    values = frame("pandas", [*"uvwxyz"], OLD)
    calls = {
        "'a'": lambda level: compare({"a": values, "b": values}, levels={"best": level}),
        "values": lambda level: recmetrics.summary(values, levels={"best": level}),
    }
    for name, call in calls.items():
        assert message_of(InputError, call, values[2:]) == (
            f"{name} has a value of 'hit@1' of user 'u' and 'best' has no such user; expected all "
            "users with a value in the results"
        )
        assert message_of(InputError, call, values.assign(user=range(6))) == (
            f"the users of {name} are of type str ('u'), and the users of 'best' are of type int "
            "(0); expected ids of one type; convert those of one of them"
        )
        assert message_of(InputError, call, values.rename(columns={"user": "member"})).startswith(
            f"the lists of {name} are identified by the columns ['user'] and those of 'best' by "
            "['member']; "
        )
    columns = {"user": [0, 0, 1, 1], "session": [0, 1, 0, 1]}
    sessions = maker("pandas")(columns | {"hit@1": [0.5, 1.0, 0.0, 0.5]})
    assert means_of_level(sessions, sessions[::-1]) == {None: 0.5}
    message = message_of(InputError, recmetrics.summary, sessions, levels={"best": sessions[1:]})
    assert " of user 0, session 0 and 'best' has no such user; " in message


def test_series_of_levels_have_the_index_of_the_values():
    pd = pytest.importorskip("pandas", reason="pandas is not installed")
    values = {"hit@1": pd.Series([0.5, 1.0], index=["u", "v"])}
    level = {"hit@1": pd.Series([0.0, 1.0], index=["v", "u"])}
    with pytest.raises(InputError, match=r"^metric 'hit@1' of 'best' and metric 'hit@1' of values"):
        recmetrics.summary(values, levels={"best": level})


def test_a_series_is_matched_by_id_where_a_user_is_absent():
    ids = [*"uvwxyz"]
    old = frame("pandas", ids, [None, *OLD[1:]])
    new = frame("pandas", ids[1:], NEW[1:])
    groups = maker("pandas")({"user": ids, "segment": [*"pqpqpq"]}).set_index("user")["segment"]
    found = compare({"old": old, "new": new}, by=groups)
    assert [mean.n_users for mean in found.means if mean.model == "old"] == [5, 2, 3]


def test_arrays_beside_ids_that_are_no_row_numbers_are_refused():
    frames = {"old": {"hit@1": OLD}, "new": frame("pandas", [*"uvwxyz"], NEW)}
    assert message_of(InputError, compare, frames) == (
        "'old' has no ids of users and 'new' has; expected ids in both, or the row numbers 0 to 5 "
        "as ids: for arrays, type pandas.DataFrame({'user': users, **values}), with the ids of "
        "their rows"
    )
    with pytest.raises(ShapeError, match="5"):
        compare({"old": {"hit@1": OLD[:5]}, "new": frames["new"]})
    # A metric of all lists, which has no users, may be the first.
    with_coverage = {
        "old": {"coverage@1": np.array(0.5), "hit@1": OLD},
        "new": frames["new"].assign(**{"coverage@1": 0.25}),
    }
    assert "the row numbers 0 to 5 as ids" in message_of(InputError, compare, with_coverage)
    frames["new"] = frames["new"].assign(fold=0)
    assert message_of(InputError, compare, frames).endswith(
        "as ids: give 'old' as a data frame with the columns 'user', 'fold', too"
    )


@BACKENDS
def test_a_user_without_a_value_may_be_absent_from_other_models(backend):
    """Whose item is not in the truth has no value, and a list of one model alone."""
    users = ["u", "v", "w", "x", "y", "z"]
    expected = compare({"a": {"hit@1": OLD}, "b": {"hit@1": NEW}})
    frames = {
        "a": frame(backend, ["one", *users], [None, *OLD]),
        "b": frame(backend, [*users, "another"], [*NEW, None]),
    }
    assert_equal_records(only(compare(frames)), only(expected))
    frames["c"] = frame(backend, [*users, "another"], [*NEW, 0.5])
    with pytest.raises(InputError, match="'c' has a list of user 'another' and 'a' has none"):
        compare(frames)


def test_columns_that_identify_a_user_together_are_named():
    """A column such as the number of a run makes another user of each run."""
    rows = {"user": [*range(6)] * 4, "seed": [0] * 6 + [1] * 6 + [0] * 6 + [1] * 6}
    table = maker("pandas")(rows | {"model": ["a"] * 12 + ["b"] * 12, "hit@1": [*OLD, *NEW] * 2})
    found = compare(table)
    assert only(found).n_users == 12
    line = "each combination of user and seed is a user; give several runs of a model as a list"
    assert line in str(found).splitlines()
    of_one_seed = compare(table[table["seed"] == 0])  # whose users have one row each
    assert only(of_one_seed).n_users == 6
    assert "each combination" not in str(of_one_seed)
    message = message_of(InputError, compare, table.assign(seed=range(24)))
    assert message.endswith("; drop a column that does not identify a user: 'user', 'seed' do here")


def test_an_undefined_weight_is_the_same_in_all_models():
    models = {"user": [1, 2] * 2, "model": [*"aabb"], "hit@1": [0.1, 0.2, 0.3, 0.4]}
    table = maker("pandas")(models | {"weight": [1, np.nan] * 2})
    with pytest.raises(InputError, match="weights holds nan for user 2"):
        compare(table, weights="weight")


def test_errors_name_users_by_id():
    """Not by a row: that of the first frame is another one in a later frame."""
    users = [*"abcd"]
    old = frame("pandas", users, [1.0, 2.0, 3.0, 4.0])
    new = frame("pandas", users[::-1], [math.inf, 2.0, 3.0, 4.0])
    for results in ({"old": old, "new": new}, {"new": new, "old": old}):
        message = message_of(InputError, compare, results)
        assert message.startswith(
            "metric 'hit@1' of 'new' is infinite for 1 user, the first user 'd'; "
        )

    by_user = pytest.importorskip("pandas", reason="pandas is not installed").Series
    of_users = {"by": by_user(["x", "y", "y", None], [*"bcda"])}
    of_users["weights"] = by_user([1.0, 2.0, 3.0, -1.0], [*"bcda"])
    for name, entries in of_users.items():
        for call, results in ((compare, {"a": old, "b": old}), (recmetrics.summary, old)):
            message = message_of(InputError, call, results, **{name: entries})
            assert "user 'a'" in message


@pytest.mark.parametrize("argument", ["by", "weights"])
@pytest.mark.parametrize("call", ["summary", "compare"])
def test_metrics_of_all_lists_alone_have_no_users(argument, call):
    values = {"coverage@3": np.array(0.5)}
    function, results = {
        "summary": (recmetrics.summary, values),
        "compare": (compare, {"a": values, "b": values}),
    }[call]
    message = message_of(ArgumentError, function, results, **{argument: np.ones(40)})
    assert message == (
        f"{argument} is of users, but no result here has values of users; leave out {argument}="
    )


@pytest.mark.parametrize("name", ["user", None])
def test_an_index_names_the_users_whatever_its_type(name):
    users = np.array([1.0, 2.5, 3.0, 4.0, 5.0, 6.0])
    old, new = (
        frame("pandas", users[::step], values[::step]).set_index("user").rename_axis(name)
        for step, values in ((1, np.round(OLD)), (-1, np.round(NEW).astype(int)))
    )
    expected = compare({"old": {"hit@1": np.round(OLD)}, "new": {"hit@1": np.round(NEW)}}, rng=0)
    assert_equal_records(only(compare({"old": old, "new": new}, rng=0)), only(expected))
    assert list(recmetrics.summary(new).means) == ["hit@1"]


@BACKENDS
def test_one_frame_has_the_rows_of_all_models(backend):
    columns = {
        "lr": [0.1] * 6 + [0.2] * 6,
        "user": [1, 1, 2, 2, 3, 3] * 2,
        "day": [0.5, 1.5] * 6,
        "segment": ["x", "y", "x", "y", "y", "y"] * 2,
        "visits": [1.0, 2.0, 1.0, 3.0, 1.0, 1.0] * 2,
        "mine": [*OLD, *NEW],
    }
    order = np.random.default_rng(0).permutation(12)
    given = maker(backend)({name: [each[i] for i in order] for name, each in columns.items()})
    named = {"metrics": "mine", "by": "segment", "weights": "visits"}
    arrays = {"by": columns["segment"][:6], "weights": columns["visits"][:6]}
    models = {"0.1": {"mine": OLD}, "0.2": {"mine": NEW}}

    def differences(*results, **options):
        found = compare(*results, **options, baseline="0.1", rng=0).differences
        return [(d.group, d.wins, d.ties, d.losses, pytest.approx(d.difference)) for d in found]

    assert differences(given, model="lr", **named) == differences(models, **arrays)
    found = recmetrics.summary(given, model="lr", **named)
    assert found.models in (("0.1", "0.2"), ("0.2", "0.1"))
    for name, values in models.items():
        own = [(r.group, r.n_users, pytest.approx(r.mean)) for r in found if r.model == name]
        alone = recmetrics.summary(values, **arrays)
        assert sorted(own, key=str) == sorted(
            ((r.group, r.n_users, r.mean) for r in alone), key=str
        )


def test_a_metric_that_is_not_chosen_identifies_no_user():
    pytest.importorskip("narwhals", reason="narwhals is not installed")
    pl = pytest.importorskip("polars", reason="polars is not installed")
    columns = {"model": ["a", "a", "b", "b"], "user": ["u", "v"] * 2, "hit@1": [0.0, 1.0, 1.0, 1.0]}
    found = compare(pl.DataFrame(columns | {"mrr": [0.25, 1.0, 0.5, 0.0]}), metrics="mrr")
    assert found.metrics == ("mrr",)
    assert only(found).difference == -0.375


def test_several_columns_name_the_model():
    pytest.importorskip("narwhals", reason="narwhals is not installed")
    pl = pytest.importorskip("polars", reason="polars is not installed")
    columns = {"algo": ["als", "als", "pop", "pop"], "seed": [1, 1, 2, 2], "user": ["u", "v"] * 2}
    given = pl.DataFrame(columns | {"mrr": [0.5, 1.0, 0.25, 0.0]})
    found = compare(given, model=["algo", "seed"])
    assert [(each.model, each.mean) for each in found.means] == [
        ("als / 1", 0.75),
        ("pop / 2", 0.125),
    ]
    assert recmetrics.summary(given, model=("algo", "seed")).models == found.models


def frames():
    """Frames of two models, good ones and others, by name."""
    pl = pytest.importorskip("polars", reason="polars is not installed")
    parts = [frame("polars", [1.0, 2.0], values) for values in ([0.0, 1.0], [1.0, 1.0])]
    algo = {n: part.with_columns(algo=pl.lit(n)) for n, part in zip("ab", parts, strict=True)}
    long = pl.concat(algo.values())
    return {
        "long": long,
        "algo": algo,
        "doubled": pl.concat(parts),
        "more": {"a": parts[0], "b": frame("polars", [1.0, 2.0, 3.0], [1.0, 1.0, 0.0])},
        "of user NaN": long.with_columns(user=pl.lit(math.nan)),
        "of members": {"a": parts[0], "b": parts[1].rename({"user": "member"})},
        "long twice": {"a": long, "b": long},
        "nameless": long.with_columns(algo=pl.lit(None)),
        "weighted": {n: part.with_columns(w=pl.lit(n == "b")) for n, part in algo.items()},
    }


CHOSEN = {"metrics": ["hit@1"]}
BY_ALGO = CHOSEN | {"model": "algo"}
TWO_LISTS = (
    "expected one: type model='COLUMN' if a column names the model (by= is for groups of users), "
    "else give each model or run a data frame of its own; if evaluate_table added empty lists of "
    "the user, type include_missing=False there"
)
BAD_FRAMES = {
    "a column of floats": (compare, "long", {}, "results has the column 'user' of floats, whose "
     "name is no metric string; type metrics=['hit@1', 'user'] if it is a metric, "
     "metrics=['hit@1'] if it identifies the user, or model='user' if it names the model"),
    "no column of models": (compare, "long", CHOSEN, "results has no column 'model'; type "
     "model='NAME', the name of the column of models, which is one of ['user', 'algo']"),
    "other lists": (compare, "algo", CHOSEN, "'a' has a list of user 1.0, algo 'a' and 'b' has "
     "none; expected the same users for all models: drop users who are not in the truth (their "
     "ntruth is 0), and evaluate without include_missing=False; if a column names the model, type "
     "model='COLUMN'; drop a column that does not identify a user: 'user', 'algo' do here"),
    "a list more": (compare, "more", CHOSEN, "'b' has a list of user 3.0 and 'a' has none; "
     "expected the same users for all models: drop users who are not in the truth (their ntruth is "
     "0), and evaluate without include_missing=False; if a column names the model, type "
     "model='COLUMN'"),
    "a list twice": (recmetrics.summary, "doubled", CHOSEN, "values has two lists of user 1.0, "
     f"rows 0 and 2; {TWO_LISTS}"),
    "a list of NaN twice": (recmetrics.summary, "of user NaN", BY_ALGO, "values has two lists of "
     f"user nan, algo 'a', rows 0 and 1; {TWO_LISTS}"),
    "other columns of ids": (compare, "of members", CHOSEN, "the lists of 'a' are identified by "
     "the columns ['user'] and those of 'b' by ['member']; expected the same; a metric column must "
     "hold numbers, or it is read as one of these"),
    "several models in one": (compare, "long twice", BY_ALGO, "'a' has rows of several models, "
     "column 'algo'; give compare one frame of all models, or the rows of one model each"),
    "no name of a model": (recmetrics.summary, "nameless", BY_ALGO, "values has no name of a model "
     "in row 0, column 'algo'"),
    "an unknown metric": (compare, "long", {"metrics": "hit"}, "results has no 'hit'; did you mean "
     "'hit@1'?"),
    "model=3": (compare, "long", {"model": 3}, "model must be one or several names of columns, got "
     "3"),
    "no metrics": (compare, "long", {"metrics": []}, "metrics must be one or several names of "
     "columns, got []"),
    "other weights": (compare, "weighted", BY_ALGO | {"weights": "w"}, "'b' has other values in "
     "the column 'w' than 'a'; expected one value for each user"),
}  # fmt: skip


@pytest.mark.parametrize("case", BAD_FRAMES)
def test_frames_that_are_refused(case):
    call, name, options, message = BAD_FRAMES[case]
    with pytest.raises(recmetrics.RecmetricsError) as caught:
        call(frames()[name], **options)
    assert str(caught.value) == message


@pytest.mark.parametrize("name", ["long", "algo"])
def test_what_to_type_for_frames_works(name):
    assert only(compare(frames()[name], **BY_ALGO)).wins == 1


def test_a_summary_of_the_frame_of_all_models():
    found = recmetrics.summary(frames()["long"], **BY_ALGO)
    assert found.means == {"a/hit@1": 0.5, "b/hit@1": 1.0}


def test_metrics_of_arrays_are_chosen_by_name():
    assert compare(SMALL, metrics="coverage@5").metrics == ("coverage@5",)
    with pytest.raises(InputError) as caught:
        compare(SMALL, metrics="n")
    assert str(caught.value) == "'old' has no 'n'; expected one of ['m', 'coverage@5']"
    assert caught.value.argument == "metrics"


def test_frames_without_narwhals(monkeypatch):
    old = frame("pandas", [1, 2], [0.1, 0.2])
    monkeypatch.setitem(sys.modules, "narwhals", None)
    with pytest.raises(
        ArgumentError,
        match=r"^results in data frames need the package narwhals; "
        r'type: pip install "narwhals>=2.9"$',
    ):
        compare({"a": old, "b": old})


@pytest.mark.parametrize(
    "levels, error, message",
    [
        ([GOOD_LEVEL := {"m": OLD}], InputTypeError, "levels must be a dict of name and result, "
         "got list; type {'first': a, 'second': b}, with a name for each"),
        ({"old": GOOD_LEVEL}, InputError, (
            "'old' is the name of a model and of a level; expected different names"
        )),
        ({"chance": {"n": OLD}}, InputError, "'old' has no metric 'n', which 'chance' has; compute "
         "the same metrics for every model"),
        ({"chance": {"m": OLD[:5]}}, ShapeError, "metric 'm' of 'chance' has shape (5,); "
         "expected (6,), as metric 'm' of 'old': compare results on the same users"),
        ({"": GOOD_LEVEL}, InputError, "names of models must be strings that are not blank, "
         "got ''"),
    ],
)  # fmt: skip
def test_bad_levels(levels, error, message):
    compare(SMALL, levels={"chance": GOOD_LEVEL}, rng=0)
    with pytest.raises(error) as caught:
        compare(SMALL, levels=levels)
    assert str(caught.value) == message


RESULT = (
    "what Metrics.compute or Metrics.evaluate returns, an object whose .compute() returns that, or "
    "a data frame with a float column per metric"
)
GOOD = {"m": [1.0, 2.0]}
BAD_RESULTS = [
    ([GOOD, GOOD], InputTypeError, "results must be a dict of name and result, got list; type "),
    ({"a": GOOD}, InputError, "expected the results of at least two models to compare, got 1"),
    ({1: GOOD, "b": GOOD}, InputError, "names of models must be strings that are not blank, got 1"),
    ({" ": GOOD, "b": GOOD}, InputError, "names of models must be strings that are not blank, got"),
    ({"a": 3, "b": GOOD}, InputTypeError, f"the result of 'a' is a int; expected {RESULT}"),
    ({"a": {}, "b": {}}, InputError, f"the result of 'a' holds no metric; expected {RESULT}"),
    ({"a": GOOD, "b": GOOD | {"n": [1.0, 2.0]}}, InputError, "'a' has no metric 'n', which 'b' "
     "has; compute the same metrics for every model, or, to compare those of both, type "
     "metrics=['m']"),
    ({"a": GOOD, "b": {"n": [1.0, 2.0]}}, InputError, "'b' has no metric 'm', which 'a' has; "
     "compute the same metrics for every model"),
    ({"a": GOOD, "b": {"m": [1.0, 2.0, 3.0]}}, ShapeError, "metric 'm' of 'b' has shape (3,); "
     "expected (2,), as metric 'm' of 'a': compare results on the same users"),
    ({"a": GOOD, "b": {"m": np.array(1.0)}}, ShapeError, "metric 'm' of 'b' has shape (); "),
    ({"a": GOOD, "b": {"m": np.ma.masked_equal([1.0, 2.0], 1)}}, InputTypeError, "metric 'm' of "
     "'b' is a masked array, whose mask would be lost; type .filled(np.nan)"),
    ({"a": GOOD, "b": {"m": [[1.0], [1.0, 2.0]]}}, InputTypeError, "metric 'm' of 'b' cannot be "
     "read as an array: "),
    ({"a": GOOD, "b": {"m": [1.0, math.inf]}}, InputError, "metric 'm' of 'b' is infinite for 1 "
     "user, the first user 1; differences of infinite values are undefined"),
    ({"a": {"m": np.array(1.0)}, "b": {"m": np.array(math.inf)}}, InputError, "metric 'm' of 'b' "
     "is infinite; differences of infinite values are undefined"),
]  # fmt: skip


@pytest.mark.parametrize(("results", "error", "message"), BAD_RESULTS, ids=lambda x: str(x)[:40])
def test_bad_results(results, error, message):
    with pytest.raises(error) as caught:
        compare(results)
    assert str(caught.value).startswith(message)
    assert compare({"a": GOOD, "b": GOOD}).n_resamples is None


BAD_ARGUMENTS = [
    ({"baseline": "c"}, "baseline must be one of 'a', 'b', got 'c'"),
    ({"confidence": 1}, "confidence must be a number from 0.5 to below 1, such as 0.95, got 1"),
    ({"confidence": 95.0}, "confidence must be a number from 0.5 to below 1, such as 0.95, got 95"),
    ({"tests": "z"}, "tests must be 't', 'wilcoxon' or 'permutation', got 'z'; give one or"),
    ({"tests": ()}, "tests must be 't', 'wilcoxon' or 'permutation', got (); give one or several"),
    ({"tests": {"t": 1}}, "tests must be 't', 'wilcoxon' or 'permutation', got {'t': 1}; give one"),
    ({"tests": [["t"]]}, "tests must be 't', 'wilcoxon' or 'permutation', got ['t']; give one or"),
    ({"lower_is_better": {"m": False}}, "lower_is_better must be one of 'm', got {'m': False}"),
    ({"metrics": np.array("m")}, "metrics must be one or several names of columns, got array('m'"),
    ({"correction": "bonferroni"}, "correction must be 'holm' or 'bh', got 'bonferroni'; None "),
    ({"n_resamples": 99}, "n_resamples must be an integer >= 100, got 99"),
    ({"n_resamples": 1e3}, "n_resamples must be an integer >= 100, got 1000.0"),
    ({"n_resamples": True}, "n_resamples must be an integer >= 100, got True"),
    ({"rng": "x"}, "rng must be a seed (an integer >= 0), a numpy Generator or None, got 'x'"),
    ({"lower_is_better": ["n"]}, "lower_is_better must be one of 'm', got 'n'"),
    ({"weights": "w"}, "weights is the name of a column, 'w', but no result is a table; "),
    (
        {"by": np.array([1, "x"], dtype=object)},
        "by must hold labels of one type, such as strings or integers",
    ),
]


@pytest.mark.parametrize(("options", "message"), BAD_ARGUMENTS, ids=lambda x: str(x)[:40])
def test_bad_arguments(options, message):
    with pytest.raises(recmetrics.RecmetricsError) as caught:
        compare({"a": GOOD, "b": GOOD}, **options)
    assert str(caught.value).startswith(message)


def test_evaluations_are_results_runs_and_levels():
    old, new, chance = (Evaluation({"m": np.array(m)}) for m in ([0.5, 0.0], [1.0, 0.75], [0.5, 0]))
    again = Evaluation({"m": np.array([0.5, 0.25])})
    found = compare({"old": old, "new": [new, again]}, levels={"chance": chance})
    assert only(found).difference == 0.625 - 0.25  # of new, (0.875 + 0.375) / 2
    assert found.n_runs == {"new": 2}
    assert [(each.model, each.mean) for each in found.means][-1] == ("chance", 0.25)


def test_frames_and_other_results_mix():
    expected = only(compare({"old": {"hit@1": OLD}, "new": {"hit@1": NEW}}, rng=0))
    nameless = frame("polars", list(range(len(OLD))), OLD).select("hit@1")  # rows as they come
    for old in (frame("polars", list(range(len(OLD))), OLD), nameless):
        assert_equal_records(only(compare({"old": old, "new": {"hit@1": NEW}}, rng=0)), expected)
    other = frame("polars", list(range(len(NEW))), NEW).select("hit@1")
    assert_equal_records(only(compare({"old": nameless, "new": other}, rng=0)), expected)


def test_columns_alone_make_no_frame():
    pytest.importorskip("narwhals", reason="narwhals is not installed")
    for strange in (
        types.SimpleNamespace(columns=["m"]),
        type("Strange", (), {"columns": ["m"]})(),
    ):
        with pytest.raises(InputTypeError, match=r"^the result of 'b' is a S\w+; expected what "):
            compare({"a": {"m": OLD}, "b": strange})


def frame_of_two_models(coverage):
    """Values of two users and models; the column of coverage is the same in each row of a model."""
    pd = pytest.importorskip("pandas", reason="pandas is not installed")
    pytest.importorskip("narwhals", reason="narwhals is not installed")
    columns = {"model": ["a", "a", "b", "b"], "user": [1, 2, 1, 2], "mrr": [1.0, 0.5, 0.5, 0.0]}
    return pd.DataFrame({**columns, "coverage@5": coverage})


def test_a_metric_of_all_lists_in_each_row_of_a_frame_is_one_value():
    frame = frame_of_two_models([0.25, 0.25, 1.0, 1.0])
    comparison = recmetrics.compare(frame)
    means = {(mean.metric, mean.model): mean for mean in comparison.means}
    assert [means["coverage@5", model].mean for model in "ab"] == [0.25, 1.0]
    assert [means["coverage@5", model].n_users for model in "ab"] == [None, None]
    assert {difference.metric for difference in comparison.differences} == {"mrr"}
    of_summary = {(mean.metric, mean.model): mean for mean in recmetrics.summary(frame)}
    assert [of_summary["coverage@5", model].mean for model in "ab"] == [0.25, 1.0]
    assert math.isnan(of_summary["coverage@5", "a"].low)


def test_rows_with_several_values_of_a_metric_of_all_lists_are_refused():
    frame = frame_of_two_models([0.25, 0.5, 1.0, 1.0])
    with pytest.raises(InputError, match="leave it out") as caught:
        recmetrics.compare(frame)
    assert str(caught.value) == (
        "coverage@5 of 'a' has 2 different values, and is one value for all lists of a model; "
        "leave it out: type metrics=['mrr']"
    )
    assert recmetrics.compare(frame, metrics=["mrr"]).metrics == ("mrr",)


# --- Labels of users that are not in the tables --------------------------------------------------


@pytest.mark.parametrize("turned", [False, True])
def test_ids_of_two_types_are_refused(turned):
    """As those of a file, which are text, beside those of a frame that pandas has read."""
    text = frame("pandas", ["0", "1"], [0.0, 0.25])
    numbers = frame("pandas", [0, 1], [1.0, 0.5])
    models = {"now": text, "stored": numbers}
    if turned:
        models = dict(reversed(models.items()))
    assert message_of(InputError, compare, models) == (
        "the users of 'now' are of type str ('0'), and the users of 'stored' are of type int (0); "
        "expected ids of one type; convert those of one of them"
    )


def test_a_series_is_matched_by_the_ids_in_its_index():
    pd = pytest.importorskip("pandas", reason="pandas is not installed")
    old = frame("pandas", [3, 1, 2, 0], [0.0, 0.25, 0.5, 0.75])
    new = frame("pandas", [0, 1, 2, 3], [1.0, 0.5, 1.0, 0.0])
    segments = pd.Series(["a", "a", "b", "b", "c"], index=[0, 1, 2, 3, 4])
    weights = pd.Series([3.0, 1.0, 1.0, 1.0], index=[0, 1, 3, 2])
    found = compare({"old": old, "new": new}, by=segments, weights=weights)
    gains = {each.group: each.difference for each in found.differences}
    # Users 0 to 3 gain 1/4, 1/4, 1/2 and 0.
    assert gains == {None: (3 / 4 + 1 / 4 + 1 / 2) / 6, "a": 1 / 4, "b": 1 / 4}
    means = {each.group: each.mean for each in recmetrics.summary(old, by=segments[::-1])}
    assert means["b"] == (0.0 + 0.5) / 2


def test_series_in_arrays_of_values_need_one_index():
    """They are read by position; as data frames they are matched by it."""
    pytest.importorskip("narwhals", reason="narwhals is not installed")
    pd = pytest.importorskip("pandas", reason="pandas is not installed")
    users = [*"uvwxyz"]
    advice = (
        "Series whose indexes differ, but both are read by position; to match users by the index, "
        "give each result as pandas.DataFrame(values).rename_axis('user')"
    )
    old = pd.Series(OLD, index=users)
    new = pd.Series(NEW[::-1], index=users[::-1])
    counted = pd.Series(OLD)
    for first, second in ((old, new), (counted, counted[::-1]), (counted[::-1], counted)):
        results = {"old": {"hit@1": first}, "new": {"hit@1": second}}
        assert message_of(InputError, compare, results) == (
            f"metric 'hit@1' of 'new' and metric 'hit@1' of 'old' are {advice}"
        )
    for argument in ("by", "weights"):
        for call, values in ((recmetrics.summary, {"hit@1": old}), (compare, None)):
            results = values or {"old": {"hit@1": old}, "new": {"hit@1": NEW}}
            message = message_of(InputError, call, results, **{argument: new})
            assert message.startswith(f"{argument} and metric 'hit@1' of ")
            assert message.endswith(advice)

    expected = only(compare({"old": {"hit@1": OLD}, "new": {"hit@1": NEW}}))
    frames = {
        name: pd.DataFrame({"hit@1": column}).rename_axis("user")
        for name, column in (("old", old), ("new", new))
    }
    assert_equal_records(only(compare(frames)), expected)
    for first, second in (
        (old, new[::-1]),
        (old, NEW),
        (old, pd.Series(NEW)),
        (pd.Series(OLD, pd.Index([pd.NA, 0, 1, 2, 3, 4], dtype="Int64")), NEW),
    ):
        assert_equal_records(
            only(compare({"old": {"hit@1": first}, "new": {"hit@1": second}})), expected
        )


@BACKENDS
@pytest.mark.parametrize("argument", ["by", "weights"])
def test_a_list_of_columns_is_refused(backend, argument):
    columns = {"user": [*"uvwxyz"], "seg": [*"pqpqpq"], "age": [1, 2, 3, 1, 2, 3]}
    old, new = (maker(backend)(columns | {"hit@1": values}) for values in (OLD, NEW))
    message = (
        f"{argument} takes the name of one column, not a list of columns, got ['seg', 'age']; "
        "combine several in a new column of each data frame, and give its name"
    )
    names = ["seg", "age"]
    results = {"old": old, "new": new}
    assert message_of(InputError, compare, results, **{argument: names}) == message
    assert message_of(InputError, recmetrics.summary, old, **{argument: names}) == message
    message = message_of(InputError, compare, results, **{argument: ["seg"]})
    assert message.endswith(f"got ['seg']; give {argument}='seg'")


def test_labels_may_have_the_names_of_columns():
    users = [*"uvwxyz"]
    results = {"old": frame("pandas", users, OLD), "new": frame("pandas", users, NEW)}
    assert compare(results, by=["user", "hit@1"] * 3).groups == ("hit@1", "user")


def test_labels_of_one_type_without_an_order_are_in_that_of_their_users():
    tier = enum.Enum("tier", "vip new")
    found = compare({"a": GOOD, "b": GOOD}, by=[tier.vip, tier.new])
    assert found.groups == (tier.vip, tier.new)


@BACKENDS
def test_entries_without_ids_need_users_in_one_order(backend):
    """Else the first frame would decide whose group is whose."""
    users = [*"uvwxyz"]
    old = frame(backend, users, OLD)
    swapped = frame(backend, ["v", "u", *users[2:]], [NEW[1], NEW[0], *NEW[2:]])
    groups = [*"pqpqpq"]
    weights = np.arange(1.0, 7.0)
    for argument, entries in {"by": groups, "weights": weights}.items():
        results = {"old": old, "new": swapped}
        assert message_of(InputError, compare, results, **{argument: entries}) == (
            f"{argument} has no ids, and the users of 'new' are in another order than those of "
            "'old'; expected the name of a column, or a pandas Series with the ids as its index: "
            f"if {argument} is in the order of 'old', type "
            f"{argument}=pandas.Series({argument}, index=ids) with the ids of its users"
        )
        with pytest.raises(InputError, match="of run 2 of 'new' are in another order than"):
            compare({"old": old, "new": [old, swapped]}, **{argument: entries})
    new = frame(backend, users, NEW)
    found = compare({"old": old, "new": new}, levels={"top": swapped}, by=groups, weights=weights)
    arrays = {"old": {"hit@1": OLD}, "new": {"hit@1": NEW}}
    expected = compare(arrays, by=groups, weights=weights)
    assert [each.difference for each in found.differences] == [
        each.difference for each in expected.differences
    ]


@pytest.mark.parametrize("as_index", [False, True])
def test_ids_in_an_index_that_counts_are_no_row_numbers(as_index):
    """The ids of the users are 0 to 3, in another order than the rows."""
    pd = pytest.importorskip("pandas", reason="pandas is not installed")
    table = frame("pandas", [3, 2, 1, 0], [0.0, 0.25, 0.5, 1.0])
    if as_index:
        table = table.set_index("user")
    labels = ["low", "low", "high", "high"]  # of the users 0 to 3
    named = pd.Series(labels, index=pd.RangeIndex(4, name="user"))
    weights = pd.Series([1.0, 0.0, 0.0, 3.0], index=named.index)
    means = {None: (3 * 0.0 + 1.0) / 4, "high": 0.0, "low": 1.0}
    given = pd.Series(labels, index=pd.Index([0, 1, 2, 3]))
    for by in (named, given):
        found = recmetrics.summary(table, metrics="hit@1", by=by, weights=weights)
        assert {each.group: each.mean for each in found} == means
    other = table.assign(**{"hit@1": 0.0})
    found = recmetrics.compare({"old": other, "new": table}, metrics=["hit@1"], by=named)
    gains = {each.group: each.difference for each in found.differences}
    assert gains == {None: 1.75 / 4, "high": 0.25 / 2, "low": 1.5 / 2}

    counted = pd.Series(labels)
    if as_index:
        message = message_of(InputError, lambda: recmetrics.summary(table, by=counted))
        assert message == (
            "by is a Series with the default index, 0 to 3, which may be the ids of the users, or "
            "not; if it is a column of the results, give its name, if its index has the ids, type "
            "by=by.rename_axis('user'), and if it is in the order of the users, by=by.to_numpy()"
        )
        found = recmetrics.summary(table.sort_index(), by=counted)  # ids and rows are the same
        assert {each.group: each.mean for each in found}["low"] == 1.5 / 2
    else:  # the rows of the table are counted, too
        by_row = recmetrics.summary(table, metrics="hit@1", by=counted)
        assert {each.group: each.mean for each in by_row}["low"] == 0.25 / 2
    table = frame("pandas", ["3", "2", "1", "0"], [0.0, 0.25, 0.5, 1.0]).set_index("user")
    by_row = recmetrics.summary(table, by=counted)  # whose ids it cannot have
    assert {each.group: each.mean for each in by_row}["low"] == 0.25 / 2


def test_a_default_index_of_more_rows_than_users_is_not_taken_for_ids():
    """As a column of the rows of all models, or of a table of more users, whose rows are no ids."""
    pd = pytest.importorskip("pandas", reason="pandas is not installed")
    one = frame("pandas", [3, 2, 1, 0], [0.0, 0.25, 0.5, 1.0])
    both = pd.concat([one.assign(model="a"), one.assign(model="b")], ignore_index=True)
    label = {3: "high", 2: "high", 1: "low", 0: "low"}
    by = both["user"].map(label)
    message = message_of(InputError, lambda: recmetrics.compare(both, by=by))
    assert message == (
        "by is a Series with the default index, 0 to 7, which may be the ids of the users, or not; "
        "if it is a column of the results, give its name, if its index has the ids, type "
        "by=by.rename_axis('user')"
    )
    found = recmetrics.compare(both.assign(group=by), by="group")
    assert {each.group: each.mean for each in found.means} == {
        None: 1.75 / 4,
        "high": 0.25 / 2,
        "low": 1.5 / 2,
    }
    texts = both.assign(user=both["user"].astype(str))
    message = message_of(InputError, lambda: recmetrics.compare(texts, by=by))
    assert message.endswith("the id of each user once, or the name of a column of the results")
    more = pd.Series(["x", "y", "x", "y", "x"])
    with pytest.raises(InputError, match=r"^by is a Series with the default index, 0 to 4, which "):
        recmetrics.summary(one.set_index("user"), by=more)


@pytest.mark.parametrize("ids", [["x", "y", "z"], [1, 2, 0]])
def test_a_column_from_before_a_table_was_sorted_is_matched_by_its_rows(ids):
    pd = pytest.importorskip("pandas", reason="pandas is not installed")
    table = frame("pandas", ids, [0.5, 0.0, 1.0])
    labels = pd.Series(["b", "a", "b"])
    means = {"a": 0.0, "b": 1.5 / 2}
    for rows in ([0, 1, 2], [1, 0, 2], [2, 0, 1]):
        found = recmetrics.summary(table.iloc[rows], by=labels)
        assert {each.group: each.mean for each in found if each.group} == means
    if ids[0] == "x":  # else these labels would be ids
        found = recmetrics.summary(table.iloc[[1, 0, 2]], by=labels.iloc[[2, 1, 0]])
        assert {each.group: each.mean for each in found if each.group} == means


@pytest.mark.parametrize("more", [False, True])
def test_levels_of_an_index_in_another_order_are_matched_by_their_names(more):
    pytest.importorskip("narwhals", reason="narwhals is not installed")
    pd = pytest.importorskip("pandas", reason="pandas is not installed")
    rows = {"user": [0, 0, 1], "session": [0, 1, 0], "hit@1": [0.0, 0.25, 1.0]}
    labels = {"user": [1, 0, 0, 1], "session": [0, 1, 0, 1], "by": ["c", "b", "a", "d"]}
    by = pd.DataFrame(labels).set_index(["session", "user"])["by"]
    for table in (pd.DataFrame(rows), pd.DataFrame(rows).set_index(["user", "session"])):
        found = recmetrics.summary(table, by=by if more else by[:3])
        assert {each.group: each.mean for each in found if each.group} == {
            "a": 0.0,
            "b": 0.25,
            "c": 1.0,
        }


@pytest.mark.parametrize("as_index", [False, True])
def test_a_column_of_the_table_is_read_by_row(as_index):
    """Its index has the numbers of the rows, which are also ids of users, or the ids."""
    pd = pytest.importorskip("pandas", reason="pandas is not installed")
    table = frame("pandas", [2, 0, 1], [0.0, 0.5, 1.0]).assign(segment=["a", "b", "b"])
    table = table.set_index("user") if as_index else table.set_index(pd.Index([0, 2, 1]))
    found = recmetrics.summary(table, metrics="hit@1", by=table["segment"])
    assert {each.group: each.mean for each in found} == {None: 1 / 2, "a": 0.0, "b": 3 / 4}


def test_a_series_that_lacks_users_is_refused():
    pd = pytest.importorskip("pandas", reason="pandas is not installed")
    table = frame("pandas", ["x", "y", "z"], [0.0, 0.5, 1.0])
    typed = "; if it is in the order of the users, type by=by.to_numpy()"
    for index, fault in (
        (
            ["x", "y", "w"],
            f"lacks 1 of the 3 users, the first is 'z'; expected the id of each user once{typed}",
        ),
        (["x"], "lacks 2 of the 3 users, the first is 'y'; expected the id of each user once"),
        (["x", "x", "y", "z"], "has an id several times; expected the id of each user once"),
    ):
        by = pd.Series(["a"] * len(index), index=index)
        message = message_of(InputError, lambda by=by: recmetrics.summary(table, by=by))
        assert message == f"by is a Series whose index {fault}"


@pytest.mark.parametrize("name", ["by", "weights"])
def test_one_column_is_no_model_and_group_at_once(name):
    table = {"user": ["x", "x"], "model": ["a", "b"], "hit@1": [0.0, 1.0]}
    options = {"model": "model", name: "model"}
    message = message_of(ArgumentError, recmetrics.summary, maker("polars")(table), **options)
    assert message == (f"model= and {name}= name the same column, 'model'; leave out {name}=")


# --- Definitions ---------------------------------------------------------------------------------

# All scores of a user are equal in FLAT. R = 3 of 5 items, of which two are in the top 2.
RANKED = np.array([[4, 3, 2, 1, 0]] * 6)
FLAT = np.zeros((6, 5))
RELEVANT = np.array([[1, 1, 0, 0, 1]] * 6)
CAPPED = "recall(denom=capped, weigh=no)@2"
UNCAPPED = "recall(denom=relevant, weigh=no)@2"


def evaluated(scores=RANKED, **rules):
    return Metrics.evaluate(scores, RELEVANT, "recall@2", **rules)


def updated(scores=RANKED, **rules):
    evaluator = Evaluator(RELEVANT, "recall@2", **rules)
    evaluator.update(scores)
    return evaluator


def streamed(**rules):
    stream = StreamEvaluator("recall@2", **rules)
    stream.update(RANKED, RELEVANT)
    return stream


def of_two_conventions(make):
    return {"old": make(), "new": make(convention="ranx")}


@pytest.mark.parametrize(
    ("results", "definitions"),
    [
        (lambda: of_two_conventions(evaluated), f"{CAPPED} in 'old' and {UNCAPPED} in 'new'"),
        (lambda: of_two_conventions(updated), f"{CAPPED} in 'old' and {UNCAPPED} in 'new'"),
        (lambda: of_two_conventions(streamed), f"{CAPPED} in 'old' and {UNCAPPED} in 'new'"),
        (
            lambda: {"old": evaluated(FLAT), "new": updated(FLAT, ties="expected")},
            f"{CAPPED} with ties='index' in 'old' and {CAPPED} with ties='expected' in 'new'",
        ),
        (
            lambda: {"old": [*of_two_conventions(evaluated).values()], "new": evaluated().values},
            f"{CAPPED} in run 1 of 'old' and {UNCAPPED} in run 2 of 'old'",
        ),
    ],
)
def test_two_definitions_of_one_metric_are_not_compared(results, definitions):
    message = message_of(InputError, compare, results())
    assert message == (
        f"metric 'recall@2' is {definitions}; expected one definition: evaluate both with the same "
        "convention= and ties="
    )


def test_one_definition_of_two_conventions_is_compared():
    """LensKit divides recall by min(R, k), too; what is not known is not compared."""
    same = compare({"old": evaluated(), "new": evaluated(convention="lenskit")})
    assert [mean.mean for mean in same.means] == [2 / 2, 2 / 2]
    assert (same.to_dict()["convention"], same.to_dict()["definitions"]) == (
        None,
        {"recall@2": CAPPED},
    )
    unknown = compare({"old": evaluated(), "new": evaluated(convention="ranx").values})
    assert [mean.mean for mean in unknown.means] == [1, pytest.approx(2 / 3)]
    ranges = compare({"old": evaluated(FLAT, ties="range"), "new": updated(FLAT, ties="range")})
    means = {mean.metric: mean.mean for mean in ranges.means}
    # With 3 of 5 items relevant and all scores equal, each of the 2 places is a hit with 3 / 5.
    assert means == {
        "recall@2": pytest.approx(3 / 5),
        "recall@2[least]": 0,
        "recall@2[greatest]": 1,
    }


def test_names_of_numpy_are_plain():
    old, new = np.array(["old", "new"])
    [hit] = np.array(["hit@1"])
    results = {old: {hit: OLD}, new: {hit: NEW}}
    levels = {np.str_("chance"): {hit: [0.5] * len(OLD)}}
    stream = StreamEvaluator("hit@1", keep="means")
    stream.update({old: [[1, 2]] * 9, new: [[2, 1]] * 9}, [[1, 0]] * 9)
    for comparison in (compare(results, levels=levels), compare(stream)):
        names = {*comparison.models, *comparison.levels, *comparison.metrics}
        assert {type(name) for name in names} == {str}
    assert recmetrics.summary(results[new]).records[0].metric.__class__ is str
    message = message_of(InputTypeError, recmetrics.summary, results)
    assert message.startswith("values holds the results of several models, 'old', 'new'; ")
    assert "type recmetrics.summary(values['old']), or" in message


def test_means_of_models_are_told_from_values_of_users():
    means = {"old": {"ndcg@10": 0.3}, "new": {"ndcg@10": 0.4}}
    message = message_of(InputTypeError, recmetrics.summary, means)
    assert (
        "metric 'old' of values is a dict, expected the values of all users; if it has" in message
    )
    assert "means of a model, give what compute() returns, not mean(); for {user: " in message
