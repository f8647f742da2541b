"""Small pictures as SVG."""

import numpy as np

from recmetrics import Metrics
from recmetrics._core.metrics.reference import weight_of
from recmetrics._core.spec.registry import METRICS, Metric

DEPTH = 10  # ranks that are drawn
CUT = 5  # the cutoff that is drawn
DISCOUNTS = ("dcg", "ndcg")
# Colours that can be read on white and on black: a page shows a picture in either.
STYLE = """
text { fill: #808080; text-anchor: middle; font: 12px sans-serif }
.start { text-anchor: start }
.word { font-size: 13px; font-weight: 600 }
.hit { fill: #009688; fill-opacity: .45; stroke: #009688 }
.box { fill: #009688; fill-opacity: .12; stroke: #009688 }
.cut { stroke: #808080; stroke-dasharray: 3 3 }
.arrow { fill: none; stroke: #808080; stroke-width: 1.5 }
.head { fill: #808080 }
.line { fill: none; stroke: #009688; stroke-width: 2 }
.line1 { stroke: #f57c00 }
.line2 { stroke: #8e75d8 }
.line3 { stroke: #4c9f50 }
"""


def drawn() -> dict[str, str]:
    """Every picture by its name."""
    worth = {metric.name: bars(metric) for metric in METRICS.values() if has_worth(metric)}
    return {"flow": flow(), "house": house(), "discounts": discounts()} | worth


def has_worth(metric: Metric) -> bool:
    """Say whether the value of a hit depends on its rank alone, down to a cutoff."""
    return metric.reads == "hits" and bool(metric.default_k) and not metric.counts_all_items


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
            f'class="hit"/><text x="{x + 20}" y="{104 - height:.1f}">{shown}</text>'
            f'<text x="{x + 20}" y="126">{rank}</text>'
        )
    x = 40 * CUT
    parts.append(f'<line x1="{x}" y1="8" x2="{x}" y2="130" class="cut"/>')
    parts.append(f'<text x="{x + 4}" y="16" class="start">k = {CUT}</text>')
    return _svg("Value by the rank of the hit", 400, 130, "".join(parts))


def discounts() -> str:
    """The discounts over the first ranks."""
    parts = [
        f'<text x="{20 + 40 * (rank - 1)}" y="146">{rank}</text>' for rank in range(1, DEPTH + 1)
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
            f'<text x="{x + 32}" y="{y + 4}" class="start">{discount}</text>'
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
        _box(0, 0, 121, 48, "command", "cli"),
        _box(128, 0, 122, 48, "trainers", "torchmetrics"),
        _box(257, 0, 121, 48, "tables", "tables"),
        _box(385, 0, 121, 48, "Dask", "dask"),
        _box(513, 0, 122, 48, "Spark", "spark"),
        _box(0, 64, 310, 48, "summaries, comparisons, gates", "_report"),
        _box(325, 64, 310, 48, "audit, explain, identify, overlap", "_inspection"),
        _box(0, 128, 310, 48, "printed tables and words", "_printing"),
        _box(325, 128, 310, 48, "files", "_files"),
        '<rect x="1" y="194" width="633" height="482" rx="4" class="arrow"/>',
        '<text x="317.5" y="214" class="word">_core: scores and truth in, values out</text>',
        _box(16, 226, 603, 48, "entry points", "compute, evaluator, stream, warmup"),
        _box(16, 290, 603, 48, "values: batches, merging, saved state", "results"),
        _box(16, 354, 603, 48, "the metrics", "metrics"),
        _box(16, 418, 603, 48, "hits and lists: rankers, kernels", "selection"),
        _box(16, 482, 603, 48, "scores, truth, exclude, candidates, side information", "inputs"),
        _box(16, 546, 603, 48, "metric strings, registry, conventions, the request", "spec"),
        _box(16, 610, 603, 48, "keywords, types, threads, compiler, errors",
             "options, types, threads, jit, errors"),
    ]  # fmt: skip
    return _svg("The layout of the package", 637, 678, "".join(parts))


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
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width} {height}" width="{width}" '
        f'role="img" aria-label="{title}">\n<style>{STYLE}</style>\n{inside}\n</svg>\n'
    )
