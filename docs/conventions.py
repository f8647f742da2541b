"""Write ``conventions.md`` from the table ``_core/spec/systems.txt`` and from ``systems.py``.

The agreement with the installed systems is that of agreement.json, which
``tests/peers/peers.py`` writes.
"""

import json
from collections.abc import Iterable
from pathlib import Path
from typing import Any

from systems import OTHERS, PROSE

from recmetrics._core.spec.grammar import make_spec
from recmetrics._core.spec.registry import METRICS
from recmetrics._core.spec.systems import CONVENTIONS, Line, System
from recmetrics._core.spec.undefined import number_for

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
    "leaderboards": {
        "MIND (news): MRR": "mrr(over=relevant)",
        "MIND (news): nDCG@k": "ndcg@k",
        "OTTO (sessions): recall@20, whose mean weighs each session by min(20, R)": "recall@20",
    },
}

CALLS = ("call of the system", "metric string of recmetrics")

HEAD = """\
# Conventions

<!-- written by `python docs/conventions.py` from recmetrics/_core/spec/systems.txt; do not edit -->

Evaluation libraries and tools define metrics of the same name differently. With `convention=`,
metric names, such as `ndcg@10`, follow the definitions of one of these systems:

```python
from recmetrics import Metrics

scores, truth = [[4, 3, 2, 1, 0]], [[1, 1, 0, 0, 1]]

Metrics.compute(scores, truth, ["ndcg@2", "recall@2"], convention="ranx")
# {'ndcg@2': array([1.]), 'recall@2': array([0.66666667])}
```

```sh
recmetrics evaluate scores.npy test.npz -m recall@20 --convention ranx
```

- An option in the metric string overrides the convention: `"recall(denom=capped)@20"` is capped
  under every convention.
- A user without relevant items gets the value that the system gives, or NaN if the system leaves
  the user out of its mean. `undefined=` overrides this value (`dcg` and `cg` then have 0, or
  raise). For the mean use `np.nanmean`.
- If the system does not compute a metric, the call raises an error that lists the metrics it
  computes.
- If the system averages over all orders of tied scores, the convention does so too. `ties=`
  overrides it. Otherwise, ties are broken by item index. Tables never average, and have no `ties=`:
  ties are broken by the order of the rows, or by item id under `"trec"`. The rule of each system is
  in its section.
- `compute` returns values per user. If the system weighs users in its mean, by their number of
  relevant items R or by min(k, R), the plain mean of these values is not the number it prints.
  `Metrics.evaluate(...).summary()`, `Evaluator.mean()` and the command apply the weights of the
  system, and so does `recmetrics.compare` of results of `Metrics.evaluate`. Files of `--per-user`
  hold the weights beside the values, as `recall@10[weight]`.
- recmetrics does not reproduce the bugs of a system. The section of each system lists its bugs.

`recmetrics.explain("ndcg@10", convention="lenskit")`, or the command `recmetrics metrics ndcg@10
--convention lenskit`, shows what a system computes. Without a convention, it shows which systems
compute exactly this metric.
"""


AGREEMENT_TEXT = """\
`python tests/peers/peers.py 1000` installs each system into a separate environment, and runs
every call of this page on random problems. These have 1 to 6 users, 4 to 30 items and k up to 40.
They include users without relevant items, short and empty lists, excluded relevant items, graded
truth and tied scores, and gaps in the ranks for systems that read ranks. As in real data, a user
without relevant items has no judgements, and an excluded item is in no list.

The problems avoid two things: tied scores if the system has no defined order for them, and inputs
that the system refuses, such as a k above the number of items. The column "explained" counts the
values that differ for a known reason, or that only one of the two systems computes. The tables
below give this reason beside the call. The column "difference" is the largest difference among all
other values. RecBole, torchmetrics, PyTorch Geometric, WarpRec, KerasRS, ExposureGini of LensKit
and reciprocal_rank of torcheval compute in float32. torcheval takes the index of one relevant item
per row. In its problems, recmetrics gets the truth in this form too.
"""

GROUPS_TEXT = """\
`Metrics.compute_groups` also evaluates the same problems, where each user is a group. LightGBM
and XGBoost get the sizes of the groups, torchmetrics gets `indexes` with the rows in mixed order,
and KerasRS gets padded lists with a mask. These four return means. scikit-learn gets one group at a
time. LightGBM and XGBoost count a group without rows like a group without relevant rows, but
XGBoost's metric `pre` refuses it. The other systems leave such a group out, or cannot represent it.
"""

SYSTEMS_TEXT = """\
Each table lists the calls of one system, and the metric strings of recmetrics that compute the same
values. R is the number of relevant items of a user.
"""

OTHERS_TEXT = """\
There is no `convention=` for these systems. Use the metric string of the table, `ties=` if the
table shows it, and `undefined="zero"` if a user without relevant items has 0.
"""

DOCUMENTS_TEXT = """\
These tables are for formulas copied from documents instead of a library. `convention=` does not
cover them.
"""


def page(agreement: dict[str, Any]) -> str:
    """The whole page."""
    parts = [HEAD, _overview(), _agreement(agreement), f"## Systems\n\n{SYSTEMS_TEXT}"]
    parts += [_section(system, key) for key, system in CONVENTIONS.items()]
    parts += [f"## Without a convention\n\n{OTHERS_TEXT}"]
    parts += [_section(system, key) for key, system in OTHERS.items()]
    parts += [f"## Documents\n\n{DOCUMENTS_TEXT}"]
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
        'This table shows the options of the most common metrics under each convention. "Same"\n'
        'means the default options of recmetrics, and "-" means that the system does not have the\n'
        "metric. The section of each system lists all names and options."
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
            recorded = "recorded numbers in the tests"
            rows.append([system.name, PROSE[key].version, "", "", "", "", recorded])
            continue
        found = agreement[key]
        first = [system.name, found["version"]]
        rows.append([*first, *_figures(found["calls"], found["problems"])])
        if "groups" in found:
            of_groups.append([*first, *_figures(found["groups"], found["problems"])])
    head = ["system", "version", "calls", "problems", "values", "explained", "difference"]
    users = f"## Agreement\n\n{AGREEMENT_TEXT}\n" + _table(head, rows)
    return f"{users}\n### Groups\n\n{GROUPS_TEXT}\n" + _table(head, of_groups)


def _figures(calls: dict[str, list[float]], problems: int) -> list[str]:
    values, differ, largest = zip(*calls.values(), strict=True)
    return [
        str(len(values)),
        f"{problems:,}",
        f"{sum(values):,}",
        f"{sum(differ):,}",
        f"{max(largest):.0e}" if max(largest) else "0",
    ]


def _section(system: System, key: str) -> str:
    prose = PROSE[key]
    rows = [
        [
            f"`{line.call.format(k='k')}`",
            exact(line),
            _without_relevant_items(line),
            _with_stop(_differences(line)),
        ]
        for line in (*system.lines, *system.variants)
    ]
    as_of = f"Version {prose.version}."
    if key in CONVENTIONS:
        as_of = f'`convention="{key}"` follows version {prose.version}.'
    facts = [
        f"### {system.name}\n\n{as_of}\n",
        _table([*CALLS, "user without relevant items", "what differs"], rows),
        f"Ties: {_with_stop(prose.ties)}",
    ]
    facts += [
        _bullets("Differences", prose.gaps),
        _bullets("Bugs that recmetrics does not reproduce", prose.wrong),
    ]
    return "\n\n".join(fact.rstrip("\n") for fact in facts if fact) + "\n"


def _differences(line: Line) -> str:
    metric = METRICS[line.metric.partition("@")[0]]
    number = number_for(line.undefined)
    if metric.needs_relevant or number is None:
        return line.difference
    value = f"{number:g} for a user where {metric.undefined}"
    return f"{line.difference}; {value}" if line.difference else value


def _without_relevant_items(line: Line) -> str:
    metric = METRICS[line.metric.partition("@")[0]]
    if metric.reads != "hits":
        return ""  # it does not read the truth
    if not metric.needs_relevant:
        return "has a value"
    number = number_for(line.undefined)
    return "NaN" if number is None else f"{number:g}"


def _document(name: str, calls: dict[str, str]) -> str:
    rows = [[old, f"`{new}`"] for old, new in calls.items()]
    return f"### {name[0].upper()}{name[1:]}\n\n" + _table([*CALLS], rows)


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
