"""Pictures of a comparison."""

import importlib
import re
import sys
import warnings
from itertools import pairwise

import numpy as np
import pytest
from compared import LEVELS, NAN, NEW, OLD, SMALL, calls_of_warnings, models

from recmetrics import ArgumentError, RecmetricsWarning, compare, summary

pytest.importorskip("matplotlib", reason="matplotlib is not installed")


def inside(figure):
    """Whether everything that is drawn lies on the figure."""
    backend = importlib.import_module("matplotlib.backends.backend_agg")
    backend.FigureCanvasAgg(figure).draw()
    drawn, (width, height) = figure.get_tightbbox(), figure.get_size_inches()
    return drawn.x0 >= 0 and drawn.y0 >= 0 and drawn.x1 <= width and drawn.y1 <= height


NAMES = {
    "short": ("a", "b"),
    "long": ("a very long name of a model that a sweep wrote_lr=0.001_dim=128_seed=42", "b$_1"),
}


@pytest.mark.parametrize(
    ("names", "suffix"), [("short", "png"), ("long", "png"), ("long", "pdf"), ("long", "svg")]
)
def test_a_plot_is_written_and_nothing_is_cut(names, suffix, tmp_path):
    metrics = ["ndcg(gain=exp2, discount=log2_clip, ideal=retrieved)@100", "m", "n"]
    values = {
        name: {m: np.array(OLD) + 0.1 * i for m in metrics} | {"coverage@5": np.array(0.5)}
        for i, name in enumerate(NAMES[names])
    }
    path = tmp_path / f"plot.{suffix}"
    figure = compare(values, rng=0).plot(path)
    start = {"png": b"\x89PNG", "pdf": b"%PDF", "svg": b"<?xml"}[suffix]
    assert path.read_bytes().startswith(start)
    assert inside(figure)
    shown = " ".join(text.get_text() for text in figure.findobj(lambda o: hasattr(o, "get_text")))
    assert "coverage@5" in shown
    assert "95 % intervals" in shown


def test_a_plot_without_notes_is_laid_out():
    """Of one user, who has no interval, and so no note on it."""
    figure = summary({"ndcg@10": [0.5], "mrr": [1.0], "hit@5": [1.0]}).plot()
    assert inside(figure)
    boxes = [axes.get_tightbbox() for axes in figure.axes]
    for upper, lower in pairwise(boxes):
        assert upper.y0 >= lower.y1


def test_points_lie_above_the_intervals_of_all_models():
    values = {name: {"m": OLD, "n": np.array(NEW) + 0.01 * i} for i, name in enumerate("abc")}
    [axes] = compare(values, rng=0).plot(x="m", y="n").axes
    is_point = {line: line.get_marker() not in ("None", None, "") for line in axes.lines}
    points = [line.get_zorder() for line in axes.lines if is_point[line]]
    crosses = [line.get_zorder() for line in axes.lines if not is_point[line]]
    assert (len(points), len(crosses)) == (3, 6)
    assert min(points) > max(crosses)


def test_a_blank_model_is_named_by_quotes():
    """As in the tables: in a row of its own, and in the legend of curves."""
    pytest.importorskip("narwhals", reason="narwhals is not installed")
    pd = pytest.importorskip("pandas", reason="pandas is not installed")
    values = {f"ndcg@{k}": [0.5, 1, 0.25, 1] for k in range(1, 5)} | {"mrr": [0.5, 0.25, 1, 1]}
    frame = pd.DataFrame({"model": ["a", " ", "a", " "], "user": [1, 1, 2, 2], **values})
    curves, rows = summary(frame).plot().axes
    assert [label.get_text() for label in rows.get_yticklabels()] == ["a", "''"]
    assert [text.get_text() for text in curves.get_legend().get_texts()] == ["a", "''"]


def test_a_name_that_begins_with_an_underscore_is_in_the_legend():
    """matplotlib leaves such a name out, and warns if no other is left."""
    found = compare({f"_{name}": values for name, values in models(metrics=CUTOFFS).items()})
    (means, _) = found.plot().axes
    (points,) = found.plot(x="ndcg@1", y="ndcg@5").axes
    for axes in (means, points):
        names = [text.get_text().strip() for text in axes.get_legend().get_texts()]
        assert names == list(found.models)


WIDE = "RANDOM MAMMOTHS OF WWW"


def test_text_of_wide_letters_is_not_cut():
    """It has fewer letters in a line: of a note, of a title, of an axis and of names."""
    metric = f"{WIDE} {WIDE} {WIDE}"
    values = {
        f"{WIDE} {i} {WIDE}": {metric: OLD, "ndcg@10": NEW}
        | {f"coverage@{k}": np.array(i / 2) for k in range(1, 21)}
        for i in range(2)
    }
    levels = {f"{WIDE} {i}": {metric: OLD} for i in range(4)}
    found = compare(values, levels=levels)
    assert inside(found.plot())
    assert inside(found.plot(x=metric, y="ndcg@10"))
    assert inside(summary({metric: OLD}, levels={f"{WIDE} {WIDE}": {metric: NEW}}).plot())


def test_a_larger_font_makes_a_larger_picture():
    """So that no note is cut, and the names of models lie apart."""
    rc_context = importlib.import_module("matplotlib").rc_context
    found = compare(long_names(3))
    with rc_context({"font.size": 20}):
        assert inside(found.plot(x="ndcg@1", y="ndcg@5"))
        assert inside(found.plot())
        figure = compare(long_names(3, ("mrr",))).plot()
        assert inside(figure)
    (means, _) = figure.axes
    boxes = [label.get_window_extent() for label in means.get_yticklabels()]
    for upper, lower in pairwise(boxes):
        assert upper.y0 >= lower.y1


def test_the_notes_are_on_what_is_drawn():
    """A picture shows no numbers of users and one test, and coverage has no interval."""
    found = compare(SMALL, weights=range(1, 7), tests=["t", "permutation"])
    assert "effective: the effective number" in str(found)
    assert "(also shown: sign-flip permutation test)" in str(found)
    of_all_lists = {"a": {"coverage@5": np.array(0.5)}, "b": {"coverage@5": np.array(0.25)}}
    for figure, notes in (
        (found.plot(), ("weighted\n", "by paired t test, corrected by Holm over")),
        (summary(SMALL["old"], weights=range(1, 7)).plot(), ("weighted",)),
        (compare(of_all_lists).plot(), ("not tested, one value for all lists",)),
    ):
        text = figure.subfigs[1].texts[0].get_text()
        assert all(note in text for note in notes)
        assert "effective number" not in text
        assert "also shown" not in text
        assert ("intervals by" in text) == ("weighted" in text)
    assert "intervals by" not in str(compare(of_all_lists))
    assert "intervals by" not in str(summary(of_all_lists["a"]))


def test_no_text_is_read_by_tex_or_as_a_formula():
    """To TeX, which matplotlib's settings may ask for, % begins a comment and _ is an error."""
    rc_context = importlib.import_module("matplotlib").rc_context
    values = {"r_precision": OLD, "m$_2$": NEW}
    found = compare({"$a_1$": values, "b": dict.fromkeys(values, OLD)})
    curves = compare({f"${name}$": values for name, values in models(metrics=CUTOFFS).items()})
    axes = importlib.import_module("matplotlib.figure").Figure().subplots()
    with rc_context({"text.usetex": True}):
        pictures = [found.plot(), found.plot(x="m$_2$", y="r_precision"), curves.plot()]
        pictures.append(curves.plot(axes, table="means"))
    text_class = importlib.import_module("matplotlib.text").Text
    texts = [text for picture in pictures for text in picture.findobj(text_class)]
    words = [text for text in texts if text.get_visible() and re.search("[a-z]", text.get_text())]
    # Numbers at the axes are matplotlib's own, and formulas.
    words = [text for text in words if "mathdefault" not in text.get_text()]
    assert {(text.get_usetex(), text.get_parse_math()) for text in words} == {(False, False)}
    shown = "\n".join(text.get_text() for text in words)
    for text in ("b - $a_1$", "m$_2$", "$model0$", "95 % intervals", "\nndcg@k\n", "differences"):
        assert text in shown


def test_characters_without_a_font_are_told_once(tmp_path):
    """No font that comes with matplotlib has Chinese characters."""
    values = {"模型": {"m": np.tile(OLD, 20)}, "a$": {"m": np.tile(NEW, 20)}}
    found = compare(values, by=["组", "b"] * 60)
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        figure = found.plot(tmp_path / "plot.png")
    [warning] = caught
    assert warning.category is RecmetricsWarning
    assert str(warning.message).startswith(
        "the picture has \u25a1 in place of '模型组', as no font"
    )
    names = [tick.get_text() for tick in figure.axes[1].get_yticklabels()]
    assert names[0] == "a$ - \u25a1\u25a1 *"
    axes = importlib.import_module("matplotlib.figure").Figure().subplots()
    with pytest.warns(RecmetricsWarning, match="in place of '模型组', as no font"):
        found.plot(axes)


def test_a_later_font_draws_what_the_first_lacks():
    """STIX has no Georgian letters, DejaVu Sans has."""
    found = compare({"მოდელი": {"m": OLD}, "a": {"m": NEW}})
    fonts = {"font.family": ["STIXGeneral", "DejaVu Sans"]}
    with importlib.import_module("matplotlib").rc_context(fonts):
        figure = found.plot()
    names = [tick.get_text() for tick in figure.axes[0].get_yticklabels()]
    assert "მოდელი" in names


def test_a_plot_on_axes():
    figure = importlib.import_module("matplotlib.figure").Figure()
    left, right = figure.subplots(1, 2)
    values = {
        "old": {"m": np.tile(OLD, 20), "coverage@5": np.array(0.25)},
        "new": {"m": np.tile(NEW, 20), "coverage@5": np.array(0.5)},
    }
    found = compare(values)
    assert found.plot(left) is figure
    found.plot(right, table="means")
    assert [tick.get_text() for tick in left.get_yticklabels()] == ["m\nnew - old *"]
    assert [tick.get_text() for tick in right.get_yticklabels()] == [
        *("m\nold", "m\nnew (best)", "coverage@5\nold", "coverage@5\nnew (best)")
    ]
    low, high = found.differences[0].low, found.differences[0].high
    assert any(list(line.get_xdata()) == [low, high] for line in left.get_lines())


@pytest.mark.parametrize("style", ["default", "dark_background", "Solarize_Light2", "seaborn-v0_8"])
def test_hollow_dots_and_notes_follow_the_style_of_matplotlib(style):
    """Hollow dots have the colour of what is behind them, notes that of all text."""
    pyplot = importlib.import_module("matplotlib.pyplot")
    to_rgba = importlib.import_module("matplotlib.colors").to_rgba
    with pyplot.style.context(style):
        figure = compare(SMALL, rng=0).plot()
        text_colour = to_rgba(pyplot.rcParams["text.color"])
    (notes,) = figure.subfigs[1].texts
    assert to_rgba(notes.get_color()) == text_colour
    (means, *_) = figure.axes
    dots = [line for line in means.get_lines() if line.get_marker() == "o"]
    faces = [to_rgba(dot.get_markerfacecolor()) for dot in dots]
    assert faces == [means.get_facecolor(), to_rgba(dots[1].get_color())]  # the best is filled
    assert all(dot.get_markeredgewidth() for dot in dots)


def test_a_plot_without_intervals_and_differences():
    figure = compare({"a": {"c": np.array(NAN)}, "b": {"c": np.array(0.5)}}).plot()
    assert len(figure.findobj(importlib.import_module("matplotlib.axes").Axes)) == 1


def test_no_differences_on_axes():
    axes = importlib.import_module("matplotlib.figure").Figure().subplots()
    found = compare({"a": {"coverage@2": np.array(0.5)}, "b": {"coverage@2": np.array(0.25)}})
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        found.plot(axes)
    assert found.differences == ()
    assert not axes.axison
    assert not axes.get_lines()


def test_a_plot_leaves_the_filters_of_warnings_alone(tmp_path):
    found, calls = compare(SMALL, rng=0), []
    found.plot(tmp_path / "warm.png")  # what is imported on the way is not watched
    sys.setprofile(calls_of_warnings(calls))
    try:
        found.plot(tmp_path / "plot.png")
    finally:
        sys.setprofile(None)
    assert calls == []


def test_plots_without_matplotlib(monkeypatch):
    monkeypatch.setitem(sys.modules, "matplotlib.figure", None)
    with pytest.raises(
        ArgumentError,
        match=r'^plots need the package matplotlib; type: pip install "matplotlib>=3.8"$',
    ):
        compare(SMALL).plot()


def test_targets_that_are_none(tmp_path):
    found = compare(SMALL, rng=0)
    with pytest.raises(ArgumentError, match=r"^target must be a file name or matplotlib axes, got"):
        found.plot(3)
    with pytest.raises(
        ArgumentError, match=r"^target must end in .png, .pdf or .svg, got '.*txt'$"
    ):
        found.plot(tmp_path / "plot.txt")
    assert list(tmp_path.iterdir()) == []


def test_levels_in_a_plot():
    figure = compare({**SMALL, "new": [SMALL["new"]] * 2}, rng=0, levels=LEVELS).plot()
    texts = " ".join(text.get_text() for text in figure.findobj(lambda o: hasattr(o, "get_text")))
    assert "do not cover the variation over runs" in " ".join(texts.split())
    names = [tick.get_text() for tick in figure.axes[0].get_yticklabels()]
    assert names == ["old", "new (best)", "chance", "ceiling"]


CURVE = ("hit@2", "ndcg@1", "ndcg@20", "ndcg@5", "hit@1")


def lines_of(axes):
    """The points of each line in the legend of some axes."""
    return {
        line.get_label(): list(zip(*line.get_data(), strict=True))
        for line in axes.get_lines()
        if not line.get_label().startswith("_")
    }


def test_three_cutoffs_are_a_curve(tmp_path):
    results = models(metrics=CURVE, n_models=2)
    levels = {name: {m: [0.1] * 200 for m in CURVE} for name in ("chance", "ceiling")}
    found = compare(results, rng=0, levels=levels)
    figure = found.plot(tmp_path / "curve.png")
    assert inside(figure)
    titles = [axes.get_title(loc="left") for axes in figure.axes]
    assert titles == [each for m in ("hit@2", "ndcg@k", "hit@1") for each in (m, "differences")]
    means, differences = figure.axes[2:4]
    assert lines_of(means) == {
        model: [
            (k, next(e.mean for e in found.means if (e.metric, e.model) == (f"ndcg@{k}", model)))
            for k in (1, 5, 20)
        ]
        for model in ("model0", "model1", "chance", "ceiling")
    }
    styles = {line.get_label(): line.get_linestyle() for line in means.get_lines()}
    assert styles["chance"] != styles["ceiling"]  # which have one colour
    of_pair = {each.metric: each.difference for each in found.differences}
    assert lines_of(differences) == {
        "model1 - model0": [(k, of_pair[f"ndcg@{k}"]) for k in (1, 5, 20)]
    }
    [interval] = differences.collections
    ends = {each.metric: (each.low, each.high) for each in found.differences}
    assert {tuple(point) for path in interval.get_paths() for point in path.vertices} == {
        (k, end) for k in (1, 5, 20) for end in ends[f"ndcg@{k}"]
    }
    axes = importlib.import_module("matplotlib.figure").Figure().subplots()
    compare(results, metrics=["ndcg@5", "ndcg@1", "ndcg@20"], rng=0).plot(axes)
    assert (axes.get_xlabel(), axes.get_ylabel()) == ("k", "ndcg@k")


def test_a_plot_of_a_summary(tmp_path):
    values = models(metrics=CURVE, n_models=1)["model0"]
    found = summary(values, levels={"chance": {m: [0.1] * 200 for m in CURVE}})
    figure = found.plot(tmp_path / "summary.svg")
    assert inside(figure)
    assert [axes.get_title(loc="left") for axes in figure.axes] == ["hit@2", "ndcg@k", "hit@1"]
    assert lines_of(figure.axes[1]) == {
        "mean": [(k, found.means[f"ndcg@{k}"]) for k in (1, 5, 20)],
        "chance": [(k, pytest.approx(0.1)) for k in (1, 5, 20)],
    }
    shown = " ".join(text.get_text() for text in figure.findobj(lambda o: hasattr(o, "get_text")))
    assert "95 % intervals" in shown


def test_the_levels_of_several_models_are_drawn_once():
    pytest.importorskip("narwhals", reason="narwhals is not installed")
    pl = pytest.importorskip("polars", reason="polars is not installed")
    columns = {"model": ["a", "a", "b", "b"], "user": ["u", "v"] * 2, "hit@1": [0.0, 1.0, 1.0, 1.0]}
    figure = summary(pl.DataFrame(columns), levels={"best": {"hit@1": 1.0}}).plot()
    labels = [text.get_text() for text in figure.axes[0].get_yticklabels()]
    assert labels == ["a", "best", "b"]


def test_the_ticks_of_a_curve_have_both_ends():
    values = models(metrics=tuple(f"ndcg@{k}" for k in range(1, 21)), n_models=2)
    means, differences = compare(values).plot().axes
    assert list(means.get_xticks()) == [1, 5, 10, 15, 20]
    assert list(differences.get_xticks()) == [1, 5, 10, 15, 20]


def test_each_of_many_models_has_a_style_of_its_own():
    values = models(metrics=("ndcg@1", "ndcg@5", "ndcg@10", "mrr"), n_models=12)
    found = compare(values, metrics=["ndcg@1", "ndcg@5", "ndcg@10"], baseline=next(iter(values)))
    curves, _ = found.plot().axes
    of_curves = [line for line in curves.get_lines() if not line.get_label().startswith("_")]
    styles = {(line.get_color(), line.get_linestyle()) for line in of_curves}
    assert len(styles) == len(of_curves) == 12
    (points,) = compare(values, baseline=next(iter(values))).plot(x="mrr", y="ndcg@5").axes
    of_points = [line for line in points.get_lines() if not line.get_label().startswith("_")]
    markers = {(line.get_color(), line.get_marker()) for line in of_points}
    assert len(markers) == len(of_points) == 12


CUTOFFS = ("ndcg@1", "ndcg@5", "ndcg@10")


def long_names(n_models, metrics=CUTOFFS):
    """Models whose names take several lines of a legend."""
    of_models = models(metrics=metrics, n_models=n_models).values()
    name = "a transformer with a long name, learning rate 0.001, dimension 128, seed"
    return {f"{name} {i}": values for i, values in enumerate(of_models)}


LEGENDS = {
    "four models": lambda: compare(models(metrics=CUTOFFS, n_models=4)),
    "a curve above points": lambda: compare(models(metrics=(*CUTOFFS, "mrr"), n_models=4)),
    "three long names and groups": lambda: compare(long_names(3), by=["x", "y"] * 100),
    "thirteen models": lambda: compare(
        models(metrics=[f"ndcg@{k}" for k in range(1, 51)], n_models=13), baseline="model0"
    ),
    "twelve long names": lambda: compare(long_names(12), baseline=next(iter(long_names(1)))),
}


def covered_by_legends(figure):
    """The axes and the texts on which a name of a legend lies; all of it is on the figure."""
    assert inside(figure)
    legends = figure.findobj(importlib.import_module("matplotlib.legend").Legend)
    names = [text for legend in legends for text in legend.get_texts()]
    assert names
    texts = figure.findobj(importlib.import_module("matplotlib.text").Text)
    others = [text for text in texts if text.get_text() and text not in names]
    others += [axes.patch for axes in figure.axes]
    renderer = figure.canvas.get_renderer()
    boxes = [name.get_window_extent(renderer) for name in names]
    return [other for other in others if other.get_window_extent(renderer).count_overlaps(boxes)]


@pytest.mark.parametrize("case", LEGENDS)
def test_a_legend_covers_nothing_and_the_axes_keep_their_size(case):
    figure = LEGENDS[case]().plot()
    assert covered_by_legends(figure) == []
    curves = [axes for axes in figure.axes if axes.get_xlabel() == "k"]
    for axes in curves:
        width, height = axes.get_window_extent().size / figure.dpi
        assert width > 4
        assert 1.8 < height < 3.2


@pytest.mark.parametrize("values", [models(n_models=2), long_names(12, ("ndcg@10", "recall@10"))])
def test_the_legend_of_one_metric_against_another_covers_nothing(values):
    found = compare(values, baseline=next(iter(values)))
    assert covered_by_legends(found.plot(x="ndcg@10", y="recall@10")) == []


def test_a_legend_of_many_lines_is_beside_the_axes_of_a_user():
    """There is no room for it below; a short one is on the axes."""
    for values, is_beside in ((models(metrics=CUTOFFS), False), (long_names(3), True)):
        axes = importlib.import_module("matplotlib.figure").Figure().subplots()
        compare(values).plot(axes, table="means")
        inside(axes.figure)  # draws it
        left_of_legend = axes.get_legend().get_window_extent().x0
        assert (left_of_legend >= axes.get_window_extent().x1) == is_beside


def test_groups_are_drawn_below_all_users_and_their_curves_beside_those():
    values = models(metrics=(*CURVE, "mrr"), n_models=2)
    found = compare(values, by=["a", "b"] * 100)
    figure = found.plot()
    titles = [axes.get_title(loc="left") for axes in figure.axes[::2]]
    assert titles == ["hit@2", "ndcg@k", "ndcg@k, a", "ndcg@k, b", "hit@1", "mrr"]
    names = [tick.get_text() for tick in figure.axes[1].get_yticklabels()]
    assert [name.removesuffix(" *") for name in names] == [
        *("model1 - model0", "a: model1 - model0", "b: model1 - model0")
    ]
    of_b = {
        mean.metric: mean.mean
        for mean in found.means
        if (mean.group, mean.model) == ("b", "model0")
    }
    assert lines_of(figure.axes[6])["model0"] == [(k, of_b[f"ndcg@{k}"]) for k in (1, 5, 20)]
    shown = " ".join(text.get_text() for text in figure.findobj(lambda o: hasattr(o, "get_text")))
    assert "; p-values of groups are corrected separately, over 12 differences" in " ".join(
        shown.split()
    )
    axes = importlib.import_module("matplotlib.figure").Figure().subplots()
    compare(values, metrics="mrr", by=["a", "b"] * 100).plot(axes)
    assert len(axes.get_yticklabels()) == 1


def test_a_metric_of_all_lists_takes_the_whole_row():
    values = {
        name: {"m": np.tile(OLD, 20) + shift, "coverage@5": np.array(0.5)}
        for name, shift in {"a": 0, "b": 0.1}.items()
    }
    figure = compare(values).plot()
    assert [axes.get_title(loc="left") for axes in figure.axes] == [
        "m",
        "differences",
        "coverage@5",
    ]
    figure.canvas.draw()
    of_row = figure.axes[2].get_position()
    assert of_row.x0 == pytest.approx(figure.axes[0].get_position().x0)
    assert of_row.x1 == pytest.approx(figure.axes[1].get_position().x1)


def test_one_metric_against_another(tmp_path):
    values = {
        "old": {"m": np.tile(OLD, 20), "gini@5": np.array(0.25)},
        "new": {"m": np.tile(NEW, 20), "gini@5": np.array(0.5)},
    }
    levels = {"chance": {"m": [0.1] * (20 * len(OLD))}}  # has no gini@5, so no point
    found = compare(values, levels=levels)
    figure = found.plot(tmp_path / "against.png", x="m", y="gini@5")
    assert (tmp_path / "against.png").read_bytes().startswith(b"\x89PNG")
    assert inside(figure)
    (axes,) = figure.axes
    old, new = (mean for mean in found.means if mean.metric == "m" and mean.model != "chance")
    assert lines_of(axes) == {"old": [(old.mean, 0.25)], "new": [(new.mean, 0.5)]}
    crosses = [list(zip(*line.get_data(), strict=True)) for line in axes.get_lines()]
    assert [(new.low, 0.5), (new.high, 0.5)] in crosses
    assert (axes.get_xlabel(), axes.get_ylabel()) == ("m", "gini@5 (lower is better)")
    (notes,) = figure.subfigs[1].texts
    assert notes.get_text().startswith("95 % intervals by Student's t over users")
    assert "difference" not in notes.get_text()  # it shows none
    other = importlib.import_module("matplotlib.figure").Figure().subplots()
    found.plot(other, x="gini@5", y="m")
    assert lines_of(other)["old"] == [(0.25, old.mean)]
    with pytest.raises(ArgumentError, match=r"^y must be one of 'm', 'gini@5', got None$"):
        found.plot(x="m")
