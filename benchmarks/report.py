"""Write benchmarks/README.md from the results of speed.py.

With --short, print the headline and the table for the project's README instead. With
--into README.md, put them into that file, between their marks.
"""

import argparse
import json
import sys
import textwrap
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from speed import SECTIONS

HERE = Path(__file__).resolve().parent
# Not in the short table: building blocks of others, and ranx without a selection before it.
PARTS = ("np.argpartition", "bottleneck", "ranx, whole rows")
HEADLINE = ("ranx", "torchmetrics")  # the rivals that the first lines of the README name
_FIGURE = ("", *"0123456789*≤≥")  # what a cell of a column of figures starts with
Results = dict[str, dict[str, Any]]

# Why a target of a section is missed. Printed only if one is missed.
REASONS: dict[str, str] = {
    "threads": (
        "one thread checks the inputs and starts the other threads. Also, the two cores of this "
        "machine do less than twice the work of one, even for comparing numbers in cache."
    ),
    "serial": (
        "the order of a million entries of the truth, and the range of their values, are checked "
        "in one thread, in half a millisecond each. In two threads, each check took longer."
    ),
    "exclude": (
        "a call with 10,000 x 3,700 scores takes 9 ms without excluded items. A million excluded "
        "items are checked, and each is compared with the best score of its lane."
    ),
    "ties": (
        "with an informed model users have hits, and for each hit the scores above it and equal "
        "to it are counted separately."
    ),
    "columns": "each metric writes a number for each user, to memory that the call has to get.",
    "dense_truth": (
        "NumPy compares the truth with 0 in one pass, and collects the relevant items in a second "
        "pass. A truth of float32 or float64 has more bytes to read, and so a higher limit."
    ),
    "whole_list": (
        "the rank of each of the 20 relevant items is counted over the row in cache. auc needs two "
        "counts, which share a pass. A pass takes 0.06 ns per score, because the compiled loop "
        "compares eight scores at a time. The cores limit this loop, while the memory limits the "
        "read. From 100 relevant items on, each score is searched for among theirs instead."
    ),
    "batch": (
        "the kernel takes at most a quarter of the call. The rest is Python: checks of the inputs, "
        "and dozens of small NumPy calls. If np.argpartition does not run between the calls, a "
        "call takes 126 µs."
    ),
    "first_call": (
        "compiling the selection takes most of the time, and the kernel of each metric takes 0.2 "
        "to 0.4 s. A third of it is spent in LLVM, and the rest in Numba's own passes over about "
        "thirty functions. `recmetrics.warmup` compiles ahead of the first call, and later "
        "processes read the machine code from disk. `python benchmarks/fresh.py cold` measures "
        "the steps: [integrations](integrations.md#a-cold-process)."
    ),
    "large_k": (
        "recmetrics ranks up to 500 relevant items of each user. np.argpartition computes no ranks "
        "of items."
    ),
    "rivals": (
        "torch.topk runs vectorised code on both cores. ranx has no selection of its own: "
        "`np.argpartition` selects its items, with vectorised code on processors with AVX-512."
    ),
}

PICTURES = {"curves": "![Time relative to reading the scores once, by items and by k](curves.png)"}

HEAD = """\
# Benchmarks

<!-- written by `python benchmarks/report.py` from results.json; do not edit -->
"""

FIRST = """\
Run times relative to recmetrics, for two sizes (users x items): ndcg, recall, map and hit at 10 and
20 of float32 scores, with 10 relevant items per user. Each library computes those that it defines
in the same way ([all figures](#other-libraries-eight-metrics)):
"""

METHOD = """\
## Method

Most figures are relative to **the time to read the score matrix once with every core**. No
evaluation that looks at all scores can be faster. To measure a ratio, two calls are timed
alternately in one process (A B A B ...), and the figure is the median over the pairs. If the
machine slows down, both calls of a pair do. A time covers everything from the score matrix to one
number per user and metric. It does not include the first call, which has a section of its own.

Parentheses contain the target of a figure (after ≤ or ≥) and its goal, which is stricter. A figure
in **bold** misses its target. A figure in *italics* misses only its goal.

```sh
python -m pip install 'pip>=25.1'         # an older one has no --group
python -m pip install '.[cli,factors]' --group bench    # what is missing is not timed
python benchmarks/speed.py                # all sections, or the named ones; --quick for a short try
python benchmarks/plot.py                 # curves.png
python benchmarks/report.py               # this page
python benchmarks/report.py --into README.md
```

Other scripts measure updates of an Evaluator, factor models, tables, comparison, devices and
clusters. [Integrations](integrations.md) shows their results.

`real.py` reads real splits from the folder that `RECMETRICS_DATA` names: `gowalla_train.npz` and
`gowalla_test.npz` (check-ins from SNAP, in the split of NGCF and LightGCN), `ml-1m_train.npz` and
`ml-1m_test.npz` (MovieLens 1M, in the split of Turbo-CF). Their licences do not let this
repository contain them: get them from these sources, and write each with `scipy.sparse.save_npz`,
as a matrix of users x items.
"""


def main() -> None:
    """Write what was asked for."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--results", type=Path, default=HERE / "results.json")
    parser.add_argument("--page", type=Path, default=HERE / "README.md")
    parser.add_argument("--short", action="store_true", help="print the short table")
    parser.add_argument("--into", type=Path, help="replace the short table in this file")
    args = parser.parse_args()
    results = with_texts(json.loads(args.results.read_text()))
    if args.short:
        print(headline(results), short(results), sep="\n\n")
    elif args.into:
        text = between_marks(args.into.read_text(), "headline", headline(results))
        args.into.write_text(between_marks(text, "benchmarks", short(results)))
    else:
        args.page.write_text(page(results))


# --- the page ------------------------------------------------------------------------------------


def with_texts(results: Results) -> Results:
    """Add the titles and explanations of the sections, so that editing them needs no new run."""
    return {
        name: one
        | {
            "title": SECTIONS[name].title,
            "about": SECTIONS[name].about,
            "legend": legend() if (legend := SECTIONS[name].legend) else None,
        }
        for name, one in results.items()
    }


def page(results: Results) -> str:
    """Compose the whole of benchmarks/README.md."""
    parts = [HEAD]
    if "rivals" in results:
        parts += [f"{headline(results)}\n", FIRST, f"{relative(results)}\n"]
    if any(one["quick"] for one in results.values()):
        parts.append("> **A quick run of small sizes: these figures only show that it works.**\n")
    parts += [METHOD, "## Targets\n", table(*targets(results))]
    for name, one in results.items():
        parts.append(f"## {one['title']}\n")
        parts.append(wrapped(one["about"]) + "\n")
        parts.append(PICTURES.get(name) or table(*pivot(one)))
        parts += [wrapped(note) + "\n" for note in notes(name, one)]
        parts += [table(*split_head(one["legend"]))] if one["legend"] else []
    parts += ["## Measured on\n", *map(wrapped, machines(results))]
    return "\n".join(part.rstrip("\n") + "\n" for part in parts)


def wrapped(text: str) -> str:
    """Break a paragraph into lines."""
    return textwrap.fill(text, 100, break_long_words=False, break_on_hyphens=False)


def targets(results: Results) -> tuple[list[str], list[list[str]]]:
    """List every section that has targets, with the figure nearest to missing its own."""
    lines = []
    for one in results.values():
        rows = [row for row in one["rows"] if row["target"] and row["value"] is not None]
        if not rows:
            continue
        met = sum(meets(row, one) for row in rows)
        worst = max(rows, key=lambda row: shortfall(row, one))
        where = f"{worst['what']}, {worst['column']}"
        target = f"{sign(one)} {worst['target']:g}{one['unit']}"
        cells = [one["title"], f"{met} of {len(rows)}", target, number(worst, one), where]
        lines.append(cells)
    return ["section", "targets met", "tightest target", "measured", "where"], lines


def meets(row: dict[str, Any], one: dict[str, Any], limit: str = "target") -> bool:
    """Whether a figure is within its target or goal; true without one."""
    if row[limit] is None:
        return True
    return row["value"] >= row[limit] if one["at_least"] else row["value"] <= row[limit]


def shortfall(row: dict[str, Any], one: dict[str, Any]) -> float:
    """How near to missing its target, or how far beyond: 1 is on it."""
    ratio = row["value"] / row["target"]
    return 1 / ratio if one["at_least"] else ratio


def pivot(one: dict[str, Any]) -> tuple[list[str], list[list[str]]]:
    """Arrange the rows of a section as a table."""
    whats = list(dict.fromkeys(row["what"] for row in one["rows"]))
    columns = list(dict.fromkeys(row["column"] for row in one["rows"]))
    cells = {(row["what"], row["column"]): cell(row, one) for row in one["rows"]}
    body = [[what, *(cells.get((what, column), "") for column in columns)] for what in whats]
    return ["", *columns], body


def cell(row: dict[str, Any], one: dict[str, Any]) -> str:
    """Show a figure, marked if it misses something, and what is to be said of it."""
    if row["value"] is None:
        return "not available"
    text = number(row, one)
    if not meets(row, one):
        text = f"**{text}**"
    elif not meets(row, one, "goal"):
        text = f"*{text}*"
    aside = [f"{sign(one)} {row['target']:g}"] if row["target"] else []
    aside += [f"goal {row['goal']:g}"] if row["goal"] else []
    aside += [row["note"]] if row["note"] else []
    return f"{text} ({', '.join(aside)})" if aside else text


def sign(one: dict[str, Any]) -> str:
    """Which way the targets of a section bound."""
    return "≥" if one["at_least"] else "≤"


def number(row: dict[str, Any], one: dict[str, Any]) -> str:
    """Spell a value with three digits that count, and its unit."""
    value = row["value"]
    digits = 0 if value >= 100 else 1 if value >= 10 else 2 if value >= 0.1 else 4
    return f"{value:,.{digits}f}{one['unit']}"


def notes(name: str, one: dict[str, Any]) -> Iterator[str]:
    """Say what is absent and why, and why targets were missed."""
    for what in dict.fromkeys(row["what"] for row in one["rows"] if row["value"] is None):
        yield f"{what}: {next(r['note'] for r in one['rows'] if r['what'] == what)}."
    missed = any(row["value"] is not None and not meets(row, one) for row in one["rows"])
    if missed and name in REASONS:
        yield f"Why targets are missed: {REASONS[name]}"


def machines(results: Results) -> Iterator[str]:
    """Describe each environment that sections were measured in, once."""
    described: dict[str, list[str]] = {}
    for one in results.values():
        described.setdefault(describe(one["environment"]), []).append(one["title"])
    for text, titles in described.items():
        yield (f"{'; '.join(titles)}: " if len(described) > 1 else "") + text


def describe(environment: dict[str, Any]) -> str:
    """Name processor, threads and versions in one paragraph."""
    packages = ", ".join(f"{name} {v}" for name, v in environment["packages"].items() if v)
    return (
        f"{environment['processor']}, {environment['cores']} cores, one thread on each; "
        f"{environment['caches']}; {environment['memory']}; {environment['system']}; "
        f"Python {environment['python']}; {packages}; {environment['date']}."
    )


def table(head: list[str], body: list[list[str]]) -> str:
    """Spell a Markdown table, columns of figures but the first to the right."""
    figures = [all(line[i][:1] in _FIGURE for line in body) for i in range(1, len(head))]
    rules = ["---", *("---:" if right else "---" for right in figures)]
    return "\n".join("| " + " | ".join(line) + " |" for line in (head, rules, *body)) + "\n"


def split_head(lines: list[list[str]]) -> tuple[list[str], list[list[str]]]:
    """Take the head off a table."""
    return lines[0], lines[1:]


# --- for the project's README --------------------------------------------------------------------


def headline(results: Results) -> str:
    """Compose the figures of the first lines: our milliseconds, and how many times longer others.

    They are those of the first size, whose rows come first.
    """
    one = results["rivals"]
    rows = {row["what"]: row for row in reversed(one["rows"])}
    size = rows["recmetrics"]["column"].replace(" x ", " users x ")
    # Two digits say enough: the next run differs in the third.
    first, second = (f"{float(format(rows[name]['value'], '.1e')):,.0f}" for name in HEADLINE)
    return wrapped(
        f"Eight metrics for {size} items take {rows['recmetrics']['note']} on "
        f"{one['environment']['cores']} cores. {HEADLINE[0]} takes {first} times as "
        f"long, {HEADLINE[1]} {second}."
    )


def short(results: Results) -> str:
    """Compose the table of the project's README: how many times longer each takes."""
    environment = results["rivals"]["environment"]
    machine = (
        f"{environment['processor']}, {environment['cores']} cores, {environment['date']}. "
        "Method and full results: [Benchmarks](benchmarks/README.md)."
    )
    about = (
        "Run times relative to recmetrics, for two sizes (users x items): ndcg, recall, map and "
        "hit at 10 and 20 of float32 scores. The time of ranx includes NumPy's selection of the 20 "
        "best items."
    )
    return f"{wrapped(about)}\n\n{relative(results)}\n{wrapped(machine)}"


def relative(results: Results) -> str:
    """Tabulate how many times longer each library takes."""
    one = results["rivals"]
    # The milliseconds of others are those of the pairs that they were timed in, which differ.
    rows = [
        row | {"target": None, "note": row["note"] if row["what"] == "recmetrics" else ""}
        for row in one["rows"]
        if row["what"] not in PARTS
    ]
    return table(*pivot(one | {"rows": rows}))


def between_marks(text: str, name: str, new: str) -> str:
    """Replace what stands between the marks of a name."""
    first, last = f"<!-- {name}: begin -->", f"<!-- {name}: end -->"
    before, begin, rest = text.partition(first)
    _, end, after = rest.partition(last)
    if not (begin and end):
        sys.exit(f"no {first} and {last} in the file; put them where the text belongs")
    return f"{before}{first}\n{new}\n{last}{after}"


if __name__ == "__main__":
    main()
