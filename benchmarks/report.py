"""Write the tables from the results of speed.py; nobody types a figure.

Without options: benchmarks/README.md. With --short: print the headline and the table for the
project's README; with --into README.md: put them there, between their marks.
"""

import argparse
import json
import sys
import textwrap
from collections.abc import Iterator
from pathlib import Path
from typing import Any

HERE = Path(__file__).resolve().parent
PARTS = ("np.argpartition", "bottleneck")  # what others are made of, not rivals
HEADLINE = ("ranx", "torchmetrics")  # the rivals that the first lines of the README name
_FIGURE = ("", *"0123456789*≤≥")  # what a cell of a column of figures starts with
Results = dict[str, dict[str, Any]]

# Why a target of a section is missed. Printed only while one is.
REASONS: dict[str, str] = {
    "threads": (
        "checking the inputs and starting threads is done in one; and the two cores of this "
        "machine do less than twice the work of one, even where they compare numbers in cache."
    ),
    "columns": (
        "thirty kernels go over the hits of all users, and users of an informed model have some; "
        "one column takes no more than two and a half times the read."
    ),
    "dense_truth": (
        "the truth is compared with 0, and what is not 0 collected, in two passes of NumPy; as "
        "float32 or float64 it has more bytes, and so a higher limit."
    ),
    "whole_list": (
        "the rank of each of the 20 relevant items is a count over the row in cache, two for "
        "auc, which share a pass of 0.06 ns a score: the compiled loop compares eight scores at "
        "a time, and its time follows the cores, that of the read the memory. Sorting the row "
        "instead pays from some 64 relevant items on, and is done from there."
    ),
    "batch": (
        "the kernel is a quarter of the call at most; the rest is Python: checking inputs, some "
        "dozens of small NumPy calls. With nothing timed in between the call takes 126 µs."
    ),
    "first_call": (
        "selection takes most of it, the kernel of each metric 0.3 to 0.5 s; half is LLVM, half "
        "Numba's own passes over some thirty functions. `recmetrics.warmup` moves that, and later "
        "processes read it from disk. `python benchmarks/fresh.py cold` takes the steps apart: "
        "[integrations](integrations.md#a-cold-process)."
    ),
    "large_k": (
        "where 500 items are relevant the row is sorted as a whole, for their ranks to be searched "
        "in it; np.argpartition finds no ranks."
    ),
    "rivals": (
        "torch.topk selects on both cores with vectorised code. ranx selects nothing: with "
        "`np.argpartition` before it, it is as fast as that, which on processors with AVX-512 is "
        "a vectorised selection."
    ),
}

PICTURES = {"curves": "![Compute over reading the scores once, by items and by k](curves.png)"}

HEAD = """\
# Benchmarks

Written by `report.py` from `results.json`; do not edit.

The unit of nearly every figure is **the time to read the score matrix once with every core**: no
evaluation that looks at all scores can be faster. Each figure is a ratio of two times taken in
turn in one process (A B A B ...), the median over the pairs: a machine that slows down slows both.
Everything is timed end to end, from the score matrix to one number per user and metric, after the
first call; the first call has a table of its own.

In the tables **bold** marks a figure that misses its target, *italic* one that meets it, or has
none, but misses the further goal for the row.

```sh
pip install '.[bench]'                    # a rival that is absent is shown as such
python benchmarks/speed.py                # everything, or the sections named; --quick to try it
python benchmarks/plot.py                 # curves.png
python benchmarks/report.py               # this page
python benchmarks/report.py --into README.md
```

What stands around the kernels (updates of an Evaluator, factor models, tables, comparison, devices,
clusters) has scripts and figures of its own: [integrations](integrations.md).
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
    results: Results = json.loads(args.results.read_text())
    if args.short:
        print(headline(results), short(results), sep="\n\n")
    elif args.into:
        text = between_marks(args.into.read_text(), "headline", headline(results))
        args.into.write_text(between_marks(text, "benchmarks", short(results)))
    else:
        args.page.write_text(page(results))


# --- the page ------------------------------------------------------------------------------------


def page(results: Results) -> str:
    """Compose the whole of benchmarks/README.md."""
    parts = [HEAD]
    if any(one["quick"] for one in results.values()):
        parts.append("> **A quick run of small sizes: these figures only show that it works.**\n")
    parts += ["## Targets\n", table(*targets(results))]
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
    return ["what", "targets met", "tightest: target", "measured", "where"], lines


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
        yield f"Missed: {REASONS[name]}"


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
        f"{environment['processor']}, {environment['cores']} cores, as many threads; "
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
    others = ", and ".join(
        f"{name} takes {rows[name]['value']:,.0f} times as long" for name in HEADLINE
    )
    return wrapped(
        f"Eight metrics for {size} items take {rows['recmetrics']['note']} on "
        f"{one['environment']['cores']} cores. {others}."
    )


def short(results: Results) -> str:
    """Compose the table of the project's README: how many times longer each takes."""
    one = results["rivals"]
    rows = [row | {"target": None} for row in one["rows"] if row["what"] not in PARTS]
    head, body = pivot(one | {"rows": rows})
    environment = one["environment"]
    return "\n".join(
        [
            wrapped(
                "The table shows run times relative to recmetrics, for two sizes (users x items). "
                "The metrics are ndcg, recall, map and hit at 10 and 20; each tool computes those "
                "that it defines as recmetrics does. The scores are a float32 matrix, and each "
                "user has 10 relevant items. For ranx, NumPy selects the 20 best items of each "
                "user; in the row 'whole rows', ranx gets all items. Each tool is timed in turn "
                "with recmetrics. A ratio is the median over these pairs of runs, so it can differ "
                "from the quotient of the two times:"
            )
            + "\n",
            table(head, body),
            wrapped(
                f"{environment['processor']}, {environment['cores']} cores, {environment['date']}. "
                "Method and full results: [benchmarks](benchmarks/README.md)."
            ),
        ]
    )


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
