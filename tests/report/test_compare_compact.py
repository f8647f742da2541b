"""The compact table of a comparison: what it shows, in each form."""

import re
import shutil
import subprocess
from string import ascii_lowercase

import compared
import numpy as np
import pytest

from recmetrics import ArgumentError, MetricSpecError, compare

OLD = np.tile(compared.OLD, 20)
NEW = np.tile(compared.NEW, 20)
WORST = np.tile([0.0, 0.3, 0.1, 0.2, 0.0, 0.4], 20)
RESULTS = {
    "a_b": {"ndcg@10": OLD, "gini@5": NEW, "coverage@5": np.array(0.25)},
    "new": {"ndcg@10": NEW, "gini@5": OLD, "coverage@5": np.array(0.5)},
    "95%": {"ndcg@10": WORST, "gini@5": NEW, "coverage@5": np.array(0.5)},
}
SIGNIFICANT = "significant: p < 0.05 by paired t test, corrected by Holm over 2 metrics x 3 pairs"
FEW = (
    "{}: p is larger than that of the t test, as few users gain, or few lose, or differences are "
    "skewed; it is 1 - c, where c is the confidence at which the interval just reaches 0; Holm "
    "corrects all p after that"
)
FEW_OF_TWO = FEW.format("ndcg@10; gini@5 (only new - a_b, 95% - new)")


def test_the_table_as_text():
    table = compare(RESULTS, rng=0).compact()
    assert str(table).splitlines() == [
        "   model      ndcg@10       gini@5  coverage@5",
        "-  -----  -----------  -----------  ----------",
        "a  a_b     0.2500  c    0.4000         0.2500",
        "b  new    [0.4000] ac  [0.2500] ac    [0.5000]",
        "c  95%     0.1667       0.4000        [0.5000]",
        "",
        "[ ]: the best mean of a metric",
        "lower is better: gini@5",
        "not tested, one value for all lists: coverage@5",
        "letters a, b, ...: significantly better than model a, b, ...",
        SIGNIFICANT,
        FEW_OF_TWO,
    ]
    assert repr(table) == str(table)


def test_the_letters_are_the_significant_differences():
    rng = np.random.default_rng(0)
    shared = rng.random(100)
    values = {
        f"m{i}": {m: shared + rng.normal(mean, 0.1, 100) for m in ("gini@5", "ndcg@5")}
        for i, mean in enumerate((0.0, 0.05, 0.03, 0.06))
    }
    for baseline in (None, "m1"):
        found = compare(values, baseline=baseline, rng=0)
        lines = found.compact().to_markdown().splitlines()[2:6]
        rows = [line.replace("*", "").strip("|").split("|") for line in lines]
        letters = dict(zip(values, "abcd", strict=True))
        for row, model in zip(rows, values, strict=True):
            for cell, metric in zip(row[2:], ("gini@5", "ndcg@5"), strict=True):
                beaten = ""
                for each in found.differences:
                    if not each.significant or each.metric != metric:
                        continue
                    is_better = (each.difference > 0) == (metric == "ndcg@5")
                    pair = (each.model, each.against)
                    if pair[not is_better] == model:
                        beaten += letters[pair[is_better]]
                assert "".join(cell.split()[1:]) == "".join(sorted(beaten))
        assert sum(len(cell.split()) > 1 for row in rows for cell in row[2:]) >= 2


def test_the_letters_of_more_than_26_models_are_told_apart():
    """Of two means, the better is marked with all models of the worse, in their order."""
    values = {}
    for i, letter in enumerate([*ascii_lowercase, "aa", "ab"]):
        values[f"m{i}"] = {"ndcg@10": OLD if letter in ("a", "b", "z", "aa") else NEW}
    table = compare(values, correction=None).compact()
    lines = str(table).splitlines()
    assert lines[2] == "a   m0      0.2500"
    assert lines[29] == "ab  m27    [0.4000] a,b,z,aa"
    assert "| ab | m27 | **0.4000 a,b,z,aa** |" in table.to_markdown()
    assert r"m27$^{ab}$ & \textbf{0.4000}$^{a,b,z,aa}$ \\" in table.to_latex()
    del values["m26"], values["m27"]
    assert str(compare(values, correction=None).compact()).splitlines()[4] == (
        "c  m2     [0.4000] abz"
    )


def test_a_baseline_has_the_letters_of_the_models_that_are_worse():
    table = compare(RESULTS, baseline="a_b", rng=0).compact("ndcg@10")
    assert str(table).splitlines() == [
        "   model     ndcg@10",
        "-  -----  ----------",
        "a  a_b     0.2500  c",
        "b  new    [0.4000] a",
        "c  95%     0.1667",
        "",
        "[ ]: the best mean of a metric",
        "letters a, b, ...: significantly better than model a, b, ...; "
        "models are compared only with the baseline, a_b",
        SIGNIFICANT.replace("3 pairs", "2 pairs"),
        FEW.format("ndcg@10"),
    ]
    with_second = compare(RESULTS, baseline="new", rng=0).compact("ndcg@10")
    assert "; models are compared only with the baseline, new\n" in str(with_second)


def test_the_table_in_markdown():
    assert compare(RESULTS, rng=0).compact(digits=2).to_markdown() == (
        "|  | model | ndcg@10 | gini@5 | coverage@5 |\n"
        "| --- | --- | ---: | ---: | ---: |\n"
        "| a | a\\_b | 0.25 c | 0.40 | 0.25 |\n"
        "| b | new | **0.40 ac** | **0.25 ac** | **0.50** |\n"
        "| c | 95% | 0.17 | 0.40 | **0.50** |\n"
        "\n"
        "- bold: the best mean of a metric\n"
        "- lower is better: gini@5\n"
        "- not tested, one value for all lists: coverage@5\n"
        "- letters a, b, ...: significantly better than model a, b, ...\n"
        f"- {SIGNIFICANT.replace('<', chr(92) + '<')}\n"
        "- " + FEW_OF_TWO.replace("_", "\\_") + "\n"
    )


LATEX = r"""% \usepackage{booktabs}
\begin{table}
\centering
\caption{Means over users.}
\label{tab:comparison}
\begin{tabular}{lrr}
\toprule
model & coverage@5 & ndcg@10 \\
\midrule
a\_b$^{a}$ & 0.250 & 0.250$^{c}$ \\
new$^{b}$ & \textbf{0.500} & \textbf{0.400}$^{ac}$ \\
95\%$^{c}$ & \textbf{0.500} & 0.167 \\
\bottomrule
\end{tabular}
\par\smallskip
\footnotesize
bold: the best mean of a metric \\
not tested, one value for all lists: coverage@5 \\
superscript of a model: its letter; of a mean: the models that it is significantly better than \\
significant: p \textless{} 0.05 by paired t test, corrected by Holm over 2 metrics x 3 pairs \\
FEW
\end{table}
""".replace("FEW", FEW.format("ndcg@10"))


def test_the_table_in_latex():
    table = compare(RESULTS, rng=0).compact(["coverage@5", "ndcg@10"], digits=3)
    assert table.to_latex() == LATEX
    own = table.to_latex(caption=r"Users of $\mathcal{U}$, 5\,\%.", label="tab:mine")
    assert "\\caption{Users of $\\mathcal{U}$, 5\\,\\%.}\n\\label{tab:mine}\n" in own


def test_latex_is_balanced_and_escaped():
    odd = r"m_{1}^2 & 5% #3 $x$ ~ \a [b] <c> * p|q als---v2"
    values = {odd: {odd: OLD}, "b": {odd: np.array(NEW) - 1}}
    text = compare(values, rng=0, levels={'[l "a': {odd: OLD}}).compact().to_latex()
    begun = re.findall(r"\\begin\{(\w+)\}", text)
    assert begun == ["table", "tabular"] == re.findall(r"\\end\{(\w+)\}", text)[::-1]
    unescaped = re.sub(r"\\.", "", text)
    assert unescaped.count("{") == unescaped.count("}")
    assert unescaped.count("$") % 2 == 0
    rows = [line for line in unescaped.splitlines() if line.count("&")]
    assert {line.count("&") for line in rows} == {1}
    assert re.findall(r"%.*", unescaped) == ["% sepackage{booktabs}"]
    assert "& $-$0.6000" in text
    assert (
        r"model & m\_\{1\}\textasciicircum{}2 \& 5\% \#3 \$x\$ \textasciitilde{} "
        r"\textbackslash{}a {[}b] \textless{}c\textgreater{} {*} p\textbar{}q "
        r"als-{}-{}-v2 \\"
    ) in text
    assert "\n{[}l \\symbol{34}a & 0.2500 \\\\\n" in text


@pytest.mark.skipif(shutil.which("pdflatex") is None, reason="pdflatex is not installed")
def test_latex_compiles(tmp_path):
    page = "\\documentclass{article}\n\\usepackage{booktabs}\n\\begin{document}\n"
    (tmp_path / "page.tex").write_text(f"{page}{LATEX}\\end{{document}}\n")
    command = ["pdflatex", "-interaction=nonstopmode", "-halt-on-error", "page.tex"]
    subprocess.run(command, cwd=tmp_path, check=True, capture_output=True)
    assert (tmp_path / "page.pdf").exists()


def test_a_notebook_shows_the_table():
    html = compare(RESULTS, rng=0).compact(digits=2)._repr_html_()
    # The classes keep MathJax from typesetting a label such as "$0-$10".
    assert html.startswith('<div class="tex2jax_ignore mathjax_ignore">\n<table>\n<thead><tr>')
    assert '<td style="text-align: right"><b>0.40 ac</b></td>' in html
    assert '<td style="text-align: left">95%</td>' in html
    assert "significant: p &lt; 0.05" in html


def test_metrics_and_digits_change_what_is_shown_and_no_p_value():
    found = compare(RESULTS, rng=0)
    table = found.compact("ndcg@10", digits=0)
    assert (table.metrics, table.digits) == (("ndcg@10",), 0)
    assert [line.split() for line in str(table).splitlines()[:5:4]] == [
        ["model", "ndcg@10"],
        ["c", "95%", "0"],
    ]
    assert SIGNIFICANT in str(table)
    assert "gini" not in str(table)
    turned = found.compact(["gini@5", "ndcg@10"])
    assert str(turned).split("\n")[0].split() == ["model", "gini@5", "ndcg@10"]
    assert "0.250000000000000" in str(found.compact(digits=np.int64(15)))


def test_what_else_a_table_may_have():
    levels = {"chance": {"ndcg@10": [0.1] * 120}}
    values = {name: {"ndcg@10": each["ndcg@10"]} for name, each in RESULTS.items()}
    values["new"] = [values["new"], {"ndcg@10": NEW[::-1]}]
    weights = [1, 2, 1, 1, 1, *[1] * 114, 0]
    found = compare(values, levels=levels, weights=weights, by=["x", "y"] * 60, rng=0)
    lines = str(found.compact()).splitlines()
    assert [line.split()[:2] for line in lines[2:6]] == [
        ["a", "a_b"], ["b", "new"], ["c", "95%"], ["chance", "0.1000"],
    ]  # fmt: skip
    assert lines[8:11] == ["weighted", "left out: 1 user of weight 0", "not compared: chance"]
    assert lines[-1] == (
        "means over runs: new (2 runs); p-values use the users' means over runs, and do not cover "
        "the variation over runs"
    )
    assert "Means over users and runs." in found.compact().to_latex()


def test_nothing_tested_has_no_letters():
    found = compare({"a": {"coverage@5": np.array(0.5)}, "b": {"coverage@5": np.array(0.25)}})
    assert found.differences == ()
    assert "significant" not in str(found)
    assert str(found.compact()).splitlines() == [
        "model  coverage@5",
        "-----  ----------",
        "a        [0.5000]",
        "b         0.2500",
        "",
        "[ ]: the best mean of a metric",
        "not tested, one value for all lists: coverage@5",
    ]
    assert "\na & \\textbf{0.5000} \\\\\n" in found.compact().to_latex()
    assert "superscript" not in found.to_latex()


def test_a_table_without_a_significant_difference_has_no_letters():
    found = compare({"a": {"ndcg@5": OLD}, "b": {"ndcg@5": OLD}})
    assert str(found.compact()).splitlines() == [
        "model    ndcg@5",
        "-----  --------",
        "a       0.2500",
        "b       0.2500",
        "",
        "no difference is significant, which needs p < 0.05 by paired t test, corrected by Holm "
        "over 1 metric x 1 pair",
    ]
    assert "superscript" not in found.to_latex()


def test_each_group_has_a_table():
    """In "x & y", all gain and none gains much; in "rest", equal values of a_b and new."""
    old = np.array([*[0.1, 0.2] * 30, *[0.2, 0.4] * 15])
    new = np.array([*[0.3, 0.5] * 30, *[0.2, 0.4] * 15])
    labels = ["x & y"] * 60 + ["rest"] * 30
    values = {"a_b": {"ndcg@10": old, "mrr": old}, "new": {"ndcg@10": new, "mrr": new}}
    table = compare(values, by=labels).compact("ndcg@10", groups=True, digits=2)
    assert str(table).splitlines()[:-1] == [
        "   model   ndcg@10",
        "-  -----  --------",
        f"a  a_b     {(60 * 0.15 + 30 * 0.3) / 90:.2f}",
        f"b  new    [{(60 * 0.4 + 30 * 0.3) / 90:.2f}] a",
        "",
        "model in rest  ndcg@10",
        "-------------  -------",
        "a_b              0.30",
        "new              0.30",
        "",
        "   model in x & y   ndcg@10",
        "-  --------------  --------",
        "a  a_b              0.15",
        "b  new             [0.40] a",
        "",
        "[ ]: the best mean of a metric",
        "letters a, b, ...: significantly better than model a, b, ...",
        "significant: p < 0.05 by paired t test, corrected by Holm over 2 metrics x 1 pair; "
        "p-values of groups are corrected separately, over 4 differences",
    ]
    latex = table.to_latex()
    assert latex.count(r"\begin{tabular}{lr}") == 3
    assert latex.count(r"\end{tabular}" "\n" r"\par\medskip" "\n") == 2
    assert "model in x \\& y & ndcg@10" in latex
    assert table.to_markdown().count("| --- |") == 3
    for name, value in {"a_b": 0.25, "new": 0.5}.items():
        values[name]["coverage@5"] = np.array(value)
    found = compare(values, by=labels)
    assert str(found.compact("coverage@5", groups=True)).count("----------") == 1
    assert str(found.compact(["coverage@5", "mrr"], groups=True)).count("  coverage@5") == 1


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"groups": True}, "the comparison has no groups to show; type by=labels in compare(...)"),
        ({"metrics": "mrr"}, "metrics must be one of 'ndcg@10', 'gini@5', 'coverage@5', got 'mrr'"),
        ({"metrics": ["gini@5", 3]}, "metrics must be one of 'ndcg@10', 'gini@5', 'coverage@5', "),
        ({"metrics": []}, "metrics must be one of 'ndcg@10', 'gini@5', 'coverage@5', got ()"),
        ({"digits": -1}, "digits must be an integer >= 0, got -1"),
    ],
)
def test_bad_arguments(options, message):
    with pytest.raises(ArgumentError) as caught:
        compare(RESULTS, rng=0).compact(**options)
    assert str(caught.value).startswith(message)


def test_a_range_that_cannot_be_read_names_its_argument():
    with pytest.raises(MetricSpecError, match=r"cannot read the range 'ndcg@10:1'") as caught:
        compare(RESULTS, rng=0).compact(metrics="ndcg@10:1")
    assert caught.value.argument == "metrics"
