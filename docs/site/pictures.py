"""Small pictures as inline SVG, in the colours of the page."""

import math

import example
import numpy as np

from recmetrics import Metrics
from recmetrics._spec.registry import Metric
from recmetrics.metrics._reference import weight_of

DEPTH = 10  # ranks that are drawn
CUT = 5  # the cutoff that is drawn
DISCOUNTS = ("dcg", "ndcg")


def one_list(metric: Metric) -> str:
    """The list of the worked example, with what the metric reads of each item below it."""
    listed = [item for item in example.RANKING[0] if item >= 0]
    others = [item for item in range(len(example.ITEMS)) if item not in listed]
    what, about = _read_by(metric)
    parts = [_item(item, 44 * place, what[item]) for place, item in enumerate(listed)]
    parts += [_item(item, 210 + 44 * place, what[item]) for place, item in enumerate(others)]
    parts += [
        f'<text x="{20 + 44 * place}" y="12" class="small">{place + 1}</text>'
        for place in range(len(listed))
    ]
    parts.append('<text x="210" y="12" class="small start">not listed</text>')
    picture = _svg(f"The list, and {about}", 480, 84, "".join(parts))
    return f"{picture}\nAbove each item its rank, below it {about}.\n"


def _read_by(metric: Metric) -> tuple[list[str], str]:
    """What the metric reads of each item, and what that is called."""
    if metric.reads == "hits":
        return [f"{grade:g}" for grade in example.TRUTH[0]], "its relevance"
    if ("popularity",) not in metric.needs:
        vectors = [" ".join(f"{number:g}" for number in row) for row in example.FEATURES]
        return vectors, "its features" if metric.name == "diversity" else "its genres"
    shares = [f"{share:g}" for share in example.POPULARITY]
    if "rel" not in metric.options:
        return shares, "its popularity"
    return shares, "its popularity; the coloured ones are relevant"


def _item(item: int, x: int, below: str) -> str:
    kind = "hit" if example.TRUTH[0][item] else "miss"  # relevant, or not
    return (
        f'<rect x="{x}" y="20" width="40" height="40" rx="4" class="{kind}"/>'
        f'<text x="{x + 20}" y="45" class="letter">{example.ITEMS[item]}</text>'
        f'<text x="{x + 20}" y="76" class="small">{below}</text>'
    )


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
    if metric.reads == "hits" and metric.default_k and not metric.whole_list:
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
    for number, discount in enumerate(("log2", "log2_clip", "ln", "reciprocal")):
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


def flow() -> str:
    """From what goes in to what comes out."""
    parts = [
        _box(0, 0, 200, 40, "metric strings"),
        _box(0, 60, 200, 56, "scores and truth", "exclude, candidates"),
        _box(250, 0, 150, 40, "specs"),
        _box(250, 60, 150, 56, "checked inputs", "no copy"),
        _box(450, 60, 190, 56, "ranks of relevant items", "row blocks in threads"),
        _box(450, 150, 190, 40, "one kernel per spec"),
        _box(250, 150, 150, 40, "(n_users,) each"),
    ]
    parts += [
        _arrow(200, 20, 250, 20),
        _arrow(200, 88, 250, 88),
        _arrow(400, 88, 450, 88),
        _arrow(400, 20, 545, 20, 545, 60),
        _arrow(545, 116, 545, 150),
        _arrow(450, 170, 400, 170),
    ]
    return _svg("The flow of data", 642, 192, "".join(parts))


def house() -> str:
    """The layout of the package: each line imports only from the lines below."""
    parts = [
        _box(0, 0, 160, 48, "command", "cli"),
        _box(167, 0, 160, 48, "trainers", "torchmetrics"),
        _box(334, 0, 140, 48, "tables", "tables"),
        _box(481, 0, 154, 48, "Dask", "dask"),
        _box(0, 64, 474, 48, "entry points", "Metrics, Evaluator, audit, explain, warmup"),
        _box(481, 64, 154, 48, "comparison", "comparison"),
        _box(0, 128, 635, 48, "values: batches, merging, saved state", "_results"),
        _box(0, 192, 635, 48, "the metrics", "metrics"),
        _box(0, 256, 635, 48, "hits and lists: rankers, kernels", "_selection"),
        _box(0, 320, 635, 48, "scores, truth, exclude, candidates, side information", "_inputs"),
        _box(0, 384, 635, 48, "metric strings, registry, conventions, the request", "_spec"),
        _box(0, 448, 635, 48, "keywords, types, threads, files, compiler, errors",
             "_options, _types, _threads, _io, _jit, _errors"),
    ]  # fmt: skip
    return _svg("The layout of the package", 637, 498, "".join(parts))


def _box(x: int, y: int, width: int, height: int, *lines: str) -> str:
    first = y + height / 2 + 5 - 8 * (len(lines) - 1)
    words = "".join(
        f'<text x="{x + width / 2:g}" y="{first + 16 * place:g}" class="{kind}">{line}</text>'
        for place, (line, kind) in enumerate(zip(lines, ("word", "small"), strict=False))
    )
    return (
        f'<rect x="{x + 1}" y="{y + 1}" width="{width - 2}" height="{height - 2}" rx="4" '
        f'class="box"/>{words}'
    )


def _arrow(*points: int) -> str:
    ends = list(zip(points[::2], points[1::2], strict=True))
    (x0, y0), (x, y) = ends[-2:]
    dx, dy = (x > x0) - (x < x0), (y > y0) - (y < y0)
    left = f"{x - 7 * dx - 4 * dy},{y - 7 * dy - 4 * dx}"
    right = f"{x - 7 * dx + 4 * dy},{y - 7 * dy + 4 * dx}"
    head = f"{x},{y} {left} {right}"
    line = " ".join(f"{a},{b}" for a, b in ends)
    return f'<polyline points="{line}" class="arrow"/><polygon points="{head}" class="head"/>'


def _svg(title: str, width: int, height: int, inside: str) -> str:
    top = math.ceil(height)
    return (
        f'<div class="picture" data-search-exclude><svg viewBox="0 0 {width} {top}" '
        f'width="{width}" role="img" aria-label="{title}">{inside}</svg></div>\n'
    )


PICTURES = {"flow": flow, "house": house}
