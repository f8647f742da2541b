"""The catalogue: a page for each metric of the registry, and one that lists them."""

import html
import inspect
import math
import re
import textwrap
from typing import Any

import example
import pictures
from latex2mathml.converter import convert

import recmetrics  # noqa: F401 (fills the registry)
from recmetrics._explain import explain, interval
from recmetrics._spec.grammar import make_spec
from recmetrics._spec.registry import METRICS, NO_RELEVANT_ITEM, Metric, Option
from recmetrics._spec.systems import CONVENTIONS

KINDS = {
    "hits": (
        "Accuracy",
        "Are the relevant items near the top? One value per user, read from the ground truth.",
    ),
    "lists": (
        "Beyond accuracy, per user",
        "What is the list like for who reads it? One value per user, read from the list itself and "
        "from what is known about items and users. But for `serendipity` they ask nothing of the "
        "truth.",
    ),
    "exposure": (
        "Catalogue metrics",
        "What does the recommender do to its catalogue? One value for all lists together.",
    ),
}

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


def navigation() -> list[Any]:
    """The entries of the catalogue in the navigation."""
    groups = [
        {title: [{m.name: f"metrics/{m.name}.md"} for m in METRICS.values() if m.reads == kind]}
        for kind, (title, _) in KINDS.items()
    ]
    return ["metrics/index.md", *groups]


def pages() -> dict[str, str]:
    """Every page by its path."""
    return {"metrics/index.md": overview()} | {
        f"metrics/{metric.name}.md": page(metric) for metric in METRICS.values()
    }


def searched() -> dict[str, list[str]]:
    """The names of each metric by the path of its page, also as words; no single letters."""
    found = {}
    for metric in METRICS.values():
        names = [name for name in (metric.name, *metric.aliases) if len(name) > 1]
        words = [re.sub(r"(?<=\w\w)_(?=\w\w)", " ", name) for name in names]
        found[f"metrics/{metric.name}.md"] = list(dict.fromkeys(names + words))
    return found


def overview() -> str:
    """The list of all metrics."""
    parts = [
        "# Metrics\n",
        "A metric is asked for by a string: `name`, `name@k` or `name(option=value, ...)@k`. Case "
        "and spaces do not matter. Without `@k` the whole list counts. "
        "[Choosing](../choosing.md) says which to take.\n",
    ]
    for kind, (title, about) in KINDS.items():
        rows = [
            [
                f"[`{written(m)}`]({m.name}.md)",
                m.summary,
                " ".join(f"`{option}`" for option in m.options),
                ", ".join(" or ".join(f"`{need}`" for need in group) for group in m.needs),
            ]
            for m in METRICS.values()
            if m.reads == kind
        ]
        head = ["metric", "what it is", "options", "needs"]
        used = [place for place in range(4) if place < 2 or any(row[place] for row in rows)]
        parts += [
            f"## {title}\n",
            f"{about}\n",
            table([head[i] for i in used], [[row[i] for i in used] for row in rows]),
        ]
    return "\n".join(parts)


def page(metric: Metric) -> str:
    """All that is known about one metric."""
    summary, _, details = metric.description.partition("\n")
    prose, doctest = split_doctest(details)
    parts = [
        f"# {metric.name}\n",
        f"{summary}\n",
        formula(metric),
        prose,
        options(metric),
        worked(metric),
        pictures.of(metric),
        facts(metric),
        same_elsewhere(metric),
        "## In code\n",
        f"```pycon\n{doctest}\n```\n",
        '??? quote "The definition in plain Python, for one user"\n'
        if metric.reads != "exposure"
        else '??? quote "The definition in plain Python, for all lists"\n',
        textwrap.indent(f"```py\n{inspect.getsource(metric.reference)}```\n", "    "),
        "The tests compare the compiled metric with this definition on random problems.\n",
    ]
    return "\n".join(part for part in parts if part)


def split_doctest(details: str) -> tuple[str, str]:
    """The paragraphs of a docstring, and its example."""
    prose, mark, code = inspect.cleandoc(details).partition(">>> ")
    return prose.strip().replace("``", "`") + "\n", (mark + code).strip()


def formula(metric: Metric) -> str:
    """The formula as MathML, and what its letters mean."""
    name = written(metric)
    legend = "".join(
        f"<dt>{math_of(letter)}</dt><dd>{html.escape(meaning)}</dd>"
        for pattern, (letter, meaning) in SYMBOLS.items()
        if re.search(pattern, metric.written.latex)
    )
    rendered = convert(metric.written.latex, display="block")
    return (
        f'<div class="formula"><div data-search-exclude><code>{name}</code> <span>=</span> '
        f"{rendered}</div><dl data-search-exclude>{legend}</dl></div>\n"
    )


def math_of(latex: str) -> str:
    """A few letters as MathML, in a line of text."""
    return convert(latex, display="inline")


def options(metric: Metric) -> str:
    """What may stand in the parentheses."""
    if not metric.options:
        return ""
    rows = [
        [f"`{option.name}`", choices(option), default(option), html.escape(option.meaning)]
        for option in metric.options.values()
    ]
    return "## Options\n\n" + table(["option", "values", "default", "meaning"], rows)


def choices(option: Option) -> str:
    """The values of an option."""
    if option.choices:
        return " ".join(f"`{choice}`" for choice in option.choices)
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
        pictures.lists() if metric.reads == "exposure" else pictures.one_list(metric),
        example.REMARKS.get(metric.name, "") + "\n",
        table(["metric", "by hand", "value"], rows),
    ]
    return "\n".join(parts)


def facts(metric: Metric) -> str:
    """Bounds, undefined cases, ties, graded truth, source."""
    told = explain(metric.name)
    rows = {
        "values": interval(metric.bounds),
        "a user without relevant items": told.no_relevant_item.partition("; NaN")[0].replace(
            "undefined=", "`undefined=`"
        ),
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


def ties(metric: Metric, text: str) -> str:
    """How equal scores count, and under which policies."""
    if metric.averages_ties:
        return (
            f'{text}; `{metric.name}@k` reads the order of the list, and has `ties="index"` alone'
        )
    if metric.reads != "hits":
        return f"{text}; `ties=` knows no other way for this metric"
    text += '; `ties="expected"` gives the exact mean over their orders'
    bound = [f"`{name}={choice}`" for name, choice in metric.divides_by_hits.items()]
    return text + (f", but not with {', '.join(bound)}" if bound else "")


def same_elsewhere(metric: Metric) -> str:
    """Which systems compute this metric, and by which string here."""
    rows = []
    for system in CONVENTIONS.values():
        for line in (*system.lines, *system.variants):
            name, at, _ = line.metric.partition("@")
            if name == metric.name:
                here = f"{make_spec(name, None, line.options)}{at}{'k' if at else ''}"
                call = line.call.format(k="k")
                rows.append([system.name, f"`{call}`", f"`{here}`", line.gap])
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
