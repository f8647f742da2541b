"""Write ``docs/metrics/``, the pictures of ``docs/pictures/``, and the README's list of metrics.

A page for each metric of the registry, and one that lists them. The worked examples are those of
``example.py``.
"""

import inspect
import math
import re
import textwrap
import warnings
from collections import defaultdict
from pathlib import Path
from typing import Any

import example
import pictures

from recmetrics import RecmetricsWarning
from recmetrics._core.spec.grammar import make_spec
from recmetrics._core.spec.registry import METRICS, NO_RELEVANT_ITEM, Metric, Option
from recmetrics._core.spec.systems import CONVENTIONS
from recmetrics._inspection import explain, interval
from recmetrics.cli._metric_pages import _markdown as rows_of

DOCS = Path(__file__).parents[1]
README = DOCS.parent / "README.md"
BLOCK = re.compile(r"(<!-- metrics: .*? -->\n)(.*?)(<!-- end of metrics -->)", re.DOTALL)

KINDS = {
    "hits": ("Accuracy", "One value per user, read from the ground truth."),
    "lists": (
        "Beyond accuracy, per user",
        "One value per user, read from the list itself and from what is known about items and "
        "users. Only `serendipity` also reads the truth.",
    ),
    "exposure": ("Catalogue metrics", "One value for all lists together."),
}
WRITTEN = "<!-- written by `python docs/site/catalogue.py`; do not edit -->\n"

# What the letters of the formulas mean, by the LaTeX that they are searched by.
SYMBOLS = {
    r"h_[rs]": ("h_r", "1 if the item at rank r is relevant, else 0"),
    r"(?<![a-z])g_r": ("g_r", "the gain at rank r: the relevance of the item there"),
    r"g\^\*_r": (
        "g^*_r",
        "the gain at rank r of the ideal list: the user's relevances, descending",
    ),
    r"y_": ("y_r", "the relevance of the item at rank r; y_max: the top of the scale"),
    r"\bR\b(?!_)": ("R", "how many items are relevant to the user, listed or not"),
    r"R_\+": ("R_+, R_-", "the relevant and the other items that may be recommended"),
    r"r_i\b": (
        "r_i",
        "the rank of item i in the whole list; infinite if it may not be recommended",
    ),
    r"s_[ij]\b(?!\))": ("s_i", "the score of item i"),
    r"\bk\b": ("k", "the cutoff"),
    r"\bm\b": ("m", "how many items count: k, or the length of a shorter list"),
    r"i_[rs]": ("i_r", "the item at rank r"),
    r"\\pi": (r"\pi(i)", "the popularity of item i: the share of users who have it"),
    r"\bH\b": ("H", "the head: the fewest most popular items with 1 - tail of the interactions"),
    r"p_c": ("p_c, q_c", "the share of genre c in the user's profile, and in the list"),
    r"L_u": ("L_u", "the top k of user u"),
    r"\|I\|": ("I", "the items of the catalogue"),
    r"\bU\b": ("U", "how many lists there are"),
    r"n_i": ("n_i", "in how many lists item i is"),
    r"e_i": ("e_i", "the exposure of item i; its rank in the list of user u is r_u(i)"),
}


def files() -> dict[Path, str]:
    """Every file that this script writes, with its text."""
    pages = {"index": overview()} | {metric.name: page(metric) for metric in METRICS.values()}
    return {
        **{DOCS / "metrics" / f"{name}.md": text for name, text in pages.items()},
        **{DOCS / "pictures" / f"{name}.svg": text for name, text in pictures.drawn().items()},
        README: BLOCK.sub(
            lambda found: f"{found[1]}\n{families()}\n{found[3]}", README.read_text()
        ),
    }


def navigation() -> list[Any]:
    """The entries of the catalogue in the navigation."""
    return ["metrics/index.md", *({title: paths(kind)} for kind, (title, _) in KINDS.items())]


def paths(kind: str) -> list[str]:
    """The pages of the metrics of a kind."""
    return [f"metrics/{metric.name}.md" for metric in METRICS.values() if metric.reads == kind]


def searched() -> dict[str, list[str]]:
    """The names of each metric by the path of its page, also as words; no single letters."""
    found = {}
    for metric in METRICS.values():
        names = [name for name in (metric.name, *metric.aliases) if len(name) > 1]
        words = [re.sub(r"(?<=\w\w)_(?=\w\w)", " ", name) for name in names]
        found[f"metrics/{metric.name}.md"] = list(dict.fromkeys(names + words))
    return found


def families() -> str:
    """The list of the README: a line for each kind of metrics."""
    lines = []
    for kind, (title, _) in KINDS.items():
        links = [
            f"[{m.name}](docs/metrics/{m.name}.md)" for m in METRICS.values() if m.reads == kind
        ]
        lines.append(
            textwrap.fill(f"- **{title}**: {', '.join(links)}", 110, subsequent_indent="  ")
        )
    return "\n".join(lines) + "\n"


OVERVIEW = """\
A metric string is `name`, `name@k` or `name(option=value, ...)@k`. Case does not matter, except in
the name of a stratum; nor do blanks before and after a name, a value, a bracket or a sign.
Without `@k`, the metric uses the whole list: k is then the number of items that may be recommended
to the user. [Choosing a metric](../choosing.md) says which one answers which question.

R is the number of relevant items of the user, including those that are excluded or not recommended.
The names after the first one are aliases. The first value of an option is its default. The column
"needs" lists [required arguments](../inputs.md#side-information).

With `rel=NUMBER`, only items with a relevance of at least NUMBER are relevant; `ndcg`, `dcg` and
`cg` then use the relevance 1 for these items and 0 for all others. `weigh=` corrects for items that
are observed more often than others, by their
[propensities](../guides/batch.md#propensities-correct-for-exposure-bias).
"""


def overview() -> str:
    """The list of all metrics, with the rows of ``recmetrics metrics --markdown``."""
    parts = ["# Metrics\n", WRITTEN, OVERVIEW]
    for kind, (title, about) in KINDS.items():
        rows = rows_of([metric for metric in METRICS.values() if metric.reads == kind])
        linked = re.sub(r"^\| `(\w+)(@k)?`", r"| [`\1\2`](\1.md)", rows, flags=re.MULTILINE)
        parts.append(f"## {title}\n\n{about}\n\n{linked}")
    return "\n".join(parts)


def page(metric: Metric) -> str:
    """All that is known about one metric."""
    summary, _, details = metric.description.partition("\n")
    prose, doctest = split_doctest(details)
    whose = "all lists" if metric.reads == "exposure" else "one user"
    parts = [
        f"# {metric.name}\n",
        WRITTEN,
        f"{summary}\n",
        formula(metric),
        prose,
        options(metric),
        worked(metric),
        worth(metric),
        facts(metric),
        same_elsewhere(metric),
        f"## In code\n\n```pycon\n{doctest}\n```\n",
        f"## In plain Python\n\nThe definition for {whose}; tests compare the metric with it.\n",
        f"```py\n{inspect.getsource(metric.reference)}```\n",
    ]
    return "\n".join(part for part in parts if part)


def split_doctest(details: str) -> tuple[str, str]:
    """The paragraphs of a docstring, and its examples, which stand elsewhere on the page."""
    paragraphs = inspect.cleandoc(details).strip().split("\n\n")
    examples = [paragraph for paragraph in paragraphs if paragraph.startswith(">>> ")]
    prose = "\n\n".join(paragraph for paragraph in paragraphs if paragraph not in examples)
    prose = re.sub(r":(?=\n\n|\Z)", ".", prose).replace("``", "`")
    return f"{prose}\n", "\n\n".join(examples)


def formula(metric: Metric) -> str:
    """The formula in LaTeX, and what its letters mean; docs/site/hooks.py makes MathML of it."""
    legend = "".join(
        f"- $`{letter}`$: {meaning}\n"
        for pattern, (letter, meaning) in SYMBOLS.items()
        if re.search(pattern, metric.written.latex)
    )
    return f"```math\n\\text{{{written(metric)}}} = {metric.written.latex}\n```\n\n{legend}"


def options(metric: Metric) -> str:
    """What may stand in the parentheses."""
    if not metric.typed_options:
        return ""
    rows = [
        [f"`{option.name}`", choices(option), default(option), option.meaning]
        for option in metric.typed_options.values()
    ]
    return "## Options\n\n" + table(["option", "values", "default", "meaning"], rows)


def choices(option: Option) -> str:
    """The values of an option."""
    if option.choices:
        return " ".join(f"`{choice}`" for choice in option.choices)
    if option.is_name:
        return "a name of letters, digits, `_`, `-` and `.`"
    below = f" and below {option.below:g}" if math.isfinite(option.below) else ""
    return f"a number above {option.above:g}{below}"


def default(option: Option) -> str:
    """What an option is where it is not typed."""
    return "not set" if option.default is None else f"`{option.default}`"


def worked(metric: Metric) -> str:
    """The example of the catalogue, with every option, by the library and by hand."""
    rows = []
    for text in example.strings(metric):
        by_hand = f"`{example.BY_HAND[text]}`" if text in example.BY_HAND else ""
        rows.append([f"`{text}`", by_hand, number(example.value(text))])
    intro = {
        "hits": "A user has six relevant items in a catalogue of ten, A to J; the model "
        f"recommends four items{', and five ranks count' if metric.default_k else ''}.",
        "lists": "The model recommends four items of a catalogue of ten, and five ranks count.",
        "exposure": "Three users get lists from a catalogue of ten items, A to J: A B C D; A B E; "
        "A C.",
    }[metric.reads]
    parts = [
        "## Worked by hand\n",
        intro + "\n",
        "" if metric.reads == "exposure" else one_list(metric),
        f"{remark}\n" if (remark := example.REMARKS.get(metric.name)) else "",
        table(["metric", "by hand", "value"], rows),
    ]
    return "\n".join(part for part in parts if part)


def one_list(metric: Metric) -> str:
    """The items of the worked example, with what the metric reads of each."""
    ranks = {item: str(rank) for rank, item in enumerate(example.RANKING[0], start=1)}
    rows = [["rank", *(ranks.get(item, "-") for item in range(len(example.ITEMS)))]]
    relevance = ["relevance", *(f"{grade:g}" for grade in example.TRUTH[0])]
    if metric.reads == "hits":
        rows += [relevance]
    elif ("popularity",) in metric.needs:
        rows += [["popularity", *(f"{share:g}" for share in example.POPULARITY)]]
        rows += [relevance] if "rel" in metric.options else []
    else:
        vectors = [" ".join(f"{number:g}" for number in row) for row in example.FEATURES]
        name = "features" if metric.name == "diversity" else "genres"
        if metric.name != "share":
            rows += [[name, *vectors]]
    return table(["item", *example.ITEMS], rows)


def worth(metric: Metric) -> str:
    """The worth of one hit at each rank; and for the discounted gains, the discounts."""
    parts = []
    if pictures.has_worth(metric):
        parts += [
            "## What one relevant item is worth\n",
            f"A user with two relevant items, one of them in the list: the value of "
            f"`{metric.name}@{pictures.CUT}`, by the rank of that one.\n",
            f"![Value by the rank of the hit](../pictures/{metric.name}.svg)\n",
        ]
    if metric.name in pictures.DISCOUNTS:
        parts += [
            "The weight of a rank under each `discount`:\n",
            "![Discounts by rank](../pictures/discounts.svg)\n",
        ]
    return "\n".join(parts)


def facts(metric: Metric) -> str:
    """Bounds, undefined cases, ties, graded truth, source."""
    told = explain(metric.name)
    no_relevant_item = told.no_relevant_item.partition("; NaN")[0]
    no_relevant_item = no_relevant_item.replace("'raise'", '"raise"')
    no_relevant_item = re.sub(r"undefined=\S*", r"`\g<0>`", no_relevant_item)
    if not metric.higher_is_better and "`undefined=`" in no_relevant_item:
        no_relevant_item += '; `"zero"` is 0, which flatters a model, since lower is better'
    rows = {
        "values": values(metric),
        "a user without relevant items": no_relevant_item,
        "NaN": "" if metric.undefined == NO_RELEVANT_ITEM else metric.undefined,
        "graded truth": told.graded,
        "ties": ties(metric, told.ties),
        "side information": "; ".join(
            " or ".join(f"`{need}=`" for need in group) for group in metric.needs
        ),
        "method": f"`Metrics.{metric.method}`",
        "also called": ", ".join(f"`{alias}`" for alias in metric.aliases),
        "source": metric.citation,
    }
    cells = [[what, said] for what, said in rows.items() if said]
    return "## Facts\n\n" + table(["", ""], cells)


def values(metric: Metric) -> str:
    """The range of the values; and with which weights of relevant items it is another."""
    choices_by_bounds = defaultdict(list)
    if "weigh" in metric.options:
        for choice in metric.options["weigh"].choices:
            bounds = make_spec(metric.name, None, {"weigh": choice}).bounds
            choices_by_bounds[bounds].append(f"`weigh={choice}`")
    choices_by_bounds.pop(metric.bounds, None)
    text = interval(metric.bounds)
    for bounds, choices in choices_by_bounds.items():
        text += f"; with {' or '.join(choices)}: {interval(bounds)}"
    return text


def ties(metric: Metric, text: str) -> str:
    """How equal scores count, and under which policies."""
    if metric.averages_ties:
        return (
            f'{text}; `{metric.name}@k` reads the order of the list, and has `ties="index"` alone'
        )
    if metric.reads != "hits":
        return f"{text}; another `ties=` is an error"
    text += '; `ties="expected"` gives the exact mean over their orders'
    bound = [f"`{name}={choice}`" for name, choice in metric.without_orders.items()]
    return text + (f'; with {" or ".join(bound)}, `ties="index"` alone' if bound else "")


def same_elsewhere(metric: Metric) -> str:
    """Which systems compute this metric, and by which string here."""
    rows = []
    for system in CONVENTIONS.values():
        for line in (*system.lines, *system.variants):
            name, at, _ = line.metric.partition("@")
            if name == metric.name:
                here = f"{make_spec(name, None, line.options)}{at}{'k' if at else ''}"
                call = line.call.format(k="k")
                rows.append([system.name, f"`{call}`", f"`{here}`", line.difference])
    if not rows:
        return ""
    rows.sort(key=lambda row: row[2].count("("))  # the plain name first
    head = ["system", "call of the system", "metric string of recmetrics", "what differs"]
    width = 4 if any(row[3] for row in rows) else 3
    body = [row[:width] for row in rows]
    return (
        "## The same metric in other systems\n\n"
        + table(head[:width], body)
        + "\n[Conventions](../conventions.md) says what these systems give a user without relevant "
        "items, and how the agreement was measured.\n"
    )


def written(metric: Metric) -> str:
    """The metric as it is typed."""
    return f"{metric.name}@k" if metric.default_k else metric.name


def number(value: float) -> str:
    """A value with four decimals."""
    if math.isnan(value):
        return "NaN"
    return "inf" if math.isinf(value) else f"{value:.4f}"


def table(head: list[str], rows: list[list[str]]) -> str:
    """A Markdown table."""
    lines = [head, ["---"] * len(head), *rows]
    return "".join(
        "| " + " | ".join(cell.replace("|", r"\|") for cell in line) + " |\n" for line in lines
    )


def main() -> None:
    """Write all files, and remove the pages and pictures of metrics that are gone."""
    warnings.simplefilter("ignore", RecmetricsWarning)  # of the example's items
    new = files()
    for folder in ("metrics", "pictures"):
        (DOCS / folder).mkdir(exist_ok=True)
        for old in (DOCS / folder).iterdir():
            if old not in new:
                old.unlink()
    for path, text in new.items():
        path.write_text(text)


if __name__ == "__main__":
    main()
