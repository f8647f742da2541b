"""Advice on evaluations, comparisons and rules."""

from advice import Case
from advice.problem import BOTH

TWO = "old = {'mrr': [0.0, 0.5, 0.5, 0.0]}; new = {'mrr': [1.0, 0.5, 1.0, 0.0]}\n"
RESULTS = TWO + "results = {'old': old, 'new': new}\n"
THREE = RESULTS + "results['best'] = {'mrr': [1.0, 1.0, 1.0, 1.0]}\n"
MEAN = (0 + 1 / 2 + 1 / 2 + 0) / 4  # of the old ones, also in each group
DIFFERENCE = (1 + 0 + 1 / 2 + 0) / 4
GATE = "recmetrics.compare(results).gate(rule)"
RULES = (
    "old = {'ndcg@10': [0.0, 0.5, 0.5, 0.0]}; "
    "results = {'old': old, 'new': old}\nlabels = ['a', 'a', 'b', 'b']\nrule = 'ndcg@10'\n"
)
MARGINS = "[[verdict.margin, verdict.group] for verdict in answer.verdicts]"
# Columns of ids, of models and of values.
LONG = (
    "import pandas as pd\n"
    "frame = pd.DataFrame({'user': ['x', 'y', 'x', 'y'], 'arm': ['a', 'a', 'b', 'b'],\n"
    "                      'mrr': [0.0, 0.5, 1.0, 0.5]})\n"
)
# A frame whose users are not in the order of the level.
LEVEL = (
    "import pandas\n"
    "users = ['a', 'b', 'c', 'd']; level = {'mrr': [0.0, 0.25, 0.5, 1.0]}\n"
    "by = ['heavy', 'heavy', 'light', 'light']\n"
    "frame = pandas.DataFrame({'user': users[::-1], 'mrr': [0.5, 0.5, 0.0, 0.5]})\n"
)
COMPARED = "[each.difference for each in answer.differences]"
# A stream of sums; old has the ranks 2 and 3, new 1 and 1.
SUMS = BOTH + (
    "old = scores; new = truth.astype(float); by = ['a', 'b']; weights = [1.0, 3.0]\n"
    "stream = StreamEvaluator('mrr', keep='means')\n"
)
# The values of both in a file.
WRITTEN = TWO + (
    "import polars\n"
    "polars.DataFrame({'model': ['old'] * 4 + ['new'] * 4, 'user': [0, 1, 2, 3] * 2,\n"
    "                  'mrr': old['mrr'] + new['mrr']}).write_parquet('values.parquet')\n"
)
RISES = [1 - 1 / 2, 1 - 1 / 3]
# Two hours of one event each, which have one name where the clocks go back.
HOURS = (
    "import datetime, polars\n"
    "hours = [datetime.datetime(2020, 10, 25, hour, tzinfo=datetime.UTC) for hour in (0, 1)]\n"
    "frame = polars.DataFrame({'hour': 2 * hours, 'model': ['old', 'old', 'new', 'new'],\n"
    "                          'mrr': [0.0, 0.25, 1.0, 0.25]})\n"
    "in_paris = polars.col('hour').dt.convert_time_zone('Europe/Paris')\n"
    "frame = frame.with_columns(in_paris)\n"
)
# A letter of STIXGeneral, which comes with matplotlib, and not of its usual font.
LETTER = TWO + "import matplotlib; results = {'\u210a': old, 'new': new}\n"
CASES = [
    Case(
        "is a Series whose index has the row numbers from 0 in another",
        "import pandas\nvalues = pandas.Series([0.0, 0.5, 1.0], [2, 0, 1])\n",
        "recmetrics.compare({'old': {'mrr': values}, 'new': {'mrr': [1.0, 0.5, 0.5]}})",
        {"wins": 2, "ties": 0, "losses": 1},
        altered="values.to_numpy()",
        then="{key: getattr(answer.differences[0], key) for key in ('wins', 'ties', 'losses')}",
    ),
    Case(
        "the picture has {} in place of",
        LETTER,
        "recmetrics.compare(results).plot()",
        ["\u210a", "new (best)"],
        advice=r"type (.+? = \(.+?\)) with",
        blank="'STIXGeneral'",
        then="[[each.get_text() for each in answer.axes[0].get_yticklabels()], "
        "matplotlib.rcdefaults()][0]",
    ),
    Case(
        "the column {} holds different times that are equal in Python",
        HOURS,
        "recmetrics.compare(frame, baseline='old')",
        [((1 - 0) + (1 / 4 - 1 / 4)) / 2],
        to="frame",
        then="[each.difference for each in answer.differences]",
    ),
    Case(
        "the column {} holds collections, which name no user",
        LONG + "frame['tags'] = [['x'], ['y'], [], []]\n",
        "recmetrics.compare(frame, model='arm')",
        [((1 - 0) + (1 / 2 - 1 / 2)) / 2],
        to="frame",
        then="[each.difference for each in answer.differences]",
    ),
    Case(
        "in another order, and the results have no ids",
        "import pandas as pd\n"
        "by = pd.Series(['q', 'p', 'p'], index=[2, 1, 0])\n"
        "values = {'mrr': [0.0, 0.5, 1.0]}\n",
        "recmetrics.summary(values, by=by)",
        [[None, 1.5 / 3], ["p", 0.5 / 2], ["q", 1.0]],
        advice=r"row numbers, (by=.+)$",
        altered="by=by.to_numpy()",
        then="[[mean.group, mean.mean] for mean in answer]",
    ),
    Case(
        "the comparison has no groups to show",
        RESULTS + "labels = ['a', 'a', 'b', 'b']\n",
        "recmetrics.compare(results).compact(groups=True)",
        [["a", 1 / 4, 3 / 4], ["b", 1 / 4, 1 / 2]],
        advice=r"type (by=\w+) in",
        into="recmetrics.compare(results)",
        altered="by=['a', 'b', 'a', 'b']",
        then="[[group, *(each.mean for each in answer.means if each.group == group)]"
        " for group in answer.compact(groups=True).groups[1:]]",
    ),
    Case(
        "the value of each user is needed for {}, and these are sums",
        SUMS + "def tested(kept):\n"
        "    if kept is not stream:\n"
        "        models = {'old': kept, 'new': StreamEvaluator('mrr')}\n"
        "        kept.update(old, truth)\n"
        "        models['new'].update(new, truth)\n"
        "        return recmetrics.compare(models, tests='wilcoxon')\n"
        "    kept.update({'old': old, 'new': new}, truth)\n"
        "    return recmetrics.compare(kept, tests='wilcoxon')\n"
        "kept = stream\n",
        "tested(kept)",
        [sum(RISES) / 2],
        blank="'mrr'",
        to="kept",
        then=COMPARED,
    ),
    Case(
        "{}= is too late for a stream, which keeps sums",
        SUMS + "scores = {'old': old, 'new': new}\n",
        "recmetrics.compare(stream, by=by, weights=weights)",
        [(RISES[0] + 3 * RISES[1]) / 4, *RISES],
        whole="-",
        altered="stream.update(scores, truth)",
        then="[each.difference for each in recmetrics.compare(stream).differences]",
    ),
    Case(
        "the stream has sums of a single model",
        SUMS,
        "recmetrics.compare(stream)",
        [sum(RISES) / 2],
        whole="-",
        altered="stream.update({'old': old, 'new': old}, truth)",
        then="[each.difference for each in recmetrics.compare(stream).differences]",
    ),
    Case(
        "for arrays, type pandas.DataFrame(",
        TWO + "import pandas\nusers = ['d', 'c', 'b', 'a']\n"  # of the rows of the old values
        "values = old\nframe = pandas.DataFrame({'user': users[::-1], 'mrr': new['mrr'][::-1]})\n",
        "recmetrics.compare({'old': values, 'new': frame})",
        [DIFFERENCE],
        advice="type (pandas.*), with",
        to="values",
        then=COMPARED,
    ),
    Case(
        "for arrays, type pandas.DataFrame(",
        LEVEL,
        "recmetrics.compare({'old': frame, 'new': frame}, by=by, levels={'chance': level})",
        [["heavy", (1 / 2 + 1) / 2], ["light", (0 + 1 / 4) / 2]],
        advice="type (pandas.*), with",
        to="level",
        altered="pandas.DataFrame({'user': users[::-1], **level})",
        then="[[each.group, each.mean] for each in answer.means"
        " if each.group and each.model == 'chance']",
    ),
    Case(
        "for arrays, type pandas.DataFrame(",
        LEVEL,
        "recmetrics.summary(frame, by=by, levels={'chance': level})",
        [["heavy", (1 / 2 + 1) / 2], ["light", (0 + 1 / 4) / 2]],
        advice="type (pandas.*), with",
        to="level",
        altered="pandas.DataFrame({'user': users[::-1], **level})",
        then="[[each.group, each.levels['chance']] for each in answer if each.group]",
    ),
    Case(
        "is that of a column of to_records and to_frame",
        TWO + "levels = {'mean': {'mrr': 0.125}}\n",
        "recmetrics.summary(old, levels=levels)",
        [MEAN, 0.125],
        advice="type (levels=.*)",
        blank="{'mrr': 0.125}",
        then="[answer.to_records()[0][key] for key in ('mean', 'mean level')]",
    ),
    Case(
        "of which none is named like a metric or holds decimal numbers",
        "import pandas as pd\n"
        "old = pd.DataFrame({'user': ['x', 'y'], 'NAME': [1, 3]})\n"
        "results = {'old': old, 'new': old.assign(NAME=old['NAME'] + 2)}\n",
        "recmetrics.compare(results)",
        [2],
        advice="type (metrics='NAME') for",
        then=COMPARED,
    ),
    Case(
        "with the ids as its index: if {} is in the order of {}, type",
        "import pandas\n"
        "ids = ['w', 'x', 'y', 'z']\n"
        "old = pandas.DataFrame({'user': ids, 'mrr': [0.0, 0.0, 0.0, 0.0]})\n"
        "new = pandas.DataFrame({'user': ids[::-1], 'mrr': [1.0, 0.5, 0.25, 0.0]})\n"
        "by = ['p', 'p', 'q', 'q']\n",
        "recmetrics.compare({'old': old, 'new': new}, by=by)",
        [[None, 7 / 16], ["p", (0 + 1 / 4) / 2], ["q", (1 / 2 + 1) / 2]],
        advice="type (by=.*) with",
        altered="by=by[::-1]",
        then="[[each.group, each.difference] for each in answer.differences]",
    ),
    Case(
        "; the ids of the results are of type {}: type",
        TWO + "import pandas as pd\n"
        "by = pd.Series(['p', 'p', 'q', 'q'], index=[11, 12, 13, 14])\n"
        "values = pd.DataFrame({'user': ['14', '13', '12', '11'], 'mrr': [0.0, 1.0, 0.5, 0.5]})\n",
        "recmetrics.summary(values, by=by)",
        [[None, 1 / 2], ["q", 1 / 2], ["p", 1 / 2]],
        to="by",
        then="[[mean.group, mean.mean] for mean in answer]",
    ),
    Case(
        "or, to compare those of both",
        RESULTS + "new['hit@1'] = [1.0, 0.0, 1.0, 0.0]\n",
        "recmetrics.compare(results)",
        [DIFFERENCE],
        advice="type (metrics=.+)$",
        altered="metrics=['hit@1', 'mrr']",
        then=COMPARED,
    ),
    Case(
        "which may be the ids of the users, or not",
        "import pandas as pd\n"
        "by = pd.Series(['p', 'p', 'q', 'q'])\n"
        "values = pd.DataFrame({'user': [3, 2, 1, 0], 'mrr': [0.0, 1.0, 0.5, 0.5]})\n"
        "values = values.set_index('user')\n",
        "recmetrics.summary(values, by=by)",
        [[None, 1 / 2], ["q", 1 / 2], ["p", 1 / 2]],
        advice=r"ids, type (by=[^,]+), and",
        altered="by=by.to_numpy()",
        then="[[mean.group, mean.mean] for mean in answer]",
    ),
    Case(
        "; if it is in the order of the users, type {}={}.to_numpy()",
        LONG + "frame = frame[frame.arm == 'b']\n"
        "by = pd.Series(['one', 'other'], index=['y', 'z'])  # of the first and the second row\n",
        "recmetrics.summary(frame, by=by)",
        [["one", 1.0], ["other", 0.5]],
        to="by",
        altered="by=by[::-1].to_numpy()",
        then="[[each.group, each.mean] for each in answer if each.group is not None]",
    ),
    Case(
        "two lists of {}, rows {} and {}",
        LONG,
        "recmetrics.summary(frame, by='arm')",
        [["a", 1 / 4], ["b", 3 / 4]],
        advice="type (model=)'COLUMN'",
        blank="'arm'",
        into="recmetrics.summary(frame)",
        then="[[each.model, each.mean] for each in answer if each.group is None]",
    ),
    Case(
        "values must be a dict of what",
        "values = [0.5, 0.25]",
        "recmetrics.Evaluation(values)",
        {"ndcg@10": [0.5, 0.25]},
        whole="-",
        altered="recmetrics.Evaluation({'ndcg@20': values})",
        then="answer.values",
    ),
    Case(
        "a Difference has no {}; type .p",
        RESULTS + "difference = recmetrics.compare(results).differences[0]; name = 'p_values'",
        "getattr(difference, name)",
        True,
        advice=r"type \.(\w+) for",
        to="name",
        quoted=True,
        altered="corrected",
        then="answer == difference.p",
    ),
    Case(
        "a Difference has no {}; type .p",
        RESULTS + "difference = recmetrics.compare(results).differences[0]; name = 'corrected'",
        "getattr(difference, name)",
        True,
        advice=r", \.(\w+) for",
        to="name",
        quoted=True,
        altered="p_values",
        then="answer == difference.p_uncorrected",
    ),
    Case(
        "_report/samples.py: results is the name of a file",
        WRITTEN,
        "recmetrics.compare('values.parquet')",
        [DIFFERENCE],
        advice="first, type (.+)$",
        whole="-",
        altered="recmetrics.compare(polars.read_parquet('values.parquet'), baseline='new')",
        then=COMPARED,
    ),
    Case(
        "to read its table first, type {}",
        WRITTEN,
        "recmetrics.compare({'a': 'values.parquet', 'b': new})",
        [DIFFERENCE],
        advice="first, type (.+)$",
        whole="-",
        altered="'values.parquet'",
        then="[each.difference for each in recmetrics.compare(answer).differences]",
    ),
    Case(
        "in a shell, type recmetrics compare {}",
        TWO + "np.savez('a.npz', **old); np.savez('b b.npz', **new)",
        "recmetrics.compare({'one': 'a.npz', 'other': 'b b.npz'})",
        [DIFFERENCE],
        advice="type (recmetrics .+)$",
        into="run('recmetrics --json')",
        altered="recmetrics compare 'one=b b.npz' other=a.npz",
        then="[each['difference'] for each in answer['differences']]",
    ),
    *(
        Case(
            "values holds the results of several models, ",
            TWO + f"values = {{'old': {{{of_lists}**old}}, 'new': new}}",
            "recmetrics.summary(values)",
            [MEAN],
            advice="type (.+), or recmetrics.compare",
            whole="-",
            altered="recmetrics.summary(values['new'])",
            then="[each.mean for each in answer if each.metric == 'mrr']",
        )
        for of_lists in ("", "'coverage@10': np.float64(0.25), ")
    ),
    Case(
        "is a table of Parquet; to read it first",
        WRITTEN,
        "recmetrics.summary('values.parquet')",
        [MEAN, MEAN + DIFFERENCE],
        advice="first, type (.+)$",
        whole="-",
        altered="recmetrics.summary(polars.read_parquet('values.parquet')[:4])",
        then="[each.mean for each in answer]",
    ),
    Case(
        "{} must be a dict of name and result",
        TWO + "a = old; b = new; results = [a, b]",
        "recmetrics.compare(results)",
        [DIFFERENCE],
        advice="type (.+), with",
        to="results",
        then=COMPARED,
    ),
    Case(
        "; type model={}, against={}",
        RESULTS + "labels = ['a', 'a', 'b', 'b']\n",
        "recmetrics.compare(results, by=labels).worst_group('mrr', model='old', against='new')",
        [0.25],
        advice="; type (.+)$",
        altered="model='new', against=None",
        then="[answer.value]",
    ),
    Case(
        "is not one pair; type {}",
        RESULTS,
        "recmetrics.compare(results).movers('mrr', model='old', against='new')",
        ["old", "new"],
        advice="type (.+?), whose",
        altered="model=None, against='new'",
        then="[answer.against, answer.model]",
    ),
    Case(
        "is not one pair; type {}",
        THREE,
        "recmetrics.compare(results).movers('mrr')",
        ["old", "new", 2],
        advice="type (.+?) or",
        altered="model='best', against='old'",
        then="[answer.against, answer.model, len(answer.gains)]",
    ),
    Case(
        "a rule needs the baseline; type",
        THREE + "def judged(**options):\n"
        "    return recmetrics.compare(results, **options).gate('mrr >= 0')\n",
        "judged()",
        "old",
        advice="type (.+?), or",
        altered="baseline='new'",
        then="answer.baseline",
    ),
    Case(
        "cannot read the rule {}",
        RULES,
        GATE,
        [[-0.01 * MEAN, None]],
        advice="type ('.+?'),",
        to="rule",
        then=MARGINS,
        altered="'ndcg@10 >= -2%'",
    ),
    Case(
        "cannot read the rule {}",
        RULES,
        "recmetrics.compare(results, by=labels).gate(rule, min_users=2)",
        [[-0.01 * MEAN, "a"], [-0.01 * MEAN, "b"]],
        advice="', ('.+? in every group')",
        to="rule",
        then=MARGINS,
        altered="'ndcg@10 >= -1%'",
    ),
    Case(
        "cannot read the rule {}",
        RULES + "labels[:2] = ['GROUP'] * 2",
        "recmetrics.compare(results, by=labels).gate(rule, min_users=2)",
        [[-0.01 * MEAN, "GROUP"]],
        advice="group' or ('.+? in GROUP')",
        to="rule",
        then=MARGINS,
        altered="'ndcg@10 >= -1%'",
    ),
    Case(
        "cannot read the rule {}",
        RULES + "labels[:2] = ['a b'] * 2",
        "recmetrics.compare(results, by=labels).gate(rule, min_users=2)",
        [[-0.01 * MEAN, "a b"]],
        advice="quoted: ('.+? in \"a b\"')",
        to="rule",
        then=MARGINS,
        altered="'ndcg@10 >= -1%'",
    ),
    Case("type '{}'", RESULTS + "rule = 'mrr <= 0'", GATE, [[0.0, None]], to="rule", then=MARGINS),
    Case(
        "' to allow that loss, or '",
        RESULTS + "rule = 'mrr <= -1%'",
        GATE,
        [[-0.01 * MEAN, None]],
        advice="type ('.+?') to",
        to="rule",
        then=MARGINS,
    ),
    Case(
        "' to allow that loss, or '",
        RESULTS + "rule = 'mrr <= +1%'",
        GATE,
        [[0.01 * MEAN, None]],
        advice="or ('.+?') to",
        to="rule",
        then=MARGINS,
    ),
    Case(
        "has no sign; a rule bounds the",
        RESULTS + "rule = 'mrr >= 0.01'",
        GATE,
        [[-0.01, None]],
        advice="type ('.+?') to allow",
        to="rule",
        then=MARGINS,
    ),
    Case(
        "' to require a gain of {}",
        RESULTS + "rule = 'mrr >= 0.01'",
        GATE,
        [[0.01, None]],
        advice="or ('.+?') to require",
        to="rule",
        then=MARGINS,
        altered="'mrr >= -0.01'",
    ),
    Case(
        "if lower is, type lower_is_better={} in compare",
        "results = {'old': {'rmse': [0.5, 1.0]}, 'new': {'rmse': [0.5, 0.5]}}\n"
        "def judged(**options):\n"
        "    return recmetrics.compare(results, **options).gate('rmse <= +0.25')\n",
        "judged()",
        [[0.25, None]],
        advice="type (.+?) in",
        then=MARGINS,
    ),
    Case(
        "if lower is, type lower_is_better={} (in a shell",
        "results = {'old': {'rmse': [0.5, 1.0]}, 'new': {'rmse': [0.5, 0.5]}}",
        "recmetrics.compare(results)",
        ["new"],
        told="answer.to_text()",
        then="[mean.model for mean in answer.means if mean.best]",
    ),
    Case(
        "the rule {} needs groups; type by=",
        RESULTS + "def judged(**options):\n"
        "    return recmetrics.compare(results, **options).gate('mrr >= 0 in every group', "
        "min_users=2)\n",
        "judged()",
        [[0.0, "x"], [0.0, "y"]],
        advice="type (by=) in",
        blank="['x', 'x', 'y', 'y']",
        then=MARGINS,
    ),
    Case(
        "{}; type '{}' for a share of the baseline",
        RESULTS + "rule = 'mrr >= -2'",
        GATE,
        [[-0.02 * MEAN, None]],
        to="rule",
        then=MARGINS,
    ),
    Case(  # on the wrong side and without a sign
        "{}; type '{}' for a share of the baseline",
        RESULTS + "rule = 'mrr <= 2'",
        GATE,
        [[-0.02 * MEAN, None]],
        to="rule",
        then=MARGINS,
    ),
    Case(
        "if each column holds the values of a model, such as those of mrr, type",
        "import pandas\nresults = pandas.DataFrame({'old': [0.5, 0.25], 'new': [1.0, 0.75]})\n",
        "recmetrics.compare(results)",
        [1 / 2],
        advice="mrr, type (.+)$",
        altered="{'old': {'mrr': results['old']}, 'new': {'mrr': results['old']}}",
        then=COMPARED,
    ),
    Case(
        "if it is a metric, {}or model={} if it names the model",
        LONG + "frame['rating'] = [0.0, 1.0, 3.0, 1.0]",
        "recmetrics.compare(frame, model='arm')",
        [1 / 2, 3 / 2],
        advice="type (.+?) if",
        altered="metrics=['mrr']",
        then=COMPARED,
    ),
    Case(
        "if it is a metric, {}or model={} if it names the model",
        LONG + "frame['age'] = [20.0, 30.0, 20.0, 30.0]",
        "recmetrics.compare(frame, model='arm')",
        [1 / 2],
        advice="metric, (.+?) if",
        altered="metrics=['mrr', 'age']",
        then=COMPARED,
    ),
    Case(
        "if it is a metric, {}or model={} if it names the model",
        LONG + "frame['arm'] = [0.1, 0.1, 0.2, 0.2]",
        "recmetrics.compare(frame)",
        [1 / 2],
        advice="or (model=.+?) if",
        altered="model='user'",
        then=COMPARED,
    ),
    Case(
        "if it is a metric, {}or model={} if it names the model",
        LONG + "frame['hit@1'] = ['0', '1', '1', '1']",
        "recmetrics.compare(frame, model='arm')",
        [1 / 2, 1 / 2],
        advice="; type (.+?) if",
        altered="frame.astype({'hit@1': bool})",
        then=COMPARED,
    ),
    Case(
        "if it is a metric, {}or model={} if it names the model",
        LONG + "import pyarrow, polars as pl\n"
        "frame = pl.from_pandas(frame).with_columns(pl.Series('hit@1', ['0', '1', '1', '1']))",
        "recmetrics.compare(frame, model='arm')",
        [1 / 2, 1 / 2],
        advice="; type (.+?) if",
        altered="frame.cast({'mrr': float})",
        then=COMPARED,
    ),
    Case(
        "if it is a metric, {}or model={} if it names the model",
        LONG + "import pyarrow\n"
        "frame = pyarrow.Table.from_pandas(frame.assign(**{'hit@1': ['0', '1', '1', '1']}))",
        "recmetrics.compare(frame, model='arm')",
        [1 / 2, 1 / 2],
        advice="; type (.+?) if",
        altered="frame.to_pandas()",
        then=COMPARED,
    ),
    Case(
        "if it is a metric, {}or model={} if it names the model",
        LONG + "frame['map'] = ['park', 'city', 'park', 'city']",
        "recmetrics.compare(frame, model='arm')",
        [1 / 2],
        advice="metric, (.+?) if",
        altered="metrics=['map']",
        then=COMPARED,
    ),
    Case(
        "holds no values yet; type {}",
        LONG + "import pyarrow, polars as pl\nframe = pl.from_pandas(frame).lazy()",
        "recmetrics.compare(frame, model='arm')",
        [1 / 2],
        to="frame",
        then=COMPARED,
    ),
    Case(
        "is one value for all lists of a model; leave it out",
        LONG + "frame['coverage@5'] = [0.25, 0.5, 1.0, 1.0]",
        "recmetrics.compare(frame, model='arm')",
        [1 / 2],
        altered="metrics=['coverage@5']",
        then=COMPARED,
    ),
    Case(
        "has one value for all lists, not one per user",
        LONG + "frame['coverage@5'] = 0.25\n"
        "from recmetrics._report import ValueReader\n"
        "def compared(metrics):  # as on a worker of Spark\n"
        "    reader = ValueReader.of(metrics, 'arm', None, None, is_paired=True)\n"
        "    reader.user_columns(frame[:0])\n"
        "    return recmetrics.compare(reader.sums(frame))\n",
        "compared(metrics=None)",
        [1 / 2],
        altered="metrics=['coverage@5']",
        then=COMPARED,
    ),
    Case(
        "; for ids in the index type",
        "import pandas\nfirst = pandas.DataFrame({'mrr': [0.0, 0.25, 0.5]})\n"
        "second = pandas.DataFrame({'mrr': [1.0, 0.5, 0.0]}, index=[2, 1, 0])\n"
        "results = {'old': first, 'new': second}\n",
        "recmetrics.compare(results)",
        [0],  # by place, 0 would be below 0.5
        advice="type (.+)$",
        altered="{'old': first, 'new': second.reset_index(drop=True)}",
        then="[each.losses for each in answer.differences]",
    ),
    *(
        Case(
            "expected the values of all users; if it has means",
            "import pandas\nold = pandas.DataFrame({'mrr': [0.0, 0.5]}, index=['a', 'b'])\n"
            f"values = {values}; results = {{'old': old.rename_axis('user'), 'new': values}}\n",
            call,
            value,
            advice=advice,
            to=to,
            altered="old.rename_axis('user')",
            then=then,
        )
        for call, value, to, then in (
            ("recmetrics.compare(results)", [3 / 4 - 1 / 4], "results['new']", COMPARED),
            ("recmetrics.summary(values)", [3 / 4], "values", "[each.mean for each in answer]"),
        )
        for values, advice in (
            ("{'b': {'mrr': 1.0}, 'a': {'mrr': 0.5}}", "type (.+?), for {metric"),
            ("{'mrr': {'b': 1.0, 'a': 0.5}}", "{user: value}} type (.+)$"),
        )
    ),
    Case(
        "{} has no column 'model'",
        LONG,
        "recmetrics.compare(frame)",
        [1 / 2],
        advice="type (model=)'NAME'",
        blank="'arm'",
        then=COMPARED,
    ),
    Case(
        "{} has a list of {} and {} has none",
        LONG,
        "recmetrics.compare({'a': frame[:2], 'b': frame[2:]})",
        [1 / 2],
        advice="type (model=)'COLUMN'",
        blank="'arm'",
        then=COMPARED,
    ),
    Case(
        "two runs of {}: the runs are folds",
        "results = {'old': [{'mrr': [0.0, np.nan]}, {'mrr': [np.nan, 0.5]}], "
        "'new': [{'mrr': [1.0, np.nan]}, {'mrr': [np.nan, 0.5]}]}",
        "recmetrics.compare(results)",
        [1 / 2],
        then=COMPARED,
    ),
]
