"""Draw the time relative to reading the scores once, by items and by k, for each library.

python benchmarks/plot.py        curves.png, from results.json
"""

import argparse
import json
from pathlib import Path
from typing import Any

import matplotlib as mpl

mpl.use("Agg")
import matplotlib.pyplot as plt

HERE = Path(__file__).resolve().parent
# The same colour for a rival whatever others are there; ours stands out.
COLOURS = {
    "recmetrics": "#d1495b",
    "torch.topk": "#2e86ab",
    "irspack": "#3d8361",
    "np.argpartition": "#8d6cab",
    "bottleneck": "#b08968",
}
PANELS = (("items", "items per user, k = 20"), ("k", "k, 20,000 items per user"))


def main() -> None:
    """Read the results and draw."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--results", type=Path, default=HERE / "results.json")
    parser.add_argument("--out", type=Path, default=HERE / "curves.png")
    args = parser.parse_args()
    rows = json.loads(args.results.read_text())["curves"]["rows"]
    figure, axes = plt.subplots(1, 2, figsize=(10, 4.4), sharey=True, layout="constrained")
    for axis, (name, label) in zip(axes, PANELS, strict=True):
        draw(axis, [row for row in rows if row["what"].startswith(f"{name} = ")], label)
    axes[0].set_ylabel("times reading the scores once")
    handles, names = axes[0].get_legend_handles_labels()
    figure.legend(handles, names, loc="outside lower center", ncols=len(names), frameon=False)
    figure.suptitle("ndcg@k of a float32 score matrix, over reading it once with every core")
    figure.savefig(args.out, dpi=130)


def draw(axis: Any, rows: list[dict[str, Any]], label: str) -> None:
    """One panel: a line for each way, and the band between its quartiles."""
    for name in dict.fromkeys(row["column"] for row in rows):
        own = [row for row in rows if row["column"] == name]
        x = [float(row["what"].rpartition(" ")[2]) for row in own]
        colour = COLOURS[name]
        width = 2.4 if name == "recmetrics" else 1.5
        axis.plot(x, [row["value"] for row in own], "o-", ms=4, lw=width, color=colour, label=name)
        low, high = ([row[key] for row in own] for key in ("low", "high"))
        axis.fill_between(x, low, high, color=colour, alpha=0.15, lw=0)
    axis.axhline(1, color="0.35", lw=1, ls="--")
    axis.annotate("the limit", (x[0], 1), xytext=(0, 4), textcoords="offset points", color="0.35")
    axis.set(xscale="log", yscale="log", xlabel=label)
    axis.set_ylim(bottom=0.8)
    axis.yaxis.set_major_formatter(mpl.ticker.StrMethodFormatter("{x:g}"))
    axis.grid(alpha=0.25, which="major")
    axis.spines[["top", "right"]].set_visible(False)


if __name__ == "__main__":
    main()
