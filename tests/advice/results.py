"""Advice on evaluators, streams and notes."""

from math import log2

from advice import Case
from advice.problem import BOTH, MRR

STATE = BOTH + (
    "ground_truth = truth; metrics_list = 'mrr'\n"
    "evaluator = Evaluator(truth, 'mrr')\n"
    "evaluator.update(scores[:1], [0])\n"
    "this = Evaluator.from_state(evaluator.state())\n"
)
STREAM = BOTH + (
    "metrics_list = 'mrr'\n"
    "stream = StreamEvaluator('mrr')\n"
    "stream.update(scores[:1], truth[:1])\n"
    "this = StreamEvaluator.from_state(stream.state())\n"
)
TARGETS = "scores = np.array([[4.0, 3, 2, 1], [1, 2, 4, 3]])\ntargets = np.array([1, 3])\n"
CASES = [
    Case(
        "; if a target may be recommended",
        f"{TARGETS}exclude = [[0, 1], []]\n",
        "Metrics.compute(scores, targets, 'mrr', exclude=exclude)",
        {"mrr": [1 / 1, 1 / 2]},
        advice="of lists, type (exclude=.+)$",
        altered="exclude=exclude[::-1]",
    ),
    Case(
        "; if a target may be recommended",
        f"import numpy\n{TARGETS}"
        "truth = np.array([[0, 1, 0, 0], [0, 0, 0, 1]])\n"
        "exclude = np.array([[1, 1, 0, 0], [0, 0, 0, 0]])\n",
        "Metrics.compute(scores, truth, 'mrr', exclude=exclude)",
        {"mrr": [1 / 1, 1 / 2]},
        altered="exclude[numpy.arange(len(targets)), 0] = 0",
    ),
    Case(
        "saved.py: type: import {}",
        "import importlib\n"
        "import sys\n"
        "Path('mine.py').write_text('import recmetrics\\n@recmetrics.metric(formula=\"half\")\\n'\n"
        "    'def half(user, k):\\n    return 1 / 2\\n')\n"
        "sys.path.insert(0, '.')\n"
        "sys.modules.pop('mine', None)\n"
        "importlib.import_module('mine')\n"
        "evaluator = Evaluator(np.array([[0, 1]]), 'half')\n"
        "evaluator.update([[1.0, 0.0]])\n"
        "state = evaluator.state()\n"
        "from recmetrics._core.spec import METRICS\n"
        "del METRICS['half'], sys.modules['mine']\n"
        "command = ''\n"
        "def read(command):\n"
        "    exec(command)\n"
        "    return Evaluator.from_state(state).compute()\n",
        "read(command)",
        {"half": [1 / 2]},
        to="command",
        quoted=True,
        altered="import math",
    ),
    Case(
        "has no truth; to update, merge it",
        STATE,
        "this.update(scores[1:], [1])",
        MRR,
        then="this.compute()",
        to="(this)",
    ),
    Case(
        "merge it into one that has it: type",
        BOTH + "ground_truth = truth; metrics_list = 'recall@2'\n"
        "evaluator = Evaluator(truth, 'recall@2', convention='implicit')\n"
        "evaluator.update(scores)\n"
        "this = Evaluator.from_state(evaluator.state())\n",
        "this.mean()",
        {"recall@2": 1 / 2},
        to="(this)",
        blank="'implicit'",
    ),
    Case(
        "takes no updates; to update, merge it",
        STREAM,
        "this.update(scores[1:], truth[1:])",
        MRR,
        then="this.compute()",
        to="(this)",
    ),
    Case(
        "type stream.update((user_factors, item_factors), truth, ",
        "stream = StreamEvaluator('mrr', keep='means')\n"
        "user_factors = np.array([[1.0, 0], [1, 0]])\n"
        "item_factors = np.array([[3.0, 1], [2, 2], [1, 3]])\n"
        "truth = [1, 2]; weights = [3.0, 1.0]\n",
        "stream.update_factors(user_factors, item_factors, truth, weights=weights)",
        {"mrr": (3 * 1 / 2 + 1 / 3) / 4},
        advice="type (.+)$",
        whole="",
        altered="stream.update((user_factors, item_factors), truth)",
        then="stream.mean()",
    ),
    Case(
        "state is what {}.state() gave",
        BOTH + "evaluator = Evaluator(truth, 'mrr')\n"
        "evaluator.update(scores)\n"
        "state = evaluator.state()\n",
        "StreamEvaluator.from_state(state)",
        MRR,
        whole="",
        altered="StreamEvaluator.from_state(state)",
        then="answer.compute()",
    ),
    Case(
        "the stream has keep='means' and keeps no",
        BOTH + "def streamed(stream):\n    stream.update(scores, truth)\n"
        "    return stream.compute()\nstream = StreamEvaluator('mrr', keep='means')\n",
        "streamed(stream)",
        MRR,
        advice="type (.+), or",
        blank="'mrr'",
        to="stream",
    ),
    Case(
        "by=, weights= and several models need sums",
        BOTH + "def streamed(stream):\n    stream.update({'old': scores, 'new': scores}, truth)\n"
        "    return stream.mean()\nstream = StreamEvaluator('mrr')\n",
        "streamed(stream)",
        {"old/mrr": (1 / 2 + 1 / 3) / 2, "new/mrr": (1 / 2 + 1 / 3) / 2},
        blank="'mrr'",
        to="stream",
    ),
    Case(
        "{} is a masked array, whose mask would be lost; type .filled",
        "values = np.ma.masked_equal([0.5, 0.0, 1.0], 0.0)",
        "recmetrics.compare({'a': {'mrr': values}, 'b': {'mrr': [0.5, 0.5, 0.5]}})",
        [(0.5 + 1.0) / 2, 0.5],
        to="values",
        then="[mean.mean for mean in answer.means]",
    ),
    Case(
        "_metrics.py: ; for the mean over all orders of equal scores, type ties='expected'",
        "scores = np.zeros((2, 4)); truth = np.array([0, 0])\n",
        "Metrics.evaluate(scores, truth, 'mrr')",
        {"mrr": [(1 + 1 / 2 + 1 / 3 + 1 / 4) / 4] * 2},
        advice="type (ties=.+)",
        altered="ties='best'",
        told="answer.notes[-1]",
        then="answer.values",
    ),
    Case(
        "{}; to ignore the grades type {}",
        BOTH
        + "truth = truth * [[1, 3, 2], [2, 1, 1]] + [[0, 0, 1], [0, 0, 0]]; metrics = 'ndcg@2'",
        "Metrics.evaluate(scores, truth, metrics)",
        {"ndcg(gain=binary)@2": [(1 / log2(3)) / (1 + 1 / log2(3)), 0.0]},
        told="answer.notes[0]",
        then="answer.values",
    ),
]
