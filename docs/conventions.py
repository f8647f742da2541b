"""Write ``conventions.md`` from the table in ``recmetrics/_spec/systems.py``.

The agreement with the installed systems is that of agreement.json, which ``tests/peers.py`` writes.
"""

import json
from collections.abc import Iterable
from pathlib import Path
from typing import Any

from recmetrics._spec.conventions import NUMBERS
from recmetrics._spec.grammar import make_spec
from recmetrics._spec.registry import METRICS
from recmetrics._spec.systems import CONVENTIONS, OTHERS, Line, System

HERE = Path(__file__).parent
PAGE = HERE / "conventions.md"
AGREEMENT = HERE / "agreement.json"

# Documents whose formulas people copied: no convention, but numbers to go on with.
DOCUMENTS = {
    "a course notebook on MRR, MAP, NDCG and novelty": {
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

<!-- written by `python docs/conventions.py` from recmetrics/_spec/systems.py; do not edit -->

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
- A user without relevant items, who has no judgements there, gets what the system gives, unless
  `undefined=` is given. Where a system leaves the user out of its mean, the value is NaN: take
  `np.nanmean`.
- A metric that the system does not compute is an error that names those it does.
- Where a system averages over all orders of tied scores, so does the plain name, unless `ties=` is
  given. Otherwise ties are broken by item index, in tables by the order of the rows (`trec`: by
  id). Each section states the system's own rule.
- Where a system is wrong rather than different, its section says so, and the numbers here are the
  right ones.

`recmetrics.explain("ndcg@10")`, or `recmetrics metrics ndcg@10`, names the systems that compute
exactly that.
"""


AGREEMENT_TEXT = """\
`python tests/peers.py 1000` installs each system into an environment of its own and runs every call
of this page on random problems: 1 to 6 users, 4 to 30 items, k up to 40, users without relevant
items, lists that are short or empty, relevant items that are excluded, graded truth, tied scores,
and ranks with gaps where a system reads ranks. Inputs are as in real use: a user without relevant
items has no judgements, and an excluded item is in no list.

The problems of a system have no ties where the system does not decide them. They do not ask for
what a system refuses, such as k beyond the catalogue. Some values differ, or one of the two leaves
them out, for a reason that stands beside the call below: "explained" counts these. "Difference" is
the largest difference of all others. RecBole, torchmetrics, PyTorch Geometric, WarpRec and KerasRS
compute in float32, and so do ExposureGini of LensKit and reciprocal_rank of torcheval. torcheval
takes one target for each row; the truth of these problems is its index, here and there.
"""

GROUPS_TEXT = """\
`Metrics.compute_groups` is compared on the same problems, with the users as the groups of one call.
LightGBM and XGBoost take the sizes of the groups, torchmetrics the `indexes` of rows in mixed
order, and KerasRS lists filled up under a mask; these give means. scikit-learn takes one group at a
time. A group without rows counts like one without relevant rows in LightGBM and in XGBoost, whose
`pre` refuses it; the others leave it out, or cannot have it.
"""

OTHERS_TEXT = """\
These systems have no `convention=`. Type the metric string, with `ties=` where the table has it,
and `undefined="zero"` where a user without relevant items has 0.
"""


def page(agreement: dict[str, Any]) -> str:
    """The whole page."""
    parts = [HEAD, _overview(), _agreement(agreement), "## From each system\n"]
    parts += [_section(system, key) for key, system in CONVENTIONS.items()]
    parts += [f"## Without a convention\n\n{OTHERS_TEXT}"]
    parts += [_section(system) for system in OTHERS.values()]
    parts += ["## From documents\n"]
    parts += [_document(name, calls) for name, calls in DOCUMENTS.items()]
    return "\n".join(parts)


def exact(line: Line) -> str:
    """What computes the line without a convention: a metric string, and ties= where needed."""
    name, at, _ = line.metric.partition("@")
    text = f"`{make_spec(name, None, line.options)}{at}{'k' if at else ''}`"
    return text if line.ties == "index" else f"{text} with {_ties(line)}"


def _overview() -> str:
    """What each system means by a plain name with a cutoff: options, system by system."""
    usual = [f"{name}@k" for name in ("precision", "recall", "map", "mrr", "ndcg")]
    rows = []
    for convention, system in CONVENTIONS.items():
        lines = {line.metric: line for line in system.lines}
        cells = [(_options(lines[each]) or "same") if each in lines else "-" for each in usual]
        rows.append([f"`{convention}`", *cells])
    intro = (
        'The options that the most usual plain names stand for: "same" where a name means what it\n'
        "means here, - where the system does not compute the metric. All names and options of a\n"
        "system are further down."
    )
    names = [f"`{each}`" for each in usual]
    return f"## At a glance\n\n{intro}\n\n" + _table(["system", *names], rows)


def _options(line: Line) -> str:
    options = [f"`{key}={value}`" for key, value in line.options.items()]
    return " ".join([*options, *([] if line.ties == "index" else [_ties(line)])])


def _ties(line: Line) -> str:
    return f'`ties="{line.ties}"`'


def _agreement(agreement: dict[str, Any]) -> str:
    rows, of_groups = [], []
    for key, system in {**CONVENTIONS, **OTHERS}.items():
        if key not in agreement:
            rows.append(
                [system.name, system.version, "", "", "", "", "recorded numbers, in the tests"]
            )
            continue
        found = agreement[key]
        first = [system.name, found["version"]]
        rows.append([*first, *_figures(found["calls"], found["problems"])])
        if "groups" in found:
            of_groups.append([*first, *_figures(found["groups"], found["problems"])])
    head = ["system", "version", "calls", "problems", "values", "explained", "difference"]
    users = f"## Agreement\n\n{AGREEMENT_TEXT}\n" + _table(head, rows)
    return f"{users}\n### Of groups\n\n{GROUPS_TEXT}\n" + _table(head, of_groups)


def _figures(calls: dict[str, list[float]], problems: int) -> list[str]:
    values, differ, largest = zip(*calls.values(), strict=True)
    return [
        str(len(values)),
        f"{problems:,}",
        f"{sum(values):,}",
        f"{sum(differ):,}",
        f"{max(largest):.0e}" if max(largest) else "0",
    ]


def _section(system: System, convention: str | None = None) -> str:
    rows = [
        [
            f"`{line.call.format(k='k')}`",
            exact(line),
            _without_relevant_items(line),
            _with_stop(line.gap),
        ]
        for line in (*system.lines, *system.variants)
    ]
    as_of = f"As of {system.version}."
    if convention is not None:
        as_of = f'`convention="{convention}"`, as of {system.version}.'
    facts = [
        f"### {system.name}\n\n{as_of}\n",
        _table(["there", "here", "user without relevant items", "what differs"], rows),
        f"Ties: {_with_stop(system.ties)}",
    ]
    facts += [_bullets("Differences", system.gaps), _bullets("Wrong, not copied", system.wrong)]
    return "\n\n".join(fact.rstrip("\n") for fact in facts if fact) + "\n"


def _without_relevant_items(line: Line) -> str:
    if METRICS[line.metric.partition("@")[0]].reads != "hits":
        return ""  # it does not read the truth
    return "NaN" if line.undefined == "nan" else f"{NUMBERS[line.undefined]:g}"


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


def main() -> None:
    """Write the page."""
    PAGE.write_text(page(json.loads(AGREEMENT.read_text())))


if __name__ == "__main__":
    main()
