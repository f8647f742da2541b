"""Write ``conventions.md`` from the table in ``recmetrics/_spec/conventions.py``.

python docs/conventions.py                  writes the page
python docs/conventions.py --measure 1000   first measures the peers that are installed, on so many
                                            random problems, and keeps the figures in agreement.json
"""

import argparse
import json
import sys
from collections.abc import Iterable
from pathlib import Path
from typing import Any

from recmetrics._spec.conventions import CONVENTIONS, Line, System
from recmetrics._spec.grammar import make_spec
from recmetrics._spec.registry import METRICS

HERE = Path(__file__).parent
PAGE = HERE / "conventions.md"
AGREEMENT = HERE / "agreement.json"

# Documents whose formulas people copied: no convention, but numbers to go on with.
DOCUMENTS = {
    "a course notebook": {
        "MRR@k": "mrr@k",
        "MAP@k": "map(denom=hits)@k",
        "DCG@k": "dcg@k",
        "NDCG@k": "ndcg(ideal=retrieved)@k",
        "novelty_at_k": "novelty@k",
    },
    "an article on CG, DCG and NDCG": {
        "CG@k": "cg@k",
        "DCG@k, linear": "dcg@k",
        "DCG@k, exponential": "dcg(gain=exp2)@k",
        "NDCG@k, linear": "ndcg(ideal_depth=list)@k",
        "NDCG@k, exponential": "ndcg(gain=exp2, ideal_depth=list)@k",
        "hit rate at k": "hit@k",
    },
}

HEAD = """\
# Conventions

<!-- written by `python docs/conventions.py` from recmetrics/_spec/conventions.py; do not edit -->

The field computes the same names in different ways. `convention=` makes the plain names mean what
one system computes:

```python
from recmetrics import Metrics

scores, truth = [[4, 3, 2, 1, 0]], [[1, 1, 0, 0, 1]]

Metrics.compute(scores, truth, ["ndcg@2", "recall@2"], convention="ranx")
# {'ndcg@2': array([1.]), 'recall@2': array([0.66666667])}
```

```sh
recmetrics evaluate scores.npy test.npz -m recall@20 --convention ranx
```

- An option typed in the string wins: `"recall(denom=capped)@20"` is capped under any convention.
- A user without relevant items gets what the system gives, unless `undefined=` is given. Where a
  system leaves the user out of its mean, the value is NaN: take `np.nanmean`.
- A metric that the system does not compute is an error that names those it does.
- Where a system averages over all orders of tied scores, so does the plain name, unless `ties=` is
  given. Otherwise ties are broken by item index; each section states the system's own rule.
- Where a system is wrong rather than different, its section says so, and the numbers here are the
  right ones.

`recmetrics.explain("ndcg@10")`, or `recmetrics metrics ndcg@10`, names the systems that compute
exactly that.
"""


def page(agreement: dict[str, Any]) -> str:
    """The whole page."""
    parts = [HEAD, _overview(), _agreement(agreement), "## From each system\n"]
    parts += [_section(key, system) for key, system in CONVENTIONS.items()]
    parts += [_document(name, calls) for name, calls in DOCUMENTS.items()]
    return "\n".join(parts)


def exact(line: Line) -> str:
    """What computes the line without a convention: a metric string, and ties= where needed."""
    name, at, _ = line.metric.partition("@")
    text = f"`{make_spec(name, None, line.options)}{at}{'k' if at else ''}`"
    return text if line.ties == "index" else f"{text} with {_ties(line)}"


def _overview() -> str:
    """What each system means by a plain name with a cutoff: options, metric by metric."""
    asked = [f"{m.name}@k" if m.takes_k else m.name for m in METRICS.values()]
    rows = []
    for metric in asked:
        cells = []
        for system in CONVENTIONS.values():
            line = next((line for line in system.lines if line.metric == metric), None)
            cells.append("" if line is None else _options(line) or "as here")
        if any(cells):
            rows.append([f"`{metric}`", *cells])
    names = [f"`{convention}`" for convention in CONVENTIONS]
    intro = "The options that each plain name stands for; those of the whole list are further down."
    return f"## At a glance\n\n{intro}\n\n" + _table(["plain name", *names], rows)


def _options(line: Line) -> str:
    options = [f"`{key}={value}`" for key, value in line.options.items()]
    return " ".join([*options, *([] if line.ties == "index" else [_ties(line)])])


def _ties(line: Line) -> str:
    return f'`ties="{line.ties}"`'


def _agreement(agreement: dict[str, Any]) -> str:
    rows = []
    for convention, system in CONVENTIONS.items():
        if convention not in agreement:
            rows.append([system.name, system.version, "", "", "recorded numbers, in the tests"])
            continue
        found = agreement[convention]
        worst = max(found["differences"], key=found["differences"].get)
        where = f"{found['differences'][worst]:.0e}" if found["differences"][worst] else "0"
        calls = str(len(found["differences"]))
        rows.append([system.name, found["version"], calls, f"{found['problems']:,}", where])
    return (
        "## Agreement\n\n"
        "Every call below was run as it is written against the installed package, on random\n"
        "problems without ties: 1 to 6 users, 4 to 30 items, users without relevant items, lists\n"
        "shorter than k, graded truth where the system reads it. torchmetrics computes in\n"
        "float32, the others in float64. The tests do the same on fewer problems.\n\n"
        + _table(["system", "version", "calls", "problems", "largest difference"], rows)
    )


def _section(convention: str, system: System) -> str:
    rows = [
        [
            f"`{line.call.format(k='k')}`",
            exact(line),
            _without_relevant_items(line),
            _with_stop(line.gap),
        ]
        for line in (*system.lines, *system.variants)
    ]
    facts = [
        f'### {system.name}\n\n`convention="{convention}"`, as of {system.version}.\n',
        _table(["there", "here", "without relevant items", "what differs"], rows),
        f"Ties: {_with_stop(system.ties)}",
    ]
    if system.binary:
        facts.append("It reads truth as 0 or 1; `ndcg` here weighs grades: give it binary truth.")
    facts += [_bullets("What differs", system.gaps), _bullets("Wrong, not copied", system.wrong)]
    return "\n\n".join(fact.rstrip("\n") for fact in facts if fact) + "\n"


def _without_relevant_items(line: Line) -> str:
    if METRICS[line.metric.partition("@")[0]].reads != "hits":
        return ""  # it does not read the truth
    return "left out or NaN" if line.undefined == "nan" else "0"


def _document(name: str, calls: dict[str, str]) -> str:
    rows = [[old, f"`{new}`"] for old, new in calls.items()]
    return f"### {name[0].upper()}{name[1:]}\n\n" + _table(["there", "here"], rows)


def _bullets(title: str, facts: Iterable[str]) -> str:
    lines = [f"- {_with_stop(fact)}" for fact in facts]
    return "\n".join([f"{title}:\n", *lines]) if lines else ""


def _with_stop(text: str) -> str:
    return f"{text}." if text else ""


def _table(head: list[str], rows: list[list[str]]) -> str:
    lines = [head, ["---"] * len(head), *rows]
    return "".join(f"| {' | '.join(line)} |\n" for line in lines)


def measure(n_problems: int) -> None:
    """Run the installed peers, and keep what was found beside the earlier figures of the others."""
    sys.path.insert(0, str(HERE.parent / "tests"))
    import peers

    agreement = json.loads(AGREEMENT.read_text()) if AGREEMENT.exists() else {}
    for convention in filter(peers.installed, peers.PACKAGES):
        differences = peers.agreement(convention, n_problems)
        agreement[convention] = {
            "version": peers.installed_version(convention),
            "problems": n_problems,
            "differences": {call: float(f"{value:.0e}") for call, value in differences.items()},
        }
    AGREEMENT.write_text(json.dumps(agreement, indent=1) + "\n")


def main() -> None:
    """Write the page."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawTextHelpFormatter
    )
    parser.add_argument("--measure", type=int, metavar="N", help="random problems for each peer")
    n_problems = parser.parse_args().measure
    if n_problems:
        measure(n_problems)
    PAGE.write_text(page(json.loads(AGREEMENT.read_text())))


if __name__ == "__main__":
    main()
