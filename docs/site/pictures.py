"""Small pictures as inline SVG, in the colours of the page."""

import math

import example
import numpy as np

from recmetrics import Metrics
from recmetrics._registry import Metric
from recmetrics.metrics._reference import weight_of

DEPTH = 10  # ranks that are drawn
CUT = 5  # the cutoff that is drawn
DISCOUNTS = ("dcg", "ndcg")


def one_list(metric: Metric) -> str:
    """The list of the worked example: each item with its relevance, or with its popularity."""
    listed = [item for item in example.RANKING[0] if item >= 0]
    others = [item for item, relevance in enumerate(example.TRUTH[0]) if item not in listed]
    about: list[float] = list(example.TRUTH[0])
    what = "relevance"
    if metric.kind == "list" and "rel" not in metric.options:
        about, what = list(example.POPULARITY), "popularity"
    boxes = _boxes(listed, about, 0) + _boxes(others, about, 210)
    marks = "".join(
        f'<text x="{20 + 44 * place}" y="12" class="small">{place + 1}</text>'
        for place in range(len(listed))
    )
    words = '<text x="210" y="12" class="small start">not listed</text>'
    return _svg(f"The list, with the {what} of each item", 480, 84, marks + words + boxes)


def _boxes(items: list[int], about: list[float], left: int) -> str:
    parts = []
    for place, item in enumerate(items):
        x = left + 44 * place
        kind = "hit" if about[item] else "miss"
        value = f"{about[item]:g}"
        parts.append(
            f'<rect x="{x}" y="20" width="40" height="40" rx="4" class="{kind}"/>'
            f'<text x="{x + 20}" y="45" class="letter">{example.ITEMS[item]}</text>'
            f'<text x="{x + 20}" y="76" class="small">{value}</text>'
        )
    return "".join(parts)


def lists() -> str:
    """The three lists of the worked example."""
    parts = []
    for row, ranking in enumerate(example.RANKING):
        for place, item in enumerate(item for item in ranking if item >= 0):
            x, y = 44 * place, 44 * row
            parts.append(
                f'<rect x="{x}" y="{y}" width="40" height="40" rx="4" class="hit"/>'
                f'<text x="{x + 20}" y="{y + 26}" class="letter">{example.ITEMS[item]}</text>'
            )
    return _svg("Three lists", 180, 132, "".join(parts))


def of(metric: Metric) -> str:
    """What one hit is worth at each rank; and for the discounted gains, the discounts."""
    parts = []
    if metric.kind == "accuracy" and metric.takes_k:
        parts += [
            "## What one relevant item is worth\n",
            f"A user with two relevant items, one of them in the list: the value of "
            f"`{metric.name}@{CUT}`, by the rank of that one.\n",
            bars(metric),
        ]
    if metric.name in DISCOUNTS:
        parts += ["The weight of a rank under each `discount`:\n", discounts()]
    return "\n".join(parts)


def bars(metric: Metric) -> str:
    """The metric of a list with one hit, at each rank."""
    rankings = np.array([np.roll(np.arange(1, DEPTH + 1), rank) for rank in range(DEPTH)])
    for rank in range(DEPTH):
        others = [item for item in range(1, DEPTH + 1) if item != 1]
        rankings[rank] = [*others[:rank], 1, *others[rank : DEPTH - 1]]
    truth = np.zeros((DEPTH, DEPTH + 1))
    truth[:, [0, 1]] = 1  # item 0 is never listed
    text = f"{metric.name}@{CUT}"
    values = Metrics.compute_ranked(rankings, truth, [text])[text]
    top = max(float(values.max()), 1e-9)
    parts = []
    for rank, value in enumerate(values, start=1):
        x = 40 * (rank - 1)
        height = 90 * float(value) / top
        shown = f"{value:.2f}".removeprefix("0") if value else "0"
        parts.append(
            f'<rect x="{x + 4}" y="{110 - height:.1f}" width="32" height="{max(height, 1):.1f}" '
            f'class="hit"/><text x="{x + 20}" y="{104 - height:.1f}" class="small">{shown}</text>'
            f'<text x="{x + 20}" y="126" class="small">{rank}</text>'
        )
    x = 40 * CUT
    parts.append(f'<line x1="{x}" y1="8" x2="{x}" y2="130" class="cut"/>')
    parts.append(f'<text x="{x + 4}" y="16" class="small start">k = {CUT}</text>')
    return _svg("Value by the rank of the hit", 400, 130, "".join(parts))


def discounts() -> str:
    """The discounts over the first ranks."""
    parts = [
        f'<text x="{20 + 40 * (rank - 1)}" y="146" class="small">{rank}</text>'
        for rank in range(1, DEPTH + 1)
    ]
    top = weight_of(1, "ln")
    for number, discount in enumerate(("log2", "log2_clip", "ln")):
        points = [
            (20 + 40 * (rank - 1), 130 - 120 * weight_of(rank, discount) / top)
            for rank in range(1, DEPTH + 1)
        ]
        line = " ".join(f"{x},{y:.1f}" for x, y in points)
        parts.append(f'<polyline points="{line}" class="line line{number}"/>')
        x, y = 250, 20 + 20 * number
        parts.append(
            f'<line x1="{x}" y1="{y}" x2="{x + 24}" y2="{y}" class="line line{number}"/>'
            f'<text x="{x + 32}" y="{y + 4}" class="small start">{discount}</text>'
        )
    return _svg("Discounts by rank", 400, 150, "".join(parts))


def _svg(title: str, width: int, height: int, inside: str) -> str:
    top = math.ceil(height)
    return (
        f'<div class="picture"><svg viewBox="0 0 {width} {top}" width="{width}" role="img" '
        f'aria-label="{title}">{inside}</svg></div>\n'
    )
