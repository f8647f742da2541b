"""``recmetrics compare``: what it prints and writes, and its one-line errors."""

import csv
import gzip
import json
import re
import sys
from pathlib import Path

import commands
import numpy as np
import pytest
from commands import refused, require_tables
from inside import install, write_per_user

from recmetrics import compare
from recmetrics.cli import main
from recmetrics.cli._compare_files import model_names

RNG = np.random.default_rng(0)
OLD = {"ndcg@10": np.append(RNG.random(39), np.nan), "recall(denom=relevant)@20": RNG.random(40)}
NEW = {m: np.clip(values + RNG.normal(0.1, 0.1, 40), 0, 1) for m, values in OLD.items()}
WANTED = "expected the .npz or .csv that 'recmetrics evaluate --per-user' writes"


@pytest.fixture(autouse=True)
def folder(tmp_path, monkeypatch):
    """A current folder with the files of two models, in both forms."""
    monkeypatch.chdir(tmp_path)
    for name, values in {"old": OLD, "new": NEW}.items():
        for suffix in ("npz", "csv"):
            write_per_user(Path(f"{name}.{suffix}"), values)


def printed(capsys, *argv):
    return commands.printed(capsys, "compare", *argv)


def error(capsys, *argv):
    return refused(capsys, "compare", *argv)


# --- What it prints ------------------------------------------------------------------------------


@pytest.mark.parametrize("old", ["old.npz", "old.csv"])
def test_all_output_is_that_of_the_library(old, capsys):
    assert printed(capsys, old, "new.npz") == f"{compare({'old': OLD, 'new': NEW}, rng=0)}\n"
    argv = [old, "new.csv", "--baseline", "new", "--seed", "3", "--correction", "none"]
    argv += ["--test", "wilcoxon", "--test", "t", "--confidence", "0.9"]
    options = {"tests": ("wilcoxon", "t"), "correction": None, "confidence": 0.9, "rng": 3}
    expected = compare({"old": OLD, "new": NEW}, baseline="new", **options)
    assert printed(capsys, *argv, "--markdown") == expected.to_markdown()
    assert printed(capsys, *argv, "--latex") == expected.to_latex()
    assert json.loads(printed(capsys, *argv, "--json")) == expected.to_dict()


def test_metrics_for_which_lower_is_better(capsys):
    for name, errors in {"o": OLD, "n": NEW}.items():
        values = errors["recall(denom=relevant)@20"]
        write_per_user(Path(f"{name}.csv"), {"rmse": values, "mae": values})
    message = error(capsys, "o.csv", "n.csv", "--gate", "rmse <= +90%")
    assert message.endswith(" and else a rule with >= or > (--gate; --lower-is-better)")
    argv = ["--lower-is-better", "rmse", "--lower-is-better", "mae", "o.csv", "n.csv"]
    assert main(["compare", *argv, "--json", "--gate", "rmse <= +90%"]) == 0
    document = json.loads(capsys.readouterr().out)
    assert document["lower_is_better"] == ["mae", "rmse"]
    assert {mean["metric"]: mean["model"] for mean in document["means"] if mean["best"]} == {
        "rmse": "o",  # the new model has larger values
        "mae": "o",
    }
    message = error(capsys, "o.csv", "n.csv", "--lower-is-better", "mse")
    assert message == "lower_is_better must be one of 'rmse', 'mae', got 'mse' (--lower-is-better)"


def test_packed_files_and_other_separators(capsys):
    """The name of a model is that of its file, without both endings."""
    expected = printed(capsys, "old.csv", "new.csv")
    text = Path("old.csv").read_text()
    Path("old.csv.gz").write_bytes(gzip.compress(text.encode()))
    assert printed(capsys, "old.csv.gz", "new.csv") == expected
    Path("old.csv").write_text(text.replace(",", ";"))
    assert printed(capsys, "old.csv", "new.csv") == expected


def test_packed_tables_of_models_and_other_separators(capsys):
    require_tables()
    table = "model;user;hit@1\nA;1;1\nA;2;0\nB;1;1\nB;2;1\n"
    Path("values.csv").write_text(table.replace(";", ","))
    expected = printed(capsys, "values.csv", "--model", "model")
    Path("values.csv.gz").write_bytes(gzip.compress(table.encode()))
    assert printed(capsys, "values.csv.gz", "--model", "model") == expected


def test_the_seed_is_that_of_the_permutation_test_alone(capsys):
    helped = " ".join(printed(capsys, "--help").split())
    assert "--seed N seed of the random sign flips of --test permutation (default 0)" in helped

    near = np.tile([-0.1, 0.1, 0.2, -0.05], 10)
    write_per_user(Path("near.npz"), {m: values + near for m, values in OLD.items()})

    def differences(seed):
        argv = ["old.npz", "near.npz", "--test", "t", "--test", "permutation", "--seed", seed]
        return json.loads(printed(capsys, *argv, "--json"))["differences"]

    first, second = differences("1"), differences("2")
    changed = {
        name
        for record, other in zip(first, second, strict=True)
        for name in record
        if record[name] != other[name]
    }
    assert changed == {"p_permutation", "p_permutation_uncorrected"}


def test_a_range_is_shown_but_not_tested(capsys):
    for name, shift in (("a", 0.0), ("b", 0.1)):
        values = {f"hit@{k}": OLD["recall(denom=relevant)@20"] + shift * k for k in (1, 2, 3)}
        write_per_user(Path(f"{name}.npz"), values)
    found = json.loads(printed(capsys, "a.npz", "b.npz", "-m", "hit@2:3", "hit@2", "--json"))
    assert found["metrics"] == ["hit@2", "hit@3"]
    assert [each["p_t"] is None for each in found["differences"]] == [False, True]
    shown = printed(capsys, "a.npz", "b.npz", "--compact", "-m", "hit@1:2")
    assert shown.split()[:3] == ["model", "hit@1", "hit@2"]


def test_json_has_no_nan_and_no_infinity(capsys):
    for name, values in {"a": [0.0, np.nan, 0.0], "b": [1.0, np.nan, 1.0]}.items():
        write_per_user(Path(f"{name}.npz"), {"m": np.array(values), "n": np.full(3, np.nan)})
    found = json.loads(printed(capsys, "a.npz", "b.npz", "--json"))
    m, n = found["differences"]
    assert (m["effect_size"], m["difference"]) == (None, 1.0)
    assert (n["difference"], n["p_t"], n["n_users"]) == (None, None, 0)


def test_the_plot(capsys):
    pytest.importorskip("matplotlib", reason="matplotlib is not installed")
    for name, start in {"p.png": b"\x89PNG", "p.pdf": b"%PDF", "p.svg": b"<?xml"}.items():
        printed(capsys, "old.npz", "new.npz", "--plot", name)
        assert Path(name).read_bytes().startswith(start)
    assert len(list(Path().iterdir())) == 4 + 3  # no temporary file stays


# --- Groups of users ------------------------------------------------------------------------------

GROUPS = ["few", "many", "m\u00e4n", "many"] * 10


def group_files():
    rows = "".join(f"{user},{group}\n" for user, group in enumerate(GROUPS))
    Path("groups.csv").write_text(f"user,activity\n{rows}", encoding="utf-8")
    text = f"user,activity\n{rows}".replace(",", "\t")
    Path("groups.tsv").write_text(text, encoding="utf-8")
    Path("groups.txt").write_text("".join(f"{group} \n" for group in GROUPS), encoding="utf-8")
    np.save("groups.npy", np.array(GROUPS))


@pytest.mark.parametrize("suffix", ["csv", "tsv", "txt", "npy"])
@pytest.mark.parametrize("files", [("old.npz", "new.npz"), ("old.csv", "new.csv")])
def test_groups_are_those_of_the_library(suffix, files, capsys):
    group_files()
    argv = [*files, "--by", f"groups.{suffix}"]
    expected = compare({"old": OLD, "new": NEW}, by=GROUPS, rng=0)
    assert printed(capsys, *argv) == f"{expected}\n"
    assert printed(capsys, *argv, "--latex") == expected.to_latex()
    found = json.loads(printed(capsys, *argv, "--json"))
    assert found["groups"] == ["few", "many", "m\u00e4n"]
    assert found["means"] == expected.to_dict()["means"]
    assert {each["group"] for each in found["differences"]} == {None, *GROUPS}


@pytest.mark.parametrize("suffix", ["csv", "npz"])
def test_rows_are_matched_by_the_ids_of_the_users(suffix, capsys):
    """Files of tables end with the users who lack a list; a file of groups may name more users."""
    places = RNG.permutation(40)
    ids = [f"u{user}" for user in range(40)]
    write_per_user(Path("a.csv"), OLD, ids)
    shuffled = {metric: values[places] for metric, values in NEW.items()}
    write_per_user(Path(f"b.{suffix}"), shuffled, [ids[place] for place in places])
    rows = [f"u{user},{GROUPS[user]}\n" for user in places]
    Path("more.csv").write_text(f"user,activity\nu77,other\n{''.join(rows)}", encoding="utf-8")
    argv = ["a.csv", f"b.{suffix}", "--by", "more.csv", "--movers", "2", "-m", "ndcg@10"]
    expected = compare({"a": OLD, "b": NEW}, by=GROUPS, metrics="ndcg@10")
    movers = expected.movers("ndcg@10", 2, users=ids)
    assert printed(capsys, *argv) == f"{expected}\n\n{movers}\n"


@pytest.mark.parametrize("files", [["old.npz", "b.npz"], ["b.npz", "old.npz"]])
@pytest.mark.parametrize("groups", ["groups.npy", "groups.txt", "turned.csv"])
def test_a_file_without_ids_has_the_numbers_of_its_rows(files, groups, capsys):
    group_files()
    rows = [f"{user},{group}\n" for user, group in enumerate(GROUPS)]
    Path("turned.csv").write_text(f"user,activity\n{''.join(rows[::-1])}", encoding="utf-8")
    places = RNG.permutation(40)
    shuffled = {metric: values[places] for metric, values in NEW.items()}
    write_per_user(Path("b.npz"), shuffled, list(map(str, places)))
    argv = [*files, "--by", groups, "-m", "ndcg@10", "--baseline", "old", "--json"]
    found = json.loads(printed(capsys, *argv))
    expected = compare({"old": OLD, "b": NEW}, by=GROUPS, metrics="ndcg@10", baseline="old")
    for record, difference in zip(found["differences"], expected.differences, strict=True):
        assert record["group"] == difference.group
        assert record["difference"] == pytest.approx(difference.difference)
        assert record["effect_size"] == pytest.approx(difference.effect_size)


def test_groups_in_another_order_than_the_rows_of_files_without_ids(capsys):
    rows = [f"{user},{group}\n" for user, group in enumerate(GROUPS)]
    Path("turned.csv").write_text(f"user,activity\n{''.join(rows[::-1])}", encoding="utf-8")
    expected = compare({"old": OLD, "new": NEW}, by=GROUPS, rng=0)
    assert printed(capsys, "old.npz", "new.npz", "--by", "turned.csv") == f"{expected}\n"


def test_ids_that_are_no_row_numbers_are_refused_beside_a_file_without_ids(capsys):
    write_per_user(Path("ids.csv"), NEW, [f"u{user}" for user in range(40)])
    assert error(capsys, "old.npz", "ids.csv") == (
        "FILE 'ids.csv' has no row for 40 of the 40 users of FILE 'old.npz', the first '0'; "
        "expected a row for each; FILE 'old.npz' has no ids: its users are the numbers of its rows"
    )


def test_metrics_of_all_lists_beside_the_ids_of_users(capsys):
    """The rows of users are put in order, and the one value stays."""
    write_per_user(Path("a.npz"), {"m": np.array([0, 1]), "coverage@10": np.array(0.5)}, ["u", "v"])
    write_per_user(
        Path("b.npz"), {"m": np.array([2, 4]), "coverage@10": np.array(0.45)}, ["v", "u"]
    )
    argv = ["a.npz", "b.npz", "-m", "m", "coverage@10", "--baseline", "a", "--movers", "1"]
    for margin, status in (("5", 1), ("10", 0)):
        rule = f"coverage@10 >= -{margin}%"
        assert main(["compare", *argv, "--json", "--gate", rule]) == status
        found = json.loads(capsys.readouterr().out)
    assert [each["mean"] for each in found["means"]] == [0.5, 3, 0.5, 0.45]
    assert [each["user"] for each in found["movers"][0]["gains"]] == ["u"]


def test_a_metric_of_all_lists_that_is_typed_is_missed_in_the_file_that_lacks_it(capsys):
    write_per_user(Path("a.npz"), OLD | {f"coverage@{k}": np.array(k / 8) for k in (4, 5)})
    for files in (["a.npz", "new.csv"], ["new.csv", "a.npz"]):
        for metrics in ("coverage@5", "coverage@4:5"):
            message = error(capsys, *files, "-m", "ndcg@10", metrics)
            assert re.match(r"'new' has no 'coverage@[45]'; expected one of \['ndcg@10', ", message)


@pytest.mark.parametrize("separator", [" ", ", ", "\t"])
@pytest.mark.parametrize("header", ["", "user activity\n"])
def test_users_and_labels_are_not_labels(header, separator, capsys):
    """Else each user would be a group, and two groups of the same label two groups."""
    group_files()
    expected = printed(capsys, "old.npz", "new.npz", "--by", "groups.csv")
    rows = Path("groups.csv").read_text(encoding="utf-8").partition("\n")[2]
    text = (header + rows.replace(",", " ")).replace(" ", separator)
    Path("groups.txt").write_text(text, encoding="utf-8")
    message = error(capsys, "old.npz", "new.npz", "--by", "groups.txt")
    assert message.startswith("--by 'groups.txt', line 2: user ")
    new_header, line = re.search(
        "header is (.+) and whose lines are such as (.+)$", message
    ).groups()
    assert line in rows.splitlines()
    Path("new.csv").write_text(f"{new_header}\n{rows}", encoding="utf-8")
    assert printed(capsys, "old.npz", "new.npz", "--by", "new.csv") == expected


def test_labels_of_two_words(capsys):
    Path("groups.txt").write_text("light use\nheavy use\n" * 20)
    found = json.loads(printed(capsys, "old.npz", "new.npz", "--by", "groups.txt", "--json"))
    assert found["groups"] == ["heavy use", "light use"]


def test_a_header_above_labels(capsys):
    group_files()
    expected = printed(capsys, "old.npz", "new.npz", "--by", "groups.txt")
    labels = Path("groups.txt").read_text(encoding="utf-8")
    Path("groups.txt").write_text(f"activity\n{labels}", encoding="utf-8")
    assert error(capsys, "old.npz", "new.npz", "--by", "groups.txt") == (
        "--by 'groups.txt' has 41 labels for 40 users; expected one for each: leave out the first, "
        "'activity', if it is a header"
    )
    Path("groups.txt").write_text(labels, encoding="utf-8")
    assert printed(capsys, "old.npz", "new.npz", "--by", "groups.txt") == expected


def test_groups_that_are_numbers_are_in_their_order(capsys):
    np.save("groups.npy", np.arange(40) // 4 + 2)  # 10 comes after 9
    found = json.loads(printed(capsys, "old.npz", "new.npz", "--by", "groups.npy", "--json"))
    assert found["groups"] == list(range(2, 12))


# --- Names of models -----------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("paths", "names"),
    [
        (["a/old.npz", "b/new.csv"], ["old", "new"]),
        (["old.npz", "old.csv"], ["old.npz", "old.csv"]),
        (["a/users.npz", "b/users.npz"], ["a/users", "b/users"]),
        (["a/x/u.npz", "b/x/u.npz", "b/y/u.npz"], ["a/x/u", "b/x/u", "b/y/u"]),
        (["a/u.npz", "a/u.csv", "b/u.npz"], ["a/u.npz", "a/u.csv", "b/u.npz"]),
    ],
)
def test_models_are_called_by_what_tells_their_files_apart(paths, names):
    assert model_names([Path(path) for path in paths]) == names


def test_the_baseline_by_name_or_file(capsys):
    by_name = printed(capsys, "old.npz", "new.npz", "--baseline", "new")
    assert "old -" in by_name
    assert printed(capsys, "old.npz", "new.npz", "--baseline", "new.npz") == by_name


# --- A verdict -----------------------------------------------------------------------------------

HOLDS, OPEN, FAILS = "ndcg@10 >= -1%", "ndcg@10 >= +0.1", "ndcg@10 > +0.5"


@pytest.mark.parametrize(
    ("rules", "status"),
    [
        ([HOLDS], 0),
        ([HOLDS, FAILS], 1),
        ([HOLDS, OPEN], 3),
        ([OPEN, "--open", "pass"], 0),
        ([OPEN, "--open", "fail"], 1),
        ([FAILS, "--open", "pass"], 1),
    ],
)
def test_the_exit_status_is_the_verdict(rules, status, capsys):
    argv = [part for rule in rules for part in (["--gate", rule] if "@" in rule else [rule])]
    assert main(["compare", "old.npz", "new.npz", *argv]) == status
    out, err = capsys.readouterr()
    found = compare({"old": OLD, "new": NEW}, rng=0)
    assert out == f"{found}\n\n{found.gate([r for r in rules if '@' in r])}\n"
    notes = []
    if rules[0] == OPEN:
        note = f"the verdict is open, and --open {rules[-1]} decides the exit status"
        notes = [f"recmetrics: note: {note}"]
    assert err.splitlines() == notes


def test_labels_without_ids_are_refused_beside_files_of_two_orders(capsys):
    """The first file would decide whose label is whose, unless ids are the numbers of rows."""
    group_files()
    for name in ("u{}", "{}"):
        users = [name.format(user) for user in range(40)]
        write_per_user(Path("one.csv"), {"mrr": np.arange(40) / 40}, users)
        write_per_user(Path("two.csv"), {"mrr": np.arange(40)[::-1] / 40}, users[::-1])
        argv = ["one.csv", "two.csv", "--by", "groups.npy"]
        if name == "{}":
            values = {"one": {"mrr": np.arange(40) / 40}, "two": {"mrr": np.arange(40) / 40}}
            assert printed(capsys, *argv) == f"{compare(values, by=GROUPS)}\n"
            continue
        assert error(capsys, *argv) == (
            "--by 'groups.npy' has labels without ids, and FILE 'one.csv' and FILE 'two.csv' have "
            "the users in different orders; expected a .csv of user and group"
        )


def test_groups_that_lack_users_need_a_row_for_each(capsys):
    """An option of 'recmetrics evaluate', which files of values are told, adds no group."""
    users = [f"u{user}" for user in range(40)]
    for name, values in {"one": OLD, "two": NEW}.items():
        write_per_user(Path(f"{name}.csv"), values, users)
    Path("some.csv").write_text("user,group\nu0,a\nu1,b\n")
    assert error(capsys, "one.csv", "two.csv", "--by", "some.csv") == (
        "--by 'some.csv' has no row for 38 of the 40 users of FILE 'one.csv', the first 'u2'; "
        "expected a row for each"
    )


def test_labels_without_ids_are_refused_beside_row_numbers_in_another_order(capsys):
    """They may be in the order of the rows, or in that of the numbers."""
    group_files()
    users = list(map(str, RNG.permutation(40)))
    for name, values in {"one": OLD, "two": NEW}.items():
        write_per_user(Path(f"{name}.csv"), values, users)
    assert error(capsys, "one.csv", "two.csv", "--by", "groups.npy") == (
        "--by 'groups.npy' has labels without ids, and the users of FILE 'one.csv' are the numbers "
        "0 to 39 in another order; expected a .csv of user and group"
    )


def test_the_gate_and_the_movers_are_those_of_the_library(capsys):
    group_files()
    users = [f"u{user}" for user in range(40)]
    write_per_user(Path("ids.csv"), NEW, users)
    write_per_user(Path("old_ids.npz"), OLD, users)
    argv = ["old=old_ids.npz", "ids.csv", "--by", "groups.npy", "--movers", "2", "-m", "ndcg@10"]
    rule = "ndcg@10 >= -30% in every group"
    argv += ["--gate", rule, "--min-users", "15", "--looks", "2"]
    found = compare({"old": OLD, "ids": NEW}, metrics="ndcg@10", by=GROUPS, rng=0)
    gate = found.gate(rule, min_users=15, looks=2)
    movers = found.movers("ndcg@10", 2, users=users)
    parts = [found, gate, movers]
    assert printed(capsys, *argv) == "\n\n".join(map(str, parts)) + "\n"
    assert printed(capsys, *argv, "--markdown") == "\n".join(p.to_markdown() for p in parts)
    document = json.loads(printed(capsys, *argv, "--json"))
    assert document == found.to_dict() | {
        "gate": gate.to_dict(),
        "movers": [
            {
                "model": "ids",
                "against": "old",
                "gains": movers.to_records()[:2],
                "losses": movers.to_records()[2:],
                "noun": "user",
            }
        ],
    }


@pytest.mark.parametrize(
    ("rule", "status"),
    [
        ("ndcg@10 >= -30% in many", 0),
        ("ndcg@10 >= -30% in 'many'", 0),
        ("ndcg@10 >= -1% in many", 3),
        ('ndcg@10 > +0.5 in "m\u00e4n"', 1),
    ],
)
def test_a_rule_of_one_group(rule, status, capsys):
    group_files()
    argv = ["old.npz", "new.npz", "--by", "groups.txt", "--gate", rule, "--min-users", "10"]
    assert main(["compare", *argv]) == status
    gate = compare({"old": OLD, "new": NEW}, by=GROUPS).gate(rule, min_users=10)
    [verdict] = gate.verdicts
    assert verdict.group in rule
    assert capsys.readouterr().out.endswith(f"\n\n{gate}\n")


def test_movers_of_all_pairs_and_metrics(capsys):
    out = printed(capsys, "old.npz", "a=new.npz", "b=new.csv", "--movers", "1")
    equal = "b - a; 0 for each user with a value of both"
    pairs = ["a - old", "a - old", "b - old", "b - old", equal, equal]
    assert re.findall(r"^difference: (.*)$", out, re.MULTILINE) == pairs


@pytest.mark.parametrize(
    ("argv", "message"),
    [
        (["--looks", "2"], "--looks applies to --gate; type --gate RULE as well"),
        (["--min-users", "9"], "--min-users applies to --gate; type --gate RULE as well"),
        (["--open", "pass"], "--open applies to --gate; type --gate RULE as well"),
    ],
)
def test_what_a_verdict_refuses(argv, message, capsys):
    assert error(capsys, "old.npz", "new.npz", *argv).startswith(message)


# --- One table of all models ----------------------------------------------------------------------


def models_table(name="values.csv", **more):
    """Write one table of both models, with further columns."""
    pl = pytest.importorskip("polars", reason="polars is not installed")
    pytest.importorskip("narwhals", reason="narwhals is not installed")
    columns = {"algo": ["old"] * 40 + ["new"] * 40, "user": [f"u{u}" for u in range(40)] * 2}
    columns |= {metric: [*values, *NEW[metric]] for metric, values in OLD.items()}
    frame = pl.DataFrame(columns | {each: [value] * 80 for each, value in more.items()})
    frame = frame.fill_nan(None)
    frame.write_parquet(name) if name.endswith("parquet") else frame.write_csv(name)
    return frame


@pytest.mark.parametrize("name", ["values.csv", "values.parquet"])
def test_one_table_of_all_models(name, capsys):
    frame = models_table(name, seed=3)
    argv = [name, "--model", "algo", "--model", "seed"]
    found = compare(frame, model=["algo", "seed"], rng=0)
    assert found.models == ("old / 3", "new / 3")
    assert printed(capsys, *argv) == f"{found}\n"
    chosen = compare(frame, model="algo", metrics="ndcg@10", by="seed", rng=0)
    argv = [name, "--model", "algo", "-m", "ndcg@10", "--by", "seed", "--movers", "1"]
    assert printed(capsys, *argv) == f"{chosen}\n\n{chosen.movers('ndcg@10', 1)}\n"


@pytest.mark.parametrize("missing", ["", "nan", "NaN", "NAN", "NA", " NA ", " nan"])
def test_what_is_no_value_in_one_table_of_all_models(missing, capsys):
    """Blanks may stand around numbers; a column of integers is one of numbers by its name."""
    require_tables()
    Path("values.csv").write_text(
        "model,user,ndcg@10,hit@1,gain\n"
        f"a,NA,{missing},{missing},{missing}\n"
        "a,1,0.25, 0,1\n"
        "a,2, 0.5 ,1,3 \n"
        f"b,NA,{missing},{missing},{missing}\n"
        "b,1,0.5,1,1\n"
        "b,2,1.0,1,3 \n"
    )
    argv = ["values.csv", "--model", "model", "--baseline", "a", "--json"]
    for more, expected in (
        ([], {"ndcg@10": (0.25 + 0.5) / 2, "hit@1": (1 + 0) / 2}),
        (["-m", "gain", "hit@1"], {"gain": 0, "hit@1": (1 + 0) / 2}),
    ):
        found = json.loads(printed(capsys, *argv, *more))
        assert {each["metric"]: each["difference"] for each in found["differences"]} == expected
        assert {each["n_users"] for each in found["means"]} == {2}


def test_a_quote_within_a_cell_of_one_table_of_all_models(capsys):
    require_tables()
    lines = ["model,size,mrr", 'a,6" pipe,0.5', "a,x,1", "b,x,1", 'b,6" pipe,0.25']
    Path("values.csv").write_text("\n".join(lines))
    message = error(capsys, "values.csv", "--model", "model")
    fault = f"FILE 'values.csv', line 2: holds {lines[1]!r}, with a quote that encloses no"
    assert message.startswith(fault)
    repaired = message.rpartition(": ")[2]
    assert repaired == '"6"" pipe"'
    Path("values.csv").write_text("\n".join(lines).replace('6" pipe', repaired))
    argv = ["values.csv", "--model", "model", "--baseline", "b", "--movers", "1", "--json"]
    found = json.loads(printed(capsys, *argv))
    assert [gain["user"] for gain in found["movers"][0]["gains"]] == ['6" pipe']


@pytest.mark.parametrize("end", ["\n", "\r\n"])
def test_blank_lines_in_one_table_of_all_models(end, capsys):
    require_tables()
    lines = ["model,user,mrr", "", "a,01,0.5", "a,2,1", "", "", "b,01,1", "b,2,1", ""]
    with Path("values.csv").open("w", newline="") as file:
        file.write("".join(f"{line}{end}" for line in lines))
    argv = ["values.csv", "--model", "model", "--json"]
    found = json.loads(printed(capsys, *argv))
    assert [mean["n_users"] for mean in found["means"]] == [2, 2]
    lines[3] = '"a",2,"1,5"'
    with Path("values.csv").open("w", newline="") as file:
        file.write("".join(f"{line}{end}" for line in lines))
    assert "FILE 'values.csv', line 4: holds '1,5' as mrr" in error(capsys, *argv)


@pytest.mark.parametrize("separator", [",", ";"])
def test_a_decimal_comma_in_one_table_of_all_models(separator, capsys):
    """A label may have one: it is no number."""
    require_tables()
    argv = ["values.csv", "--model", "layers"]

    def write(*values):
        with Path("values.csv").open("w", newline="") as file:
            rows = zip(["64,32", "8,4"], ["a", "a"], values, strict=True)
            csv.writer(file, delimiter=separator).writerows([["layers", "user", "mrr"], *rows])

    write("1", "0,5")
    assert error(capsys, *argv) == (
        "FILE 'values.csv', line 3: holds '0,5' as mrr; expected a number"
    )
    write("1", "0.5")
    assert json.loads(printed(capsys, *argv, "--json"))["models"] == ["64,32", "8,4"]


def test_labels_and_ids_in_one_table_stay_as_they_are_written(capsys):
    """1.1 and 1.10 are two versions, 001 is the name of a model, and 01 another user than 1."""
    require_tables()
    with Path("values.csv").open("w", newline="") as file:
        writer = csv.writer(file)
        writer.writerow(["model", "user", "version", "mrr", "layers"])
        for user in range(20):
            for copy in (f"{user}", f"0{user}"):
                version = "1.1" if copy == f"{user}" else "1.10"
                loss = 0.25 if version == "1.1" else -0.25
                writer.writerow(["001", copy, version, 0.5, 3])
                writer.writerow(["002", copy, version, 0.5 - loss, 3])
    argv = ["values.csv", "--model", "model", "--baseline", "001", "--movers", "1", "--json"]
    found = json.loads(printed(capsys, *argv, "--by", "version"))
    assert found["models"] == ["001", "002"]
    differences = {each["group"]: each["difference"] for each in found["differences"]}
    assert differences == {None: 0.0, "1.1": -0.25, "1.10": 0.25}
    assert {mean["n_users"] for mean in found["means"]} == {40, 20}
    assert [each["user"] for each in found["movers"][0]["gains"]] == [["00", 3]]
    grouped = json.loads(printed(capsys, *argv, "-m", "mrr", "--by", "layers"))
    assert {each["group"] for each in grouped["means"]} == {None, 3}
    gains = grouped["movers"][0]["gains"]
    assert [each["user"] for each in gains] == [["00", "1.10"]]


def test_labels_of_truth_stay_as_they_are_written(capsys):
    """Python would write True, which no option names."""
    pytest.importorskip("polars", reason="polars is not installed")
    pytest.importorskip("narwhals", reason="narwhals is not installed")
    lines = ["new,user,premium,mrr"]
    for user in range(4):
        premium = "true" if user % 2 else "false"
        lines += [f"true,{user},{premium},0.5", f"false,{user},{premium},1"]
    Path("values.csv").write_text("\n".join(lines))
    argv = ["values.csv", "--model", "new", "--baseline", "true", "--by", "premium", "--json"]
    found = json.loads(printed(capsys, *argv))
    assert found["models"] == ["true", "false"]
    assert found["groups"] == ["false", "true"]


@pytest.mark.parametrize(
    ("text", "fault"),
    [
        # A file that is cut off would leave its last user out.
        ("model,user,mrr\na,1,0.5\na,2,1\nb,1,0.5\nb,2", "line 5: 2 fields; expected 3, as in"),
        ("model,user,hit@1,hit@1\na,1,0,1\nb,1,1,0\n", "has the column 'hit@1' twice; expected"),
        ("model,user,mrr\na,1,NA\na,2,\nb,1,1\nb,2,no\n", "line 5: holds 'no' as mrr; expected"),
    ],
)
def test_one_table_of_all_models_that_is_malformed(text, fault, capsys):
    pytest.importorskip("polars", reason="polars is not installed")
    pytest.importorskip("narwhals", reason="narwhals is not installed")
    Path("values.csv").write_text(text)
    message = error(capsys, "values.csv", "--model", "model")
    assert re.match(rf"FILE 'values\.csv',? {re.escape(fault)}", message)


def test_columns_without_a_name_may_stand_twice(capsys):
    """Spreadsheets end each row with cells of empty columns."""
    pytest.importorskip("polars", reason="polars is not installed")
    pytest.importorskip("narwhals", reason="narwhals is not installed")
    Path("values.csv").write_text("model,user,mrr,,\na,1,0.5,,\na,2,1,,\nb,1,0.5,,\nb,2,0,,\n")
    found = json.loads(printed(capsys, "values.csv", "--model", "model", "--json"))
    assert [mean["mean"] for mean in found["means"]] == [0.75, 0.25]


def test_a_metric_that_is_not_compared_may_hold_words(capsys):
    pytest.importorskip("polars", reason="polars is not installed")
    pytest.importorskip("narwhals", reason="narwhals is not installed")
    Path("values.csv").write_text("model,map,mrr\na,north,0.5\na,south,1\nb,north,1\nb,south,1\n")
    argv = ["values.csv", "--model", "model", "-m", "mrr", "--baseline", "a", "--json"]
    [difference] = json.loads(printed(capsys, *argv))["differences"]
    assert difference["difference"] == 0.25


def test_advice_on_a_column_of_decimals_gives_options(capsys):
    pytest.importorskip("polars", reason="polars is not installed")
    pytest.importorskip("narwhals", reason="narwhals is not installed")
    Path("values.csv").write_text("model,user,mrr\na,1.0,0.5\na,2.0,1\nb,1.0,1\nb,2.0,1\n")
    argv = ["values.csv", "--model", "model", "--baseline", "a"]
    message = error(capsys, *argv)
    assert "type -m mrr user if it is a metric, -m mrr if it identifies the user, or" in message
    [difference] = json.loads(printed(capsys, *argv, "-m", "mrr", "--json"))["differences"]
    assert difference["difference"] == 0.25


@pytest.mark.parametrize("suffix", ["csv", "parquet"])
def test_a_name_with_the_signs_of_a_pattern_is_that_of_one_file(suffix, capsys):
    models_table(f"values1.{suffix}", seed=3)
    models_table(f"values[1].{suffix}", seed=4)
    out = printed(capsys, f"values[1].{suffix}", "--model", "algo", "--model", "seed")
    assert "old / 4" in out


@pytest.mark.parametrize(
    ("argv", "message"),
    [
        (["values.csv", "old.npz", "--model", "algo"], "--model takes one table of all models, "),
        (
            ["old.npz", "--model", "algo"],
            "FILE 'old.npz' is an .npz or another zip archive; expected a .csv, .tsv or .parquet ",
        ),
    ],
)
def test_tables_that_are_refused(argv, message, capsys):
    models_table(loss=0.5)
    assert error(capsys, *argv).startswith(message)


# --- Several runs, the compact table --------------------------------------------------------------


def run_files():
    """Three runs of a model; the values of each."""
    runs = [{m: v + shift for m, v in NEW.items()} for shift in (-0.05, 0.0, 0.02)]
    for i, values in enumerate(runs):
        write_per_user(Path(f"seed{i}.csv"), values)
    return runs, [f"als=seed{i}.csv" for i in range(3)]


def test_files_of_one_name_are_runs(capsys):
    runs, files = run_files()
    expected = compare({"old": OLD, "als": runs}, baseline="old", rng=0)
    out = printed(capsys, "old.npz", *files, "--baseline", "old.npz", "--latex")
    assert out == expected.to_latex()
    found = json.loads(printed(capsys, "old.npz", *files, "--json"))
    assert found["models"] == ["old", "als"]
    assert [(each["n_runs"], each["run_std"]) for each in found["means"]] == [
        (each.n_runs, each.run_std if each.n_runs > 1 else None) for each in expected.means
    ]


def test_runs_may_be_paired(capsys):
    runs, files = run_files()
    argv = [*files[:2], "pop=old.npz", "pop=new.csv"]
    models = {"als": runs[:2], "pop": [OLD, NEW]}
    paired = compare(models, paired_runs=True, rng=0).to_markdown()
    assert printed(capsys, *argv, "--paired-runs", "--markdown") == paired
    apart = compare(models, rng=0).to_markdown()
    assert printed(capsys, *argv, "--markdown") == apart
    assert apart != paired


def test_a_file_whose_name_has_the_sign_is_a_file(capsys):
    Path("lr=0.1.csv").write_bytes(Path("new.csv").read_bytes())
    expected = compare({"old": OLD, "lr=0.1": NEW}, rng=0).to_markdown()
    assert printed(capsys, "old.npz", "lr=0.1.csv", "--markdown") == expected
    renamed = compare({"before": OLD, "after": NEW}, rng=0).to_markdown()
    assert printed(capsys, "before=old.npz", "after=lr=0.1.csv", "--markdown") == renamed


def test_the_compact_table_is_that_of_the_library(capsys):
    table = compare({"old": OLD, "new": NEW}, metrics="ndcg@10", rng=0).compact(digits=2)
    argv = ["old.npz", "new.npz", "--compact", "-m", "ndcg@10", "--digits", "2"]
    page = printed(capsys, *argv)
    assert page == f"{table}\n"
    assert "Holm over 1 metric x 1 pair" in page  # what is not shown is not counted
    assert printed(capsys, *argv, "--markdown") == table.to_markdown()
    both = compare({"old": OLD, "new": NEW}, rng=0).compact([*OLD][::-1])
    turned = ["--compact", "-m", *[*OLD][::-1], "--latex", "old.npz", "new.npz"]
    assert printed(capsys, *turned) == both.to_latex()
    labels = ["x", "y"] * (len(OLD["ndcg@10"]) // 2)
    Path("groups.txt").write_text("\n".join(labels))
    grouped = compare({"old": OLD, "new": NEW}, metrics="ndcg@10", by=labels, rng=0)
    table = grouped.compact(groups=True, digits=2)
    assert printed(capsys, *argv, "--by", "groups.txt") == f"{table}\n"


RUN_ERRORS = [
    (
        ["a=old.npz", "a=new.npz"],
        "give the files of two models or more to compare, or one table of all models and --model "
        "COLUMN; see 'recmetrics compare --help'",
    ),
    (
        ["old.npz", "old=new.npz"],
        "'old' is the name of FILE 'old.npz' and of a FILE given as old=FILE; type old=old.npz "
        "if it is a run of the same model, or another name",
    ),
    (["old.npz", "a=new.npz", "a=./new.npz"], "FILE 'new.npz' is given twice; give every file "),
    (
        ["old.npz", "new.npz", "--gate", "hit@1 > 0", "recall(denom=list)@2 >= 0"],
        "'recall(denom=list)@2 >= 0' is a rule, not a FILE; write --gate before each rule",
    ),
    (["old.npz", "x/a=absent.npz"], "cannot open FILE 'x/a=absent.npz': No such file or "),
    (["old.npz", "=new.npz"], "cannot open FILE '=new.npz': No such file or directory; "),
    (["old.npz", "new.npz", "--digits", "2"], "--digits applies to the compact table; type "),
    (
        ["old.npz", "new.npz", "--compact", "--json"],
        "--json prints all numbers, not the compact table; leave out --compact",
    ),
    (
        ["old.npz"],
        "give two files or more to compare, or one table of all models and --model COLUMN; see "
        "'recmetrics compare --help'",
    ),
    (
        ["old.npz", "--by", "groups.txt"],
        "give two files or more to compare, or one table of all models and --model COLUMN; see "
        "'recmetrics compare --help'; the groups of one model are for recmetrics.summary(..., "
        "by=...) in Python",
    ),
    (
        ["old.npz", "new.npz", "--baseline", "older"],
        "--baseline 'older' is not one of the models: old, new",
    ),
    (
        ["old.npz", "absent.npz"],
        f"cannot open FILE 'absent.npz': No such file or directory; {WANTED}",
    ),
    (
        ["old.npz", "new.npz", "--plot", "plot.jpg"],
        "--plot 'plot.jpg': expected a file name that ends in .png or .pdf or .svg",
    ),
    (
        ["old.npz", "new.npz", "--seed", "-1"],
        "argument --seed: expected an integer >= 0, got '-1'; see 'recmetrics compare --help'",
    ),
]


def test_a_file_that_lacks_a_metric_is_told_which_both_have(capsys):
    np.savez("one.npz", **{"ndcg@10": OLD["ndcg@10"], "hit@1": np.zeros(40), "b c": np.ones(40)})
    np.savez("two.npz", **{"ndcg@10": NEW["ndcg@10"], "b c": np.ones(40)})
    assert error(capsys, "one.npz", "two.npz") == (
        "'two' has no metric 'hit@1', which 'one' has; compute the same metrics for every model, "
        "or, to compare those of both, type -m ndcg@10 'b c'"
    )
    printed(capsys, "one.npz", "two.npz", "-m", "ndcg@10", "b c")


@pytest.mark.parametrize(("argv", "message"), RUN_ERRORS)
def test_bad_runs_tables_and_arguments(argv, message, capsys):
    assert error(capsys, *argv).startswith(message)


# --- Errors --------------------------------------------------------------------------------------


BAD_FILES = {
    "text.txt": (b"user\n", f"FILE 'text.txt' is neither an .npz nor a .csv; {WANTED}"),
    "other.csv": (
        b"user,ndcg@10,recall(denom=relevant)@20\n1,0.5,0.5\n",
        "FILE 'other.csv' has no row for 39 of the 40 users of FILE 'old.csv', the first '0'; "
        "expected a row for each; 'recmetrics evaluate --include-missing' adds users without "
        "recommendations",
    ),
    "strange.csv": (
        b"user,ndcg@10,recall(denom=relevant)@20\nu0,0.5,0.5\n",
        "FILE 'strange.csv' has no row for 40 of the 40 users of FILE 'old.csv', the first '0'; "
        "expected a row for each; its first user is 'u0'",
    ),
    "more.csv": (
        b"user,ndcg@10,recall(denom=relevant)@20\n%s"
        % b"".join(b"%d,0,0\n" % u for u in range(42)),
        "FILE 'old.csv' has no row for 2 of the 42 users of FILE 'more.csv', the first '40'; "
        "expected a row for each; 'recmetrics evaluate --include-missing' adds users without "
        "recommendations",
    ),
    "few.csv": (
        b"user,ndcg@10,recall(denom=relevant)@20\n0,0.5,0.5\n",
        "FILE 'few.csv' has no row for 39 of the 40 users of FILE 'old.csv', the first '1'; ",
    ),
}


@pytest.mark.parametrize("name", BAD_FILES)
def test_bad_files(name, capsys):
    content, message = BAD_FILES[name]
    Path(name).write_bytes(content)
    assert error(capsys, "old.csv", name).startswith(message)


def test_a_file_that_lacks_a_group(capsys):
    for name, rows in {"one.csv": "a,1\nb,0\n", "two.csv": "a,1\nc,0\n"}.items():
        Path(name).write_text(f"group,mrr\n{rows}")
    assert error(capsys, "one.csv", "two.csv") == (
        "FILE 'two.csv' has no row for 1 of the 2 groups of FILE 'one.csv', the first 'b'; "
        "expected a row for each"
    )


def test_characters_without_a_font_are_told_in_one_line(capsys):
    pytest.importorskip("matplotlib", reason="matplotlib is not installed")
    assert main(["compare", "模型=old.npz", "new.npz", "--plot", "plot.png"]) == 0
    [line] = capsys.readouterr().err.splitlines()
    start = "recmetrics: note: the picture has \u25a1 in place of '模型', as no font"
    assert line.startswith(start)


def test_without_matplotlib(capsys, monkeypatch):
    monkeypatch.setitem(sys.modules, "matplotlib.figure", None)
    message = error(capsys, "old.npz", "new.npz", "--plot", "p.png")
    assert message == f"--plot needs the package matplotlib; type: {install('cli')}"
    message = error(capsys, "old.npz", "new.npz", "--plot", "p.jpg")
    assert message == "--plot 'p.jpg': expected a file name that ends in .png or .pdf or .svg"
