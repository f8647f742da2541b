"""The options of each command as rows of a table, with their help; the files that they name."""

from __future__ import annotations

import argparse
import re
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple, get_args

from recmetrics import ArgumentError, Audit, Evaluation
from recmetrics._core.spec import SIDE, SideInput, split_metrics
from recmetrics._core.types import Convention, Invalid, NaNPolicy, RankGaps, Ties, Undefined
from recmetrics._files import Lines, Source
from recmetrics._report import Correction, PairedTest

DEFAULT_K = 10
DEFAULT_PLOT = Path("recmetrics-demo.png")
FORMS = {
    "SCORES": "an .npy or .npz",
    "RECS": "a table of recommendations",
    "GROUPS": "a table without TRUTH",
}
"""The forms of the first file of ``evaluate``."""


class Row(NamedTuple):
    """One option: its flags, its help, its settings for argparse, and the forms that take it.

    ``forms`` are names of ``FORMS``, separated by blanks. Rows with the same ``instead_of`` exclude
    each other; a row with "" excludes none.
    """

    flags: str
    help: str
    settings: Mapping[str, Any] = {}
    forms: str = " ".join(FORMS)
    instead_of: str = ""

    @property
    def name(self) -> str:
        """The argument that the option becomes."""
        return str(self.settings.get("dest", self.flag.lstrip("-").replace("-", "_")))

    @property
    def flag(self) -> str:
        """The first of its flags."""
        return self.flags.split()[0]

    @property
    def spelling(self) -> str:
        """The option as a message names it to a user who has not given it."""
        if self.settings.get("action") is argparse.BooleanOptionalAction:
            return f"--no-{self.flag.lstrip('-')}"  # the other is the default
        takes_file = self.settings.get("type") in (Path, _stratum)
        return f"{self.flag} {self.settings['metavar']}" if takes_file else self.flag

    @property
    def default(self) -> Any:
        """The argument where the option is not given."""
        is_flag = self.settings.get("action") == "store_true"
        return self.settings.get("default", False if is_flag else None)


def whole(least: int) -> Callable[[str], int]:
    """Make the function by which argparse reads an integer that is at least ``least``."""

    def read(text: str) -> int:
        """Read the integer of a word; fewer than 19 digits, so that int64 holds it."""
        if not (text.isascii() and text.isdecimal() and len(text) < 19 and int(text) >= least):
            msg = f"expected an integer >= {least}, got {text!r}"
            raise argparse.ArgumentTypeError(msg)
        return int(text)

    return read


def _stratum(text: str) -> tuple[str, Path]:
    """Read NAME=FILE as the name of a stratum, a set of items, and its file."""
    name, _, file = text.partition("=")
    if not re.fullmatch(r"[\w.-]+", name) or not file:
        msg = f"expected NAME=FILE, such as tail=items.npy, got {text!r}"
        raise argparse.ArgumentTypeError(msg)
    return name, Path(file)


def _file(metavar: str = "FILE", **settings: Any) -> dict[str, Any]:
    """The settings of argparse for an option that names a file, and ``settings``."""
    return {"type": Path, "metavar": metavar, **settings}


def _number(least: int, **settings: Any) -> dict[str, Any]:
    """The settings of argparse for an option with an integer >= ``least``, and ``settings``."""
    return {"type": whole(least), "metavar": "N", **settings}


def _choice(literal: Any, **settings: Any) -> dict[str, Any]:
    """The settings of argparse for an option with one word of ``literal``, and ``settings``."""
    return {"choices": get_args(literal), **settings}


def _column(name: str, meaning: str, forms: str = "", **settings: Any) -> Row:
    """The row of the option --NAME, which renames the column ``name`` in the forms ``forms``."""
    return Row(f"--{name} --{name}-col", meaning, {"metavar": "COLUMN", **settings}, forms)


def _row_of_side(name: str, side_input: SideInput) -> Row:
    """The row of an option with side information: --NAME, or --NAME-from for training rows."""
    meaning = _SIDE_HELP.get(name, f"{side_input.content} {side_input.shape}, .npy or .npz")
    if side_input.of_train is None:
        return Row(f"--{name}", meaning, _file(), forms="SCORES")
    return Row(f"--{name}-from", meaning, _file("TRAIN", dest=name), forms="SCORES RECS")


_SIDE_HELP = {
    "popularity": "training interactions, in a format of TRUTH, for metrics such as novelty",
    "propensity": "training interactions, in a format of TRUTH, for metrics such as "
    "'recall(weigh=snips)@20'",
    "features": "feature vectors of the items (n_items, d), .npy or .npz, for diversity",
    "similarity": "similarity of each pair of items (n_items, n_items), .npy or .npz, instead of "
    "--features",
    "genres": "1 if the item has the genre (n_items, g), .npy or .npz, for calibration",
    "profile": "genres of the users (n_users, g), or training interactions, .npy or .npz",
}
# Settings of argparse that several commands share.
_FLAG_SETTINGS = {"action": "store_true"}
_METRICS_SETTINGS = {
    "dest": "metrics",
    "type": split_metrics,
    "action": "extend",
    "nargs": "+",
    "metavar": "METRIC",
}
_CONFIDENCE_SETTINGS = {"type": float, "default": 0.95, "metavar": "P"}
_JSON_ROW = Row("--json", "print JSON in full precision", _FLAG_SETTINGS, instead_of="output")
DEBUG = Row(
    "--debug", "print the traceback of an error that is a fault of recmetrics", _FLAG_SETTINGS
)
"""An option of every command."""

EVALUATE = (
    Row(
        "-m --metric",
        "one or more metrics: name, name@k or 'name(option=value)@k', up to the next option; "
        "'recmetrics metrics' lists them (default: all accuracy metrics with values in [0, 1] for "
        f"which higher is better, at cutoff {DEFAULT_K}, and, of SCORES and GROUPS, auc)",
        _METRICS_SETTINGS,
    ),
    Row("--exclude", "items that must not be recommended, per user", _file("TRAIN"), "SCORES RECS"),
    Row("--candidates", "the only items that may be recommended, per user", _file(), "SCORES"),
    Row(
        "--stratum",
        "a set of items for metrics such as 'recall(of=NAME)@20': in a format of TRUTH, or an .npy "
        "of items for all users; with RECS a table of items; may be repeated",
        {"dest": "strata", "type": _stratum, "action": "append", "metavar": "NAME=FILE"},
        "SCORES RECS",
    ),
    Row(
        "--lines",
        "how to read a text file whose lines all have two or three numbers, or all equally many: "
        "as triples, 'user item [relevance]', or as lists, 'user item item ...'",
        _choice(Lines),
        "SCORES",
    ),
    *(_row_of_side(name, side) for name, side in SIDE.items()),
    _column("user", "with RECS: name of the column of users in all tables (default user)", "RECS"),
    _column("item", "with RECS: name of the column of items in all tables (default item)", "RECS"),
    _column("group", "with GROUPS: name of the column of group ids (default group)", "GROUPS"),
    _column(
        "relevance",
        "name of the column of relevances: in GROUPS (default relevance), or, with RECS, in TRUTH "
        "(default relevance or rating)",
        "RECS GROUPS",
    ),
    Row(
        "--include-missing",
        "with RECS: count users of TRUTH without recommendations as empty lists (default, but "
        "not under --convention trec), or leave them out",
        {"action": argparse.BooleanOptionalAction, "default": None},
        "RECS",
    ),
    _column("rank", "with RECS: name of the column of ranks, 1 is best (default rank)", "RECS"),
    _column(
        "score", "with RECS or GROUPS: name of the column of scores (default score)", "RECS GROUPS"
    ),
    Row(
        "--chunks",
        "with RECS: read the files in parts, and evaluate the users in N buckets (default: by the "
        "size of the files)",
        _number(1),
        "RECS",
    ),
    Row(
        "--in-order",
        "with RECS: take the rows of each list in order, best first",
        _FLAG_SETTINGS,
        "RECS",
    ),
    Row(
        "--rank-gaps",
        "with RECS: how to read ranks with gaps: close them to 1, 2, 3, ..., or keep the ranks as "
        "they are (default: as in --convention, else close)",
        _choice(RankGaps),
        "RECS",
    ),
    Row(
        "--catalogue",
        "with RECS: a table of all items that may be recommended; needed for metrics of all "
        "lists, such as coverage, for fallout, and without a cutoff for auc, mean_rank and "
        "percentile_rank",
        _file(),
        "RECS",
    ),
    *(
        Row(
            flag,
            f"with RECS: {items}: raise an error, waste the rank of such an item (no hit), or drop "
            "it, so that later items move up (default raise)",
            _choice(Invalid, default="raise"),
            "RECS",
        )
        for flag, items in (
            ("--repeats", "repeated items of a list"),
            ("--unknown", "items outside the --catalogue"),
        )
    ),
    Row(
        "--undefined",
        "value for users or groups without relevant items: nan (left out of the mean), 0, 1, or an "
        "error (default: as in --convention, else nan)",
        _choice(Undefined),
    ),
    Row(
        "--convention",
        "use the metric definitions of another system: %(choices)s",
        _choice(Convention, type=str.lower, metavar="NAME"),
    ),
    Row(
        "--nan",
        "NaN scores: raise an error, or never recommend the item (default raise)",
        _choice(NaNPolicy, default="raise"),
        "SCORES GROUPS",
    ),
    Row(
        "--ties",
        "how equal scores rank: by item index; or the mean, worst or best value over all orders; "
        "range: rows for the mean, the least and the greatest value (default: as in --convention, "
        "else index)",
        _choice(Ties),
        "SCORES GROUPS",
    ),
    Row(
        "--chance",
        "with SCORES: also show the means of a random ranking and of the best possible ranking of "
        "the items that may be recommended; in a dense .npy, those of score -inf count among these",
        _FLAG_SETTINGS,
        "SCORES",
    ),
    Row(
        "--audit",
        "with SCORES: first report problems of the data, at the largest cutoff of the metrics: "
        "NaN, ties at the cutoff, excluded relevant items, users without relevant items, ...",
        _FLAG_SETTINGS,
        "SCORES",
    ),
    Row(
        "--threads",
        "number of threads (default: RECMETRICS_NUM_THREADS, or else all cores)",
        _number(1, dest="n_threads"),
    ),
    Row("--confidence", "confidence of the intervals (default 0.95)", _CONFIDENCE_SETTINGS),
    Row(
        "--per-user",
        "write the values of each user or group, and weights of a convention, to FILE, a .csv, or "
        "an .npz, which also has metrics of all lists",
        _file(),
    ),
    _JSON_ROW,
)

COMPARE = (
    Row(
        "--paired-runs",
        "run i of each model is on the same data, such as fold i; without it, the runs of each "
        "model are drawn independently",
        _FLAG_SETTINGS,
    ),
    Row(
        "--model",
        "FILE is one .csv, .tsv or .parquet of all models, with a row per model and user, and "
        "COLUMN names the model; may be repeated. Other columns are metrics, or identify the user",
        {"action": "append", "metavar": "COLUMN"},
    ),
    Row(
        "--baseline",
        "the model to compare all others with, by name or file (default: all "
        "pairs; for --gate, the first of two models)",
        {"metavar": "MODEL"},
    ),
    Row(
        "--gate",
        "a rule for the difference to the baseline; may be repeated. 'ndcg@10 >= -1%%' allows a "
        "loss of 1 %% of the baseline, 'recall@20 > 0' asks for a gain, 'ndcg@10 >= -5%% in every "
        "group' judges each group of --by. Exit status: 0 if all rules hold, 1 if one fails, 3 if "
        "the verdict is open",
        {"dest": "rules", "action": "append", "metavar": "RULE"},
    ),
    Row(
        "--min-users",
        "in every group: groups of fewer users are not judged (default 30)",
        _number(2),
    ),
    Row(
        "--looks",
        "how many times you plan to run the gate at most, each time with more users (default 1)",
        _number(1),
    ),
    Row("--open", "take an open verdict as passed or failed", {"choices": ("pass", "fail")}),
    Row(
        "--movers",
        "print the N users with the largest gain and the largest loss in each metric",
        _number(1),
    ),
    Row(
        "--by",
        "the group of each user, such as a segment; adds the statistics of each group and the "
        "worst group. An .npy, a .csv or .tsv of user and group, or text with one label per line; "
        "with --model, a column",
        _file("GROUPS"),
    ),
    Row(
        "--confidence",
        "confidence of the intervals; p < 1 - P is significant (default 0.95)",
        _CONFIDENCE_SETTINGS,
    ),
    Row(
        "--test",
        "paired test; may be repeated, the first test decides on significance (default t)",
        _choice(PairedTest, dest="tests", action="append"),
    ),
    Row(
        "--correction",
        "correction of the p-values for multiple tests (default holm)",
        {"choices": (*get_args(Correction), "none"), "default": "holm"},
    ),
    Row(
        "--seed",
        "seed of the random sign flips of --test permutation (default 0); nothing else is random",
        _number(0, default=0),
    ),
    Row("--plot", "draw the comparison to FILE, a .png, .pdf or .svg", _file()),
    Row(
        "--compact",
        "print a table of models by metrics, and one for each group, with letters that mark "
        "significance; with --latex, a table with caption and label",
        _FLAG_SETTINGS,
    ),
    Row(
        "-m --metric",
        "one or more metrics to compare, up to the next option (default: all); a range such as "
        "ndcg@1:20 is not tested",
        _METRICS_SETTINGS,
    ),
    Row(
        "--lower-is-better",
        "a metric for which lower is better, besides those that recmetrics knows, such as gini; "
        "may be repeated",
        {"action": "append", "metavar": "METRIC", "default": []},
    ),
    Row("--digits", "number of decimals in the compact table", _number(0)),
    Row("--markdown", "print Markdown tables", _FLAG_SETTINGS, instead_of="output"),
    Row("--latex", "print LaTeX tables", _FLAG_SETTINGS, instead_of="output"),
    _JSON_ROW,
)

# The options of ``evaluate`` that ``identify`` takes, too: those of the inputs.
_IDENTIFY_NAMES = {
    *("exclude", "candidates", "user", "item", "relevance", "rank", "score", "in_order"),
    *("rank_gaps", "include_missing", "catalogue", "repeats", "unknown"),
    *("lines", "nan", "n_threads", "json"),
}
_IDENTIFY_HELP = {  # without groups and conventions, which ``identify`` does not take
    "relevance": "with RECS: name of the column of relevances in TRUTH (default relevance or "
    "rating)",
    "score": "with RECS: name of the column of scores (default score)",
    "include_missing": "with RECS: count users of TRUTH without recommendations as empty lists "
    "(default), or leave them out",
    "rank_gaps": "with RECS: how to read ranks with gaps: close them to 1, 2, 3, ... (default), or "
    "keep the ranks as they are",
}
IDENTIFY = (
    Row(
        "--value",
        "the number: 0.0932 matches the means that round to it, and so does '9.32 %%'",
        {"metavar": "NUMBER", "required": True},
    ),
    Row(
        "-m --metric",
        "the metric, such as ndcg@10",
        {"dest": "metric", "action": "append", "metavar": "METRIC", "required": True},
    ),
    *(
        row._replace(help=_IDENTIFY_HELP.get(row.name, row.help))
        for row in EVALUATE
        if row.name in _IDENTIFY_NAMES
    ),
)

AUDIT_TIMES = (
    *(
        _column(name, f"name of the column of {name}s (default {name})", default=name)
        for name in ("user", "item", "time")
    ),
    _JSON_ROW,
)

METRICS_PAGES = (
    Row("--markdown", "print the catalogue as a Markdown table", _FLAG_SETTINGS),
    *(row for row in EVALUATE if row.name == "convention"),
)

DEMO = (
    *(
        Row(
            flags,
            f"{meaning} (default {default}, at least {least})",
            _number(least, default=default),
        )
        for flags, default, least, meaning in (
            ("--users", 600, 10, "users to simulate"),
            ("--items", 2000, 100, "items in the catalogue"),
            ("--epochs", 10, 1, "epochs of training"),
            ("--factors", 16, 1, "latent factors of the model"),
            ("--seed", 0, 0, "seed of all random draws"),
        )
    ),
    Row(
        "--plot",
        f"write the learning curve to FILE, a .png (default {DEFAULT_PLOT})",
        _file(),
        instead_of="picture",
    ),
    Row("--no-plot", "write no picture", _FLAG_SETTINGS, instead_of="picture"),
)


class Measured(NamedTuple):
    """The evaluation of the files, and what is reported beside it.

    ``ids`` are those of the rows, None where the files have none. ``levels`` are the values of
    "chance" and "ceiling", {level: {metric: value}}, ``audit`` the report of ``--audit``.
    """

    evaluation: Evaluation
    ids: Sequence[str] | None = None
    levels: Mapping[str, Mapping[str, Any]] = {}
    audit: Audit | None = None


def rules_of(args: argparse.Namespace) -> dict[str, Any]:
    """Give the options that all methods of the library share, under its names."""
    return {name: getattr(args, name) for name in ("undefined", "convention", "n_threads")}


def sources_of(args: argparse.Namespace, argument: str) -> dict[str, Source]:
    """Give the files of the command line, by the argument that each becomes.

    The first file becomes ``argument``. Messages name the files from here on.
    """
    sources = {argument: Source(argument.upper(), Path(args.files[0]))}
    if len(args.files) > 1:
        sources["truth"] = Source("TRUTH", Path(args.files[1]))
    for row in EVALUATE:
        path = getattr(args, row.name, None)  # no other command has all of them
        if isinstance(path, Path) and row.name != "per_user":
            sources[row.name] = Source(row.flag, path)
    for name, path in getattr(args, "strata", None) or []:
        if f"strata[{name!r}]" in sources:
            msg = "--stratum has the same name twice; give each stratum a different name"
            raise ArgumentError(msg)
        sources[f"strata[{name!r}]"] = Source(f"--stratum {name}", path, "=")
    args.spellings.update({name: source.spelling for name, source in sources.items()})
    return sources


def strata_of(args: argparse.Namespace, sources: Mapping[str, Source]) -> dict[str, Source]:
    """Give the file of each stratum by its name; ``sources`` are those of ``sources_of``."""
    return {name: sources[f"strata[{name!r}]"] for name, _ in args.strata or []}
