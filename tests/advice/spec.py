"""Advice on metric strings, keywords and metrics of one's own."""

from math import nan

from advice import Case
from advice.problem import BOTH, MRR

OF_METRICS = "Metrics.compute(scores, truth, metrics)"
DECLARE = (
    "from recmetrics import OneUser\n"
    "def declare(decorator, header, docstring):\n"
    "    exec(f'{decorator}\\n{header}:\\n    {docstring}\\n    return 1 / 2', globals())\n"
    "    return Metrics.compute([[2.0, 1.0]], [[1, 0]], 'half')\n"
    "decorator = '@recmetrics.metric'\n"
    "header = 'def half(user, k)'\n"
    'docstring = \'"""half"""\'\n'
)
DECLARED = "declare(decorator, header, docstring)"
QUERIES = "scores = [3.0, 2.0, 1.0, 3.0]; truth = [0, 1, 1, 0]; qid = [7, 7, 8, 8]; name = 'qid'\n"
GROUPED = "Metrics.compute_groups(scores, truth, 'mrr', **{name: qid})"

STRINGS = [
    Case(
        "means '{}@{}'; type", BOTH + "metrics = 'mrr_at_k@2'", OF_METRICS, {"mrr@2": [1 / 2, 0.0]}
    ),
    Case(
        "one string is one {}: type {}",
        BOTH + "metrics = 'hit@2,mrr'",
        OF_METRICS,
        {"hit@2": [1.0, 0.0], **MRR},
    ),
    Case(
        "its first cutoff, {}, is above",
        BOTH + "metrics = 'hit@3:2'",
        OF_METRICS,
        {"hit@2": [1.0, 0.0], "hit@3": [1.0, 1.0]},
    ),
    Case(
        "steps of {} from {} do not reach",
        BOTH + "metrics = 'hit@1:4:2'",
        OF_METRICS,
        {"hit@1": [0.0, 0.0], "hit@3": [1.0, 1.0]},
    ),
    Case(
        "; for several cutoffs type",
        BOTH,
        "Metrics.mrr_at_k(scores, truth, k=[2, 3])",
        {"mrr@2": [1 / 2, 0.0], "mrr@3": [1 / 2, 1 / 3]},
        whole="scores, truth",
        altered="Metrics.compute(..., ['mrr@2', 'mrr@4'])",
    ),
    Case(
        "metrics_list is a dict",
        BOTH + "metrics = {'hit': [2, 3]}",
        OF_METRICS,
        {"hit@2": [1.0, 0.0], "hit@3": [1.0, 1.0]},
    ),
    Case(
        "reads {} only with {}={}",
        BOTH,
        "Metrics.compute(scores, truth, 'map(over=ranks,denom=hits)@3')",
        {"map(denom=hits,over=hits)@3": [1 / 2, 1 / 3]},
        option=True,
        altered="over=ranks",
    ),
    Case(
        "; a metric string has its own cutoff",
        BOTH + "metrics = 'mrr'",
        "Metrics.compute(scores, truth, metrics, k=2)",
        {"mrr@2": [1 / 2, 0.0]},
        into=OF_METRICS,
    ),
]

KEYWORDS = [
    Case(
        "returns one array, but ties='range'",
        BOTH,
        "Metrics.mrr_at_k(scores, truth, k=2, ties='range')",
        {"mrr@2": [1 / 2, 0.0], "mrr@2[least]": [1 / 2, 0.0], "mrr@2[greatest]": [1 / 2, 0.0]},
        whole="scores, truth",
        altered="Metrics.compute(..., ['mrr@2'], ties='best')",
    ),
    Case(
        "; type ties='best' for the first rank",
        BOTH + "scores[0, 2] = 2.0",
        "Metrics.ranks(scores, truth, ties='range')",
        [[0, 2, 0], [3, 0, 0]],
        altered="ties='worst'",
        then="answer.toarray()",
    ),
    Case(
        "; type ties='best' for the first rank",
        BOTH + "scores[0, 2] = 2.0",
        "Metrics.ranks(scores, truth, ties='range')",
        [[0, 3, 0], [3, 0, 0]],
        advice="item, (ties=.+) for",
        altered="ties='best'",
        then="answer.toarray()",
    ),
    Case(
        "; type ids= for the group of each row",
        QUERIES,
        GROUPED,
        {"mrr": [1 / 2, 1 / 2]},
        advice=r"type (\w+)= for",
        to="name",
        quoted=True,
        altered="qid",
    ),
    Case(
        "; type ids= for the group of each row",
        QUERIES + "qid = [2, 2]",
        GROUPED,
        {"mrr": [1 / 2, 1 / 2]},
        advice=r"or (\w+)= for",
        to="name",
        quoted=True,
        altered="ids",
    ),
    Case(
        "for that mean type recmetrics.summary",
        BOTH + "truth = np.array([[0, 1, 1], [0, 0, 1]])\n"
        "metrics = 'gauc'; values = Metrics.compute(scores, truth, 'auc')",
        "Metrics.compute(scores, truth, metrics, convention='recbole')",
        (2 * 0 / 2 + 1 * 1 / 2) / (2 + 1),
        blank="[2, 1]",
        advice="type (.+)$",
        whole="-",
        altered="recmetrics.summary(values)",
        then="answer.to_dict()['means'][0]['mean']",
    ),
    *(
        Case(
            "; values have no weights, but means do",
            BOTH + f"{name} = [3, 1]; values = Metrics.compute(scores, truth, 'mrr')",
            f"Metrics.compute(scores, truth, 'mrr', {name}={name})",
            (3 * 1 / 2 + 1 * 1 / 3) / (3 + 1),
            advice="group: type (.+)$",
            whole="-",
            altered="recmetrics.summary(values)",
            then="answer.to_dict()['means'][0]['mean']",
        )
        for name in ("weights", "sample_weight")
    ),
    Case(
        "; torcheval has none",
        BOTH + "scores[0, 0] = 2.0",
        "Metrics.compute(scores, truth, 'mrr', convention='torcheval')",
        {"mrr": [1.0, 1 / 3]},
        altered="ties='worst'",
        into="Metrics.compute(scores, truth, 'mrr')",
    ),
    Case(
        "leave excluded items out of the lists",
        "from recmetrics import tables\n"
        "ranking = [[0, 1, 2], [1, 2]]; truth = [[1], [2]]; exclude = [[0], []]; metrics = 'mrr'\n",
        "Metrics.compute_ranked(ranking, truth, metrics, exclude=exclude)",
        [1 / 1, 1 / 2],  # the list of the first user is 1, 2
        whole="",
        altered="Metrics.compute_ranked(ranking, truth, metrics)",
        then="list(answer['mrr'])",
    ),
    Case(
        "takes {} as a keyword only; type",
        BOTH + "evaluator = Evaluator(truth, 'mrr'); evaluator.update(scores)",
        "evaluator.mean('valid_')",
        {"valid_mrr": (1 / 2 + 1 / 3) / 2},
        altered="prefix='test_'",
        into="evaluator.mean()",
    ),
]

NEEDS = [
    Case(
        "strata must be a dict",
        BOTH + "items = [1]",
        "Metrics.compute(scores, truth, 'hit(of=tail)@2', strata=items)",
        {"hit(of=tail)@2": [1.0, nan]},
        altered="strata={'head': items}",
    ),
    Case(
        "spec/request.py: type {}",
        BOTH + "items = [1]",
        "Metrics.compute(scores, truth, 'hit(of=tail)@2')",
        {"hit(of=tail)@2": [1.0, nan]},
    ),
    Case(
        "{} names a stratum, but groups have no strata",
        BOTH,
        "Metrics.compute_groups(np.ravel(scores), np.ravel(truth), 'hit(of=tail)@2', sizes=[3, 3])",
        {"hit(of=tail)@2": [1.0, nan]},
        advice=", or type (.+)$",
        whole="scores, truth, 'hit(of=tail)@2'",
        blank="{'tail': [1]}",
        altered="Metrics.compute(..., strata={'tail': [0]})",
    ),
    Case(
        "is weighted by propensities, but groups have none",
        BOTH,
        "Metrics.compute_groups(np.ravel(scores), np.ravel(truth), 'precision(weigh=ips)@2', "
        "sizes=[3, 3])",
        {"precision(weigh=ips)@2": [(1 / 0.5) / 2, 0.0]},
        advice=", or type (.+)$",
        whole="scores, truth, 'precision(weigh=ips)@2'",
        blank="[1.0, 0.5, 0.5]",
        altered="Metrics.compute(..., propensity=[1.0, 1.0, 1.0])",
    ),
    Case(
        ", got none; type {}",
        BOTH + "train = np.array([[1, 1, 0], [1, 0, 1]])",
        "Metrics.compute(scores, truth, 'novelty@2')",
        {"novelty@2": [1 / 2, 1.0]},
    ),
    Case(
        "request.py: type {}, or {}",
        BOTH + "metrics = 'auc@2'",
        "Metrics.chance(truth, metrics)",
        {"auc": [1 / 2, 1 / 2]},
        to="metrics",
        quoted=True,
        altered="auc@2",
    ),
    Case(
        "has no {}: with {}={}, {}; type",
        BOTH,
        "Metrics.chance(truth, 'map(denom=hits)@3')",
        {"map(denom=capped)@3": [(1 + 1 / 2 + 1 / 3) / 3] * 2},
        option=True,
        altered="denom=hits",
    ),
    Case(
        "{} has no ceiling",
        BOTH,
        "Metrics.ceiling(truth, 'ndcg(ideal=retrieved,ideal_depth=full)@2')",
        {"ndcg(ideal=retrieved,ideal_depth=k)@2": [1.0, 1.0]},
        option=True,
        altered="ideal_depth=full",
    ),
    Case(
        "{} of {} items have popularity 0; novelty",
        BOTH + "popularity = [1.0, 0.5, 0.0]",
        "Metrics.compute(scores, truth, 'novelty@2', popularity=popularity)",
        {"novelty(unseen=skip)@2": [(0 + 1) / 2, 1.0]},
        advice="type (.+) in the metric string to",
        option=True,
        altered="unseen=zero",
    ),
    Case(
        "{} of {} items have popularity 0; novelty",
        BOTH + "popularity = [1.0, 0.5, 0.0]",
        "Metrics.compute(scores, truth, 'novelty@2', popularity=popularity)",
        {"novelty(unseen=zero)@2": [(0 + 1) / 2, (1 + 0) / 2]},
        advice="out, or (.+), inf or nan",
        option=True,
        altered="unseen=inf",
    ),
]

OWN = [
    Case(
        "type def {}(user, k)",
        DECLARE + "header = 'def half(items)'",
        DECLARED,
        {"half": [1 / 2]},
        to="header",
        quoted=True,
        altered="def half(k, user)",
    ),
    Case(
        "has no formula; write it",
        DECLARE + "docstring = ''",
        DECLARED,
        {"half": [1 / 2]},
        to="decorator",
        quoted=True,
        blank="'half'",
        altered="@recmetrics.metric(citation='half')",
    ),
    Case(
        "metric declares a function, got {}",
        DECLARE + "decorator = '@recmetrics.metric(\"half\")'",
        DECLARED,
        {"half": [1 / 2]},
        to="decorator",
        quoted=True,
        altered="@recmetrics.metric('half')",
    ),
    Case(
        "metric declares a function, got {}",
        DECLARE + "decorator = '@recmetrics.metric(\"half\")'",
        DECLARED,
        {"half": [1 / 2]},
        advice="or (@.+) above",
        to="decorator",
        quoted=True,
        blank="'half'",
        altered="@recmetrics.metric('half')",
    ),
]
CASES = [*STRINGS, *KEYWORDS, *NEEDS, *OWN]
