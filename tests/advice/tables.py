"""Advice on tables."""

import math

from advice import Case

LOG_OF_SHOWN = (
    "scores = np.array([3.0, 2.0, 1.0, 1.0, 3.0])\n"
    "labels = np.array([0, 1, 0, 0, 1])\n"
    "users = [0, 0, 0, 1, 1]\n"
)

RECS = (
    "import pandas as pd\n"
    "from recmetrics import tables\n"
    "recs = pd.DataFrame({'user': ['a', 'a', 'b'], 'item': ['x', 'y', 'x']})\n"
)
TABLES = RECS + "truth = pd.DataFrame({'user': ['a', 'b'], 'item': ['y', 'x']})\n"
CALL = "tables.evaluate_table(recs, truth, 'mrr')"
MRR = "list(answer['mrr'])"
CATALOGUE = "catalogue = pd.DataFrame({'item': ['x', 'y', 'z']})\n"
OF_ALL = "tables.evaluate_table(recs, liked, 'auc', catalogue=catalogue)"
RISING = TABLES + "recs['prediction'] = [1, 2, 1]"
FALLING = TABLES + "recs['prediction'] = [2, 1, 1]"
DUPLICATES = (
    TABLES + "recs = pd.DataFrame({'user': ['a'] * 3 + ['b'], 'item': ['x', 'x', 'y', 'x'], "
    "'rank': [1, 2, 3, 1]})"
)
# A list of each of two models; only the second has a's item at the top.
MODELS = (
    "recs = pd.DataFrame({'user': ['a'] * 4, 'item': ['x', 'y', 'y', 'x'], "
    "'arm': ['m', 'm', 'n', 'n']}); truth = truth[:1]\n"
)
ARROW = (
    "import pyarrow\nrecs = pyarrow.Table.from_pandas(recs)\n"
    "truth = pyarrow.Table.from_pandas(truth)\n"
)

POLARS = "import pyarrow; recs = polars.DataFrame(recs); truth = polars.DataFrame(truth)"
OBJECTS = (
    "import pyarrow\n"  # for strings of pandas
    "ids = polars.Series('item', recs['item'].tolist(), dtype=polars.Object)\n"
    "recs = polars.DataFrame(recs[['user']]).with_columns(ids); truth = polars.DataFrame(truth)"
)
IN_PARTS = "tables.evaluate_table(recs, truth, 'mrr', chunks=2)"
FRAME = "polars.DataFrame({'user': ['a', 'a'], 'item': ['x', 'y'], 'score': [2, 1]})"
# Of a list with 3/4 of a genre and 1/4 of another, where the profile has half of each.
OF_GENRES = sum(math.log(1 / 2 / (0.99 * share + 0.01 / 2)) / 2 for share in (3 / 4, 1 / 4))
# Objects that make a frame: a dataset of Hugging Face, a cursor of DuckDB.
DATASET = (
    "class Dataset:\n"
    "    column_names = ['user']\n"
    "    def __init__(self, table):\n"
    "        self.to_pandas = self.df = lambda: table\n"
    "class Cursor(Dataset):\n"
    "    dtype = None\n"
)
# Lists of items and their scores, in which the second item of the first user is first.
PAIRS = "recs['item'] = [[('y', 0.1), ('x', 0.3)], [('x', 0.2)]]"
RECORDS = (
    "recs['item'] = [[{'votes': 4, 'score': 1, 'item': 'y'}, {'votes': 2, 'score': 3, 'item': 'x'}]"
    ", [{'votes': 3, 'score': 2, 'item': 'x'}]]"
)
EXPLODED = "; recs = recs.explode('item')"
# The code that makes a frame of a table stands behind the code that is typed next.
FIRST_READ = r"(?=.*before this, type (.+)\)$)(.+?) \(before"

# A column for each item.
WIDE = "recs.pivot(index='user', columns='item', values='score')"
COLUMNS = [
    Case(
        "the column {} of truth is not read, so every row is relevant",
        RECS + "recs['rank'] = [1, 2, 1]\n"
        "truth = pd.DataFrame({'user': ['a', 'a', 'b'], 'item': ['x', 'y', 'x'],\n"
        "                      'label': [0, 1, 1]})\n",
        CALL,
        [1 / 2, 1 / 1],
        altered="relevance=None",
        then=MRR,
    ),
    Case(
        "the means are too low if {} is a group of users",
        TABLES + "recs = recs.assign(arm=recs['user'].map({'a': 'm', 'b': 'n'}))",
        "tables.evaluate_table(recs, truth, 'mrr', in_order=True, by='arm')",
        [1 / 2, 1.0],
        altered="include_missing=True",
        then=MRR,
    ),
    Case(
        "these means are over all lists",
        TABLES + MODELS + "values, summary = tables.evaluate_table(\n"
        "    recs, truth, 'mrr', in_order=True, by='arm', return_summary=True)\n",
        "str(summary)",
        [["m", 1 / 2], ["n", 1.0]],
        whole="-",
        altered="recmetrics.summary(values)",
        told="answer",
        then="[[each.model, each.mean] for each in answer]",
    ),
    Case(
        "to order its lists, but it has the",
        RISING,
        CALL,
        [1.0, 1.0],
        advice="type (.+?) if",
        altered="rank='prediction'",
        then=MRR,
    ),
    Case(
        "to order its lists, but it has the",
        FALLING,
        CALL,
        [1.0, 1.0],
        advice="better, (.+?) if",
        altered="score='prediction'",
        then=MRR,
    ),
    *(
        Case(  # a column without a name
            "to order its lists, but it has the",
            TABLES + f"recs = recs.assign(number={numbers}).set_index(['user', 'item'])\n"
            "recs = recs['number'].rename(None).reset_index()\n",
            CALL,
            [1.0, 1.0],
            advice=advice,
            altered=f"recs.rename(columns={{0: '{other}'}})",
            then=MRR,
        )
        for numbers, advice, other in (
            ([1, 2, 1], "type (.+?) if", "rank"),
            ([2, 1, 1], "better, (.+?) if", "score"),
        )
    ),
    Case(
        "to order its lists, but it has the",
        RISING,
        CALL,
        [1 / 2, 1.0],
        advice=", or (in_order.+?) if",
        altered="score='prediction'",
        then=MRR,
    ),
    *(
        Case(  # one genre in the list, and as much of three in the profile; the same for the second
            "; for these columns, type",
            TABLES + "import polars\n"
            "recs = pd.DataFrame({'user': ['a', 'b'], 'item': [1, 2], 'score': 1.0})\n"
            "truth = recs[['user', 'item']]\n"
            "genres = pd.DataFrame({'item': [1, 2, 2], 'genre': ['a', 'a|b', 'c']})\n"
            "profile = pd.DataFrame({'user': ['a', 'b'], 'a': 1, 'b': 1, 'c': 1})\n" + library,
            "tables.evaluate_table(recs, truth, 'calibration@1', genres=genres, profile=profile)",
            [(math.log(1 / 3 / (0.99 + 0.01 / 3)) + 2 * math.log(100)) / 3, 0.0],
            then="answer['calibration@1'].to_list()",
        )
        for library in (
            "",
            "genres['genre'] = genres['genre'].str.split('|')",
            "import pyarrow\n"
            "recs, truth, genres, profile = map(polars.DataFrame, (recs, truth, genres, profile))",
            "genres = polars.DataFrame({'item': [1, 2, 3, 2, 2], 'genre': ['a', 'b', None, 'a', "
            "'c']}, schema_overrides={'genre': polars.Categorical})\n"
            "import pyarrow; recs, truth, profile = map(polars.DataFrame, (recs, truth, profile))",
        )
    ),
    *(
        Case(
            "; if each is one, type",
            TABLES + "import polars\nimport pyarrow\nrecs['score'] = ['9', '10', '1']\n" + library,
            CALL,
            [1.0, 1.0],
            altered="recs = recs[:1]",
            then=read,
        )
        for library, read in (
            ("recs['score'] = recs['score'].astype('category')", MRR),
            ("recs = polars.DataFrame(recs); truth = polars.DataFrame(truth)", MRR),
            (
                "recs = pyarrow.Table.from_pandas(recs); truth = pyarrow.Table.from_pandas(truth)",
                "answer['mrr'].to_pylist()",
            ),
        )
    ),
    Case(
        "; type in_order=True if the rows",
        TABLES + "truth['score'] = 1.0",
        CALL,
        [1 / 2, 1.0],
        altered="in_order=False",
        then=MRR,
    ),
    Case(
        "type {}.rename(columns=str)",
        TABLES + "recs = pd.DataFrame({0: ['a', 'a', 'b'], 'item': ['x', 'y', 'x']}); "
        "user = 0\ntruth = truth.rename(columns={'user': '0'})",
        "tables.evaluate_table(recs, truth, 'mrr', user=user)",
        [1 / 2, 1.0],
        advice="type (.+), and name it (.+)$",
        to="recs user",
        then=MRR,
    ),
    Case(
        "is in its index: type",
        TABLES + "recs = recs.set_index('user')",
        CALL,
        [1 / 2, 1.0],
        then=MRR,
    ),
    *(
        Case(
            says,
            "import pandas as pd\nfrom recmetrics import tables\n"
            "pairs = {'user': ['a', 'a', 'b'], 'item': [7, 8, 7]}\n"
            "recs = pd.DataFrame({'user': [*'aabbb'], 'item': [7, 8, 7, 9, 10],\n"
            "                     'score': [1, 2, 3, 2, 1]})\n"
            "truth = pd.DataFrame({**pairs, 'relevance': [1, 0, 1]})\n"
            f"{wide}\n",
            CALL,
            [1 / 2, 1.0],
            altered="{'a': [7], 'b': [7]}",
            then=MRR,
        )
        for says, wide in (
            ("; type {}.melt(", f"recs = {WIDE}"),
            ("; type {}.melt(", f"recs = {WIDE}.reset_index()"),
            (
                "; type {}.melt(",
                "truth = truth.pivot(index='user', columns='item', values='relevance')",
            ),
            *(
                ("if it has a column for each item type", f"recs = {WIDE}.{unnamed}")
                for unnamed in (
                    "rename_axis(columns=None)",
                    "rename_axis(columns=None, index=None)",
                    "rename_axis(columns=None).reset_index()",
                )
            ),
        )
    ),
    Case(
        "if all tables have it, else rename it",
        TABLES + "recs = recs.rename(columns={'user': 'uid'}); "
        "truth = truth.rename(columns={'user': 'uid'})",
        CALL,
        [1 / 2, 1.0],
        altered="user='item'",
        then=MRR,
    ),
    Case(
        "if these are the users and items of all tables",
        TABLES
        + "recs = recs.set_axis(['a', 'b'], axis=1); truth = truth.set_axis(['a', 'b'], axis=1)",
        "tables.evaluate_table(recs, truth, 'mrr', in_order=True)",
        [1 / 2, 1.0],
        advice="type (.+?) if",
        altered="user='a', item='a'",
        then=MRR,
    ),
    Case(
        ".rename(columns={{}: 'user', {}: 'item'})",
        TABLES + "recs = recs.set_axis([0, 1], axis=1)",
        "tables.evaluate_table(recs, truth, 'mrr', in_order=True)",
        [1 / 2, 1.0],
        altered="recs.rename(columns={0: 'item', 1: 'user'})",
        then=MRR,
    ),
]
BY = [
    *(
        Case(
            "=None, or the name of another column",
            TABLES + "recs['score'] = [2.0, 1.0, 1.0]",
            f"tables.evaluate_table(recs, truth, 'mrr', {argument}='item')",
            [1 / 2, 1.0],
            altered=f"{argument}='user'",
            then=MRR,
        )
        for argument in ("by", "score", "relevance")
    ),
    Case(
        "if it is the group of each user leave out by=, and",
        TABLES + "groups = pd.Series(['old', 'new'], index=['b', 'a'])\n"
        "values = tables.evaluate_table(recs, truth, 'mrr', in_order=True)\n",
        "tables.evaluate_table(recs, truth, 'mrr', in_order=True, by=groups)",
        [["new", 1 / 2], ["old", 1.0]],
        whole="-",
        altered="recmetrics.summary(values)",
        then="sorted([each.group, each.mean] for each in answer if each.group is not None)",
    ),
]
IDS = [
    *(
        Case(
            "holds tensors, of which no two are the same id",
            TABLES + "import polars, torch\n"
            f"recs['item'] = [{first}, torch.tensor(8.5), torch.tensor(7.0)]\n"
            f"truth['item'] = [8.5, 7.0]\n{kind}",
            CALL,
            [1 / 2, 1.0],
            advice="type (.+)$",
            altered="recs = recs[:1]",
            then=MRR,
        )
        for first in ("torch.tensor(7.0)", "7.0")
        for kind in ("", OBJECTS)
    ),
    *(
        Case(
            "holds {}, expected one id in each row; type",
            TABLES + "import polars\nimport pyarrow\n"
            "recs = pd.DataFrame({'user': ['a', 'b'], 'item': [['x', 'y'], ['x']]})\n" + changed,
            call,
            [1 / 2, 1.0],
            advice=f"row; type {advice}",
            altered="recs = recs[:1]",
            then=read,
        )
        for changed, call, advice, read in (
            ("", CALL, "(.+)$", MRR),
            ("recs['score'] = [[1, 9], [2]]; truth['item'] = ['x', 'x']", CALL, "(.+)$", MRR),
            ("recs['rank'] = [1, 1]", CALL, "(.+)$", MRR),
            (
                "recs['item'] = [['x', 'y'], []]; truth['item'] = ['y', 'x']",
                CALL,
                "(.+)$",
                f"{MRR}[:1] + [1 + answer['mrr'].iloc[1]]",
            ),  # no list: 0
            (
                "recs['item'] = ['y', ['z', 'x']]; truth['item'] = ['y', 'x']",
                CALL,
                "(.+)$",
                f"{MRR}[::-1]",
            ),
            (POLARS, CALL, "(.+)$", MRR),
            (
                POLARS + "; recs = recs.with_columns(score=polars.Series([[2, 1], [9]]))",
                CALL,
                "(.+)$",
                MRR,
            ),
            (ARROW, CALL, "(.+)$", "answer['mrr'].to_pylist()"),
            (PAIRS, CALL, "(.+)$", MRR),
            (PAIRS + EXPLODED, CALL, "(.+)$", MRR),
            (RECORDS, CALL, "(.+)$", MRR),
            (RECORDS + EXPLODED, CALL, "(.+)$", MRR),
            (f"{RECORDS}; {POLARS}", CALL, "(.+)$", MRR),
            (f"{RECORDS}; {POLARS}{EXPLODED}", CALL, "(.+)$", MRR),
            (f"{RECORDS}\n{ARROW}", CALL, "(.+)$", "answer['mrr'].to_pylist()"),
            (
                f"{RECORDS}; {POLARS}{EXPLODED}; recs = recs.lazy()",
                IN_PARTS,
                FIRST_READ,
                "sorted(answer['mrr'])",
            ),
            (
                "recs['item'] = [[(0.1, 'y'), (0.3, 'x')], [(0.2, 'x')]]; recs['rank'] = 1",
                CALL,
                "(.+)$",
                MRR,
            ),
            ("recs['item'] = [[['y', 1], ['x', 3]], [['x', 2]]]", CALL, "(.+)$", MRR),
            ("", IN_PARTS, FIRST_READ, "sorted(answer['mrr'])"),
            ("recs['rank'] = [1, 1]", IN_PARTS, FIRST_READ, "sorted(answer['mrr'])"),
            (ARROW, IN_PARTS, FIRST_READ, "sorted(answer['mrr'])"),
            (POLARS + "; recs = recs.lazy()", IN_PARTS, FIRST_READ, "sorted(answer['mrr'])"),
        )
    ),
    Case(
        "(before this, type",
        "import polars\nfrom recmetrics import tables\n"
        "Path('recs.csv').write_text('user;item\\na;7 8\\nb;8\\n'); recs = 'recs.csv'\n"
        "truth = {'a': ['8'], 'b': ['8']}\n",
        CALL,
        [1 / 2, 1.0],
        advice=f"row; type {FIRST_READ}",
        altered="recs = recs[:1]",
        then=MRR,
    ),
    Case(
        "_frames.py: type {}.{}",
        "import polars\nfrom recmetrics import tables\n"
        "train = polars.LazyFrame({'user': ['a', 'b'], 'item': ['x', 'y'], 'time': [2, 1]})\n"
        "truth = polars.DataFrame({'user': ['a', 'b'], 'item': ['y', 'x'], 'time': [1, 2]})",
        "tables.audit_times(train, truth)",
        1,
        then="answer.findings['after_own_test'].n",
    ),
    Case(
        "expected ids that can be compared",
        TABLES + "recs['user'] = [{'id': 1}, {'id': 1}, {'id': 2}]; "
        "truth['user'] = [\"{'id': 1}\", \"{'id': 2}\"]",
        CALL,
        [1 / 2, 1.0],
        then=MRR,
    ),
    Case(
        "and tables are read in parts by polars; for strings",
        TABLES + "import polars, pyarrow\nrecs['user'] = ['a', 'a', 2]; truth['user'] = ['a', '2']",
        "tables.evaluate_table(recs, truth, 'mrr', chunks=2)",
        [1 / 2, 1.0],
        then="sorted(answer['mrr'])",
    ),
    Case(
        "and tables are read in parts by polars; for strings",
        TABLES + "import polars, pyarrow\nfrom decimal import Decimal\n"
        "recs['user'] = [Decimal(1), Decimal(1), Decimal(2)]; recs = pyarrow.table({'item': "
        "recs['item'], 'user': pyarrow.array(recs['user'], pyarrow.decimal256(50))})\n"
        "truth['user'] = ['1', '2']; truth = pyarrow.Table.from_pandas(truth)",
        "tables.evaluate_table(recs, truth, 'mrr', chunks=2)",
        [1 / 2, 1.0],
        then="sorted(answer['mrr'])",
    ),
    Case(
        "holds the id {}, expected integers from",
        TABLES + "recs = pd.DataFrame({'user': np.array([2**64 - 1, 1], np.uint64), 'item': ['x', "
        "'y']}); truth = recs",
        CALL,
        [1.0, 1.0],
        then=MRR,
    ),
]
FORMS = [
    *(
        Case(
            "; type {}.{}({})",
            f"import {library}\nfrom recmetrics import tables\n"
            "recs = {'user': ['a', 'a', 'b'], 'item': ['x', 'y', 'x'], 'rank': [1, 2, 1]}\n"
            f"truth = {library}.{make}({{'user': ['a', 'b'], 'item': ['y', 'x']}})\n",
            CALL,
            [1 / 2, 1.0],
            altered=f"{library}.{make}(recs)[:1]",
            then=read,
        )
        for library, make, read in (
            ("pandas", "DataFrame", MRR),
            ("polars", "DataFrame", MRR),
            ("pyarrow", "table", "answer['mrr'].to_pylist()"),
        )
    ),
    Case(
        "; if recs has a dict for each model, type",
        "import pandas\nfrom recmetrics.tables import evaluate_table\n"
        "recs = {'m': {'a': ['x', 'y']}, 'n': {'a': ['y', 'x']}}\ntruth = {'a': ['y']}\n",
        "evaluate_table(recs, truth, 'mrr')",
        {"m": [1 / 2], "n": [1.0]},
        advice="type (.+)$",
        whole="-",
        blank="'mrr'",
        altered="{model: evaluate_table(lists, truth, 'hit@1') for model, lists in recs.items()}",
        then="{model: list(values.iloc[:, 1]) for model, values in answer.items()}",
    ),
    Case(
        "([(*pair, number) for pair, number in",
        "import pandas\nfrom recmetrics import tables\n"
        "recs = {('a', 'x'): 2.0, ('a', 'y'): 3.0, ('b', 'x'): 1.0}\n"
        "truth = {'a': ['x'], 'b': ['x']}\n",
        CALL,
        [1 / 2, 1.0],
        advice="type (.+)$",
        altered="{'a': ['x'], 'b': ['x']}",
        then=MRR,
    ),
    *(
        Case(
            says,
            f"from recmetrics import tables\nrecs = {{'a': {lists}, 'b': {lists}}}\n"
            "truth = {'a': [8], 'b': [7]}\n",
            CALL,
            value,
            advice=rf"{says.split('{')[0]}.*?type (.+?)(?:;|$)",
            altered="{user: [7] for user in recs}",
            then=MRR,
        )
        for says, lists, value in (
            ("; for ids and {}s type", "([7, 8, 9], [0.1, 0.3, 0.2])", [1.0, 1 / 3]),
            ("; for ids and {}s type", "[[7, 8], [0.1, 0.2]]", [1.0, 1 / 2]),
            ("; for ids and {}s type", "(np.array([7, 8]), np.array([1, 2]))", [1.0, 1 / 2]),
            ("; for ids and {}s type", "(np.array([0.1, 0.2]), np.array([7, 8]))", [1.0, 1 / 2]),
            ("; for ids and distances", "([7, 8], [0.1, 0.2])", [1 / 2, 1.0]),
            ("; for ids and distances", "[[0.1, 0.2], [7, 8]]", [1 / 2, 1.0]),
            ("; for pairs of a number", "[(0.1, 7), (0.2, 8)]", [1.0, 1 / 2]),
        )
    ),
    Case(
        "; for one item of each user type",
        "from recmetrics import tables\n"
        "recs = {'a': ['xy', 'zz'], 'b': ['zz', 'xy']}; truth = {'a': 'xy', 'b': 'xy'}\n",
        CALL,
        [1.0, 1 / 2],
        advice="type (.+)$",
        altered="{'a': ['zz'], 'b': ['xy']}",
        then=MRR,
    ),
    *(
        Case(
            "if its values are items, or",
            "import pandas\nfrom recmetrics import tables\n"
            "recs = {'a': pandas.Series([1, 2], index=[1, 2])}; truth = {'a': [1]}\n",
            CALL,
            value,
            advice=advice,
            altered="{'a': [3]}",
            then=MRR,
        )
        for advice, value in (("type (.+?) if", [1.0]), ("are items, or (.+?) if", [1 / 2]))
    ),
    *(
        Case(
            says,
            f"import {library}\nfrom recmetrics import tables\n"
            f"recs = {library}.DataFrame({{'item': ['x', 'y'], 'score': [1, 2]}})\n"
            f"recs = {{'a': recs, 'b': recs[:1]}}; truth = {{'a': ['x'], 'b': ['x']}}\n",
            CALL,
            [1 / 2, 1.0],
            altered="{'a': ['x'], 'b': ['x']}",
            advice="numbers; type (.+)$",
            then=MRR,
        )
        for says, library in (("; type {}.concat([", "pandas"), ("; type {}.concat([", "polars"))
    ),
    Case(
        "{key: items for (key,), items in",
        "from recmetrics import tables\nrecs = {'a': ['x', 'y'], 'b': ['x']}\n"
        "recs = {(user,): items for user, items in recs.items()}; truth = {'a': ['y'], 'b': ['x']}",
        CALL,
        [1 / 2, 1.0],
        advice="type (.+)$",
        altered="truth",
        then=MRR,
    ),
    *(
        Case(
            "; for a table of each model type",
            f"import {library}\nfrom recmetrics.tables import evaluate_table\n"
            f"table = {library}.DataFrame({{'user': ['a', 'a'], 'item': ['x', 'y']}})\n"
            "recs = {'m': table, 'n': table[1:]}; truth = table[1:]\n",
            "evaluate_table(recs, truth, 'mrr')",
            {"m": [1 / 2], "n": [1.0]},
            advice="type (.+)$",
            whole="-",
            blank="'mrr'",
            altered="{model: evaluate_table(table, table, 'mrr') for model, table in recs.items()}",
            then="{model: list(values['mrr']) for model, values in answer.items()}",
        )
        for library in ("pandas", "polars")
    ),
    Case(
        "; type {'/'.join(map(str, key)): items",
        "from recmetrics import tables\n"
        "recs = {('u', 1): ['x', 'y'], ('u', 2): ['x']}; truth = {'u/1': ['y'], 'u/2': ['x']}",
        CALL,
        [1 / 2, 1.0],
        advice="type (.+)$",
        altered="{key[0]: items for key, items in recs.items()}",
        then=MRR,
    ),
    Case(
        "has the key {}, expected the id of an item",
        "from recmetrics import tables\n"
        "recs = {'a': {('x', 1): 2.0, ('x', 2): 1.0}}; truth = {'a': ['x/2']}",
        CALL,
        [1 / 2],
        advice="type (.+)$",
        altered="{'a': ['x/2']}",
        then=MRR,
    ),
    Case(
        "pairs of an item and its number type",
        "from recmetrics import tables\n"
        "recs = {'a': [('x', 0.2), ('y', 0.9)]}\ntruth = {'a': ['x']}\n",
        CALL,
        [1 / 2],
        advice="type (.+)$",
        to="recs",
        altered="{user: [item for item, _ in pairs] for user, pairs in recs.items()}",
        then=MRR,
    ),
    *(
        Case(
            "which pads lists; type",
            f"from recmetrics import tables\n{lists}\n",
            CALL,
            [1 / 2],
            advice="type (.+?); in",
            altered="{user: [0] for user in recs}",
            then=MRR,
        )
        for lists in (
            "recs = {'a': np.array([5, 7, -1])}; truth = {'a': [7]}",
            "recs = {'a': [5, 7, -1, -1]}; truth = {'a': {7}}",
            "recs = {'a': [5, 7]}; truth = {'a': np.array([7, -1])}",
        )
    ),
    Case(
        "; for the id {} and the number {} type",
        "from recmetrics import tables\n"
        "recs = {'a': [{'corpus_id': 5, 'score': 0.25}, {'corpus_id': 7, 'score': 0.5}]}\n"
        "truth = {'a': [5]}\n",
        CALL,
        [1 / 2],
        advice="type (.+)$",
        altered="{'a': [5]}",
        then=MRR,
    ),
    *(
        Case(
            "; for rows of {} type",
            f"import pandas\nfrom recmetrics import tables\n{given}\n",
            call,
            value,
            advice="type (pandas.+?)(?:;|$)",
            altered=altered,
            then=f"list(answer['{metric}'])",
        )
        for given, call, altered, metric, value in (
            (  # of users 0 and 1, as of whom the four rows would be read, 0 has one of 7 and 8
                "recs = {0: [7, 9], 1: [9, 8]}; truth = [(0, 7), (0, 8), (1, 8), (1, 9)]",
                "tables.evaluate_table(recs, truth, 'recall@2')",
                "dict(enumerate(truth))",
                "recall@2",
                [1 / 2, 2 / 2],
            ),
            (
                "truth = {'a': ['x'], 'b': ['x']}\n"
                "recs = [['a', 'x', 1], ['a', 'y', 2], ['b', 'x', 1]]",
                CALL,
                "{'a': ['x', 'y'], 'b': ['x']}",
                "mrr",
                [1 / 2, 1.0],
            ),
            (
                "recs = {0: {7: 3, 8: 2}, 1: {8: 1}}; truth = {0: [8], 1: [8]}\n"
                "exclude = np.array([[0, 7], [1, 9]])",
                "tables.evaluate_table(recs, truth, 'mrr', exclude=exclude)",
                "{0: [7], 1: [8]}",
                "mrr",
                [1.0, 1.0],
            ),
        )
    ),
    *(
        Case(
            says,
            TABLES + f"import pyarrow\nrecs['score'] = [2, 1, 1]\n{given}\n",
            CALL,
            [1 / 2, 1.0],
            altered="{'a': ['y'], 'b': ['y']}",
            then="answer['mrr'].to_numpy().tolist()",
        )
        for says, given in (
            (
                "takes a dict of these lists, too: type",
                "truth = truth.groupby('user')['item'].agg(list)",
            ),
            ("; type {}.reset_index()", "truth = truth.set_index('user')['item']"),
            ("; type {}.reset_index()", "recs = recs.set_index(['user', 'item'])['score']"),
            (
                "; type {}.reset_index(name=",
                "recs = pd.Series([2, 1, 1], pd.MultiIndex.from_frame(recs[['user', 'item']]))",
            ),
            (
                "; type {}.reset_index(name=",
                "recs = pd.Series({('a', 'x'): 2, ('a', 'y'): 1, ('b', 'x'): 1})",
            ),
            (
                "; type {}.reset_index(name=",
                "truth = pd.Series({('a', 'y'): 1, ('b', 'x'): 2, ('a', 'x'): 0})",
            ),
            (
                "; type pyarrow.Table.from_batches([{}])",
                "recs = pyarrow.RecordBatch.from_pandas(recs)\n"
                "truth = pyarrow.Table.from_pandas(truth)",
            ),
            (
                "; type pyarrow.Table.from_batches({})",
                "recs = pyarrow.Table.from_pandas(recs).to_batches()\n"
                "truth = pyarrow.Table.from_pandas(truth)",
            ),
            ("; type {}.concat({})", "import pandas\nrecs = [recs[:1], recs[1:]]"),
            (
                "; type {}.concat({})",
                "import polars\nrecs = [polars.from_pandas(recs)]; truth = polars.DataFrame(truth)",
            ),
            ("; type pandas.DataFrame({})", "import pandas\nrecs = [*recs.itertuples()]"),
            ("; type {}.{}()", DATASET + "recs = Dataset(recs)"),
            ("; type {}.{}()", DATASET + "recs = {'test': Dataset(recs)}"),
            ("; type {}.df()", DATASET + "recs = Cursor(recs)"),
            *(
                ("expected both of one library; type", f"import polars\n{given}")
                for given in (
                    "truth = polars.from_pandas(truth)",
                    "truth = pyarrow.Table.from_pandas(truth)",
                    "recs = polars.from_pandas(recs)",
                    "recs = polars.from_pandas(recs); truth = pyarrow.Table.from_pandas(truth)",
                    "recs = pyarrow.Table.from_pandas(recs)",
                    "recs = pyarrow.Table.from_pandas(recs); truth = polars.from_pandas(truth)",
                )
            ),
        )
    ),
    *(
        Case(
            "; for ids of items type",
            TABLES + f"import pandas\ncatalogue = {ids}\n",
            "tables.evaluate_table(recs, truth, 'coverage@1', catalogue=catalogue)",
            [1 / 4, 1 / 4],
            altered="pandas.DataFrame({'item': ['x', 'y']})",
            then="list(answer['coverage@1'])",
        )
        for ids in ("[*'wxyz']", "{*'wxyz'}", "pd.Series([*'wxyz'])", "dict.fromkeys('wxyz', 0)")
    ),
    *(
        Case(
            "; for a value of each item type",
            TABLES + f"import pandas\n{name} = {values}\n"
            "profile = pd.DataFrame({'user': ['a', 'b'], 'old': [1, 1], 'new': [1, 1]})\n",
            f"tables.evaluate_table(recs, truth, '{metric}@2', profile=profile, {name}={name})",
            expected,
            altered="truth",
            then=f"list(answer['{metric}@2'])[:1]",
        )
        for name, values, metric, expected in (
            ("popularity", "{'x': 0.5, 'y': 0.125}", "novelty", [(1 + 3) / 2]),
            ("popularity", "pd.Series({'x': 0.5, 'y': 0.125})", "novelty", [(1 + 3) / 2]),
            ("propensity", "{'x': 0.5, 'y': 0.25}", "recall(weigh=ips)", [4 / 1]),
            ("features", "{'x': [1.0, 0.0], 'y': [0.0, 1.0]}", "diversity", [1.0]),
            ("genres", "{'x': ['old'], 'y': ['new']}", "calibration", [0.0]),
            ("genres", "{'x': 'old', 'y': 'new|old'}", "calibration", [OF_GENRES]),
        )
    ),
    Case(
        "for a table of another library type pyarrow.table",
        TABLES + "import pyarrow\n"
        "class Stream:\n"
        "    def __init__(self, table):\n"
        "        self.table = table\n"
        "    def __arrow_c_stream__(self, requested_schema=None):\n"
        "        return self.table.__arrow_c_stream__(requested_schema)\n"
        "recs['score'] = [1, 2, 1]\nrecs = Stream(pyarrow.Table.from_pandas(recs))\n"
        "truth = {'a': ['x'], 'b': ['x']}\n",
        CALL,
        [1 / 2, 1 / 1],
        altered="{'a': ['x', 'y'], 'b': ['y']}",
        then="[float(str(value)) for value in answer['mrr']]",
    ),
    Case(
        "; type pandas.DataFrame({})",
        "import pandas\nfrom recmetrics import tables\ntruth = {'a': ['x']}\n"
        "recs = [{'user': 'a', 'item': 'x', 'score': 1}, {'user': 'a', 'item': 'y', 'score': 2}]\n",
        CALL,
        [1 / 2],
        altered="{'a': ['x', 'y']}",
        then=MRR,
    ),
    Case(
        "for a list of users 0, 1, 2, ... type",
        "from recmetrics import tables\nrecs = [['x', 'y'], ['x']]; truth = {1: ['x'], 0: ['y']}\n",
        CALL,
        [1 / 2, 1.0],
        advice=r"\.\.\. type (.+)$",
        altered="{0: ['y'], 1: ['x']}",
        then=MRR,
    ),
    Case(
        "for a table of groups type",
        "import polars\nfrom recmetrics import tables\n"
        "Path('recs.csv').write_text('qid,score,relevance\\n1,3,0\\n1,2,1\\n2,1,1\\n')\n"
        "recs = 'recs.csv'\n"
        "Path('truth.csv').write_text('qid,item\\n1,5\\n')\n"
        "truth = 'truth.csv'\n"
        "ids = [1, 1, 2]; scores = np.array([3.0, 2.0, 1.0]); relevance = np.array([0, 1, 1])\n"
        "metrics_list = 'mrr'\n",
        CALL,
        [1 / 2, 1.0],
        whole="-",
        altered="Metrics.compute_groups(-scores, relevance, metrics_list, ids=ids)",
        then=MRR,
    ),
]
LISTS = [
    Case(
        "for judgements of TREC type",
        TABLES + "truth = pd.DataFrame({'user': ['a', 'a'], 'item': ['x', 'y'], 'relevance': "
        "[-2, 1]})\nrecs['score'] = [3, 2, 1]\n",
        CALL,
        [1 / 2, float("nan")],
        advice="TREC type (.+)$",
        altered="undefined='zero', relevance='score'",
        then=MRR,
    ),
    Case(
        "_files/table_files.py: for lines of a user and items",
        RECS + "import polars\n"
        "recs = pd.DataFrame({'user': ['1', '1', '2'], 'item': ['7', '8', '8']})\n"
        "truth = 'truth.txt'\nPath(truth).write_text('1 8 9\\n2 8\\n')\n",
        CALL,
        [1 / 2, 1 / 1],
        advice="type (.+) for the file",
        to="truth",
        altered="{'1': ['7'], '2': []}",
        then=MRR,
    ),
    Case(
        "for lines of a user and an item, in Python",
        RECS + "import polars\nrecs = 'recs.csv'\ntruth = 'pairs[1].txt'\n"
        "Path(recs).write_text('user,item,score\\n1,7,2\\n1,8,1\\n2,8,1\\n')\n"
        "Path(truth).write_text('1 7\\n1 9\\n2 8\\n')\n"
        "Path('pairs1.txt').write_text('1 9\\n')\n",
        CALL,
        [1.0, 1.0],
        advice="type (.+) for the file",
        to="truth",
        altered="{'1': ['9'], '2': ['8']}",  # of each user the last item alone
        then=MRR,
    ),
    *(
        Case(
            says,
            "import polars\nfrom recmetrics import tables\n"
            "recs = 'recs.csv'\ntruth = 'last.txt'\n"
            "Path(recs).write_text('user,item\\n1,20\\n1,4\\n2,9\\n2,40\\n')\n"
            "Path(truth).write_text('1 20 4 881250949\\n2 40 5 881250950\\n')\n",
            "tables.evaluate_table(recs, truth, 'recall(denom=relevant)@2')",
            value,
            advice=advice,
            to="truth",
            altered="{'1': ['4'], '2': ['20']}",
            then="list(answer['recall(denom=relevant)@2'])",
        )
        for says, advice, value in (  # four numbers of each user: item, rating, time, or items
            (
                "_files/table_files.py: for lines of a user and items",
                "type ({.+?}) for",
                [2 / 3, 1 / 3],
            ),
            ("for lines of a user and an item, in Python", r"type (polars.+\)) for", [1.0, 1.0]),
        )
    ),
    Case(
        "; for text, in Python, type {} {}",
        TABLES + "import polars\ntruth = {'1': ['x'], '2': ['y']}\n"
        "polars.DataFrame({'user': [1.0, 1.0, 2.0], 'item': ['y', 'x', 'y']})"
        ".write_parquet('recs.parquet')\nrecs = 'recs.parquet'\n",
        CALL,
        [1 / 2, 1 / 1],
        advice="type (.+) for the file$",
        to="recs",
        altered="polars.read_parquet('recs.parquet').with_columns(polars.col('user').cast(str))",
        then=MRR,
    ),
    *(
        Case(
            "; for all its files, in Python",
            "import polars\nfrom recmetrics import tables\ntruth = {'1': ['x'], '2': ['y']}\n"
            "for user, items in ('1', ['y', 'x']), ('2', ['x', 'y']):\n"
            "    folder = Path('days', f'day={user}')\n"
            "    folder.mkdir(parents=True, exist_ok=True)\n"
            "    run = polars.DataFrame({'user': user, 'item': items})\n"
            "    run.write_parquet(folder / '0.parquet')\n"
            f"Path('days', '_SUCCESS').touch()\nrecs = {recs!r}\n",
            "tables.evaluate_table(recs, truth, 'mrr', in_order=True)",
            [1 / 2, 1 / 2],
            advice="type (.+) for the name$",
            to="recs",
            altered="'days/day=1/0.parquet'",
            then="sorted(answer['mrr'])",
        )
        for recs in ("days", "days/*/*.parquet")
    ),
    Case(
        "; for all its files, in Python",
        TABLES + "import polars\nPath('items').mkdir(exist_ok=True)\n"
        "polars.DataFrame({'item': ['y']}).write_parquet('items/0.parquet')\nfolder = 'items'\n"
        "recs = polars.DataFrame(recs); truth = polars.DataFrame(truth)\n",
        "tables.evaluate_table(\n"
        "    recs, truth, 'hit(of=new)@2', strata={'new': folder}, in_order=True)",
        [1.0, math.nan],
        advice="type (.+) for the name$",
        to="folder",
        altered="polars.DataFrame({'item': ['x']})",
        then="answer.sort('user')['hit(of=new)@2'].fill_null(np.nan).to_list()",
    ),
    *(
        Case(
            says,
            "import json\nimport polars\nfrom recmetrics import tables\ntruth = {'a': ['y']}\n"
            f"recs = {name!r}\n{written}\n",
            CALL,
            [1 / 2],
            advice="type (.+) for the name$",
            to="recs",
            altered="{'a': ['y']}",
            then=MRR,
        )
        for says, name, written in (
            (
                "in Python, type json.loads(Path({}).read_text()) for the name",
                "recs.json",
                'Path(recs).write_text(\'{"a": ["x", "y"]}\')',
            ),
            ("in Python, type {} for the name", "recs.json", FRAME + ".write_json(recs)"),
            ("in Python, type {} for the name", "recs.jsonl", FRAME + ".write_ndjson(recs)"),
            ("in Python, type {} for the name", "recs.arrow", FRAME + ".write_ipc(recs)"),
        )
    ),
    Case(
        "it has a column for each place of a list; for a row for each item",
        "import polars\nfrom recmetrics import tables\n"
        "recs = 'wide.csv'\ntruth = {'1': ['20'], '2': ['9'], '3': ['8']}\n"
        "Path(recs).write_text('user,item_10,item_2,n\\n1,20,7,5\\n2,40,9,6\\n3,,8,7\\n')\n",
        CALL,
        [1 / 2, 1.0, 1.0],
        advice="type (.+) for the file",
        to="recs",
        altered="polars.read_csv('wide.csv', infer_schema=False).rename({'item_10': 'item'})"
        ".select('user', 'item').drop_nulls()",
        then=MRR,
    ),
    *(
        Case(
            "it has a column for each place of a list: for a row for each item",
            "import pandas as pd\nimport polars\nimport pyarrow\nfrom recmetrics import tables\n"
            "recs = {'user': ['a', 'b'], 'item_10': ['y', None], 'item_2': ['x', 'x']}\n"
            "recs = pd.DataFrame(recs)\n"
            f"truth = pd.DataFrame({{'user': ['a', 'b'], 'item': ['y', 'x']}})\n{library}\n",
            CALL,
            [1 / 2, 1.0],
            altered="recs.rename({'item_10': 'item'}) if hasattr(recs, 'unpivot') else "
            "recs.rename(columns={'item_10': 'item'}).dropna()",
            then=MRR,
        )
        for library in ("", "recs = polars.DataFrame(recs); truth = polars.DataFrame(truth)")
    ),
    Case(
        "holds lists as text, such as",
        TABLES + "recs = pd.DataFrame({'user': ['a', 'b'], 'item': ['i1 i2', 'i3 i2 i1']})\n"
        "truth['item'] = ['i2', 'i3']\n",
        CALL,
        [1 / 2, 1 / 1],
        advice="row; type (.+)$",
        altered="recs = recs[:1]",
        then=MRR,
    ),
    Case(
        "_side_tables.py: ; type unknown='waste'",
        TABLES + CATALOGUE + "catalogue = catalogue[1:]; recs = recs[:2]; truth = truth[:1]\n",
        "tables.evaluate_table(recs, truth, 'mrr', catalogue=catalogue)",
        [1 / 2],
        advice="type (.+?) or",
        altered="unknown='drop'",
        then=MRR,
    ),
    Case(
        "_side_tables.py: ; type unknown='waste'",
        TABLES + CATALOGUE + "catalogue = catalogue[1:]; recs = recs[:2]; truth = truth[:1]\n",
        "tables.evaluate_table(recs, truth, 'mrr', catalogue=catalogue)",
        [1.0],
        advice="or (unknown=.+?) to",
        altered="unknown='waste'",
        then=MRR,
    ),
    *(
        Case(
            "type {}={} if column {} distinguishes",
            TABLES + MODELS + repeated,
            CALL,
            [1 / 2, 1 / 1],
            altered="by=None",
            then=MRR,
        )
        for repeated in (
            "",  # items
            "recs['rank'] = [1, 2, 1, 2]; recs['item'] = ['x', 'y', 'y', 'z']\n",  # ranks
        )
    ),
    Case(
        "type {}={} if column {} distinguishes",
        TABLES + MODELS + "analysis = tables.RecListAnalysis\n"
        "def mrr_of(**options):\n"
        "    lists = analysis(**{'group_cols': ['user'], **options})\n"
        "    lists.add_metric('mrr')\n"
        "    return lists.compute(recs, truth)\n",
        "mrr_of()",
        [1 / 2, 1 / 1],
        altered="group_cols=['user']",
        then=MRR,
    ),
    Case(
        "the lists, or type repeats=",
        DUPLICATES,
        CALL,
        [1 / 3, 1.0],
        advice="type (.+?) or",
        altered="repeats='drop'",
        then=MRR,
    ),
    Case(
        "the lists, or type repeats=",
        DUPLICATES,
        CALL,
        [1 / 2, 1.0],
        advice=r"or (repeats='drop')",
        altered="repeats='waste'",
        then=MRR,
    ),
    *(
        Case(
            "; if items of a list tie, type",
            TABLES + "import polars\nimport pyarrow\nrecs['rank'] = [1.5, 1.5, 1.0]\n" + library,
            CALL,
            [1 / 2, 1.0],
            altered="recs = recs[1:]",
            then=MRR,
        )
        for library in ("", "recs = polars.DataFrame(recs); truth = polars.DataFrame(truth)\n")
    ),
    Case(
        "but {} counts all of them; expected lists of all",
        TABLES + CATALOGUE + "scores = [[3.0, 2.0, 1.0], [3.0, 2.0, 1.0]]; liked = truth; "
        "truth = np.array([[0, 1, 0], [1, 0, 0]])",
        OF_ALL,
        {"auc": [1 / 2, 1.0]},
        advice="as a matrix, type (.+?);",
        whole="-",
        altered="Metrics.compute(-np.array(scores), [[1], [0]], ['auc'])",
    ),
    Case(
        "items that were shown, with their labels",
        TABLES + CATALOGUE + "liked = truth\n" + LOG_OF_SHOWN,
        OF_ALL,
        {"auc": [1 / 2, 1.0]},
        advice="with their labels, type (.+)$",
        whole="-",
        altered="Metrics.compute_groups(-scores, labels, ['auc'], ids=users)",
    ),
    Case(
        "must be a Parquet file; type",
        TABLES + "import polars, pyarrow",
        "tables.evaluate_table(recs, truth, 'mrr', in_order=True, per_user='values.csv.gz')",
        ["values.parquet", 1 / 2, 1.0],
        altered="per_user='values'",
        then="[*map(str, Path().glob('values*')), *answer.collect()['mrr']]",
    ),
    Case(
        "tables.evaluate_table(recs, truth, ...)",
        TABLES + "popularity = pd.DataFrame({'item': ['x', 'y'], 'popularity': [1.0, 0.5]})",
        "tables.RecListAnalysis().add_metric('novelty@2')",
        [(0 + 1) / 2, (0 + 0) / 2],
        whole="-",
        blank="'novelty@2', popularity=popularity",
        altered="tables.evaluate_table(recs, truth, 'novelty@1', popularity=popularity)",
        then="list(answer['novelty@2'])",
    ),
    *(
        Case(
            "; if the numbers are times since 1970 in",
            f"import datetime, {library}\nfrom recmetrics import tables\n"
            f"make = {library}.{constructor}\n"
            "train = make({'user': ['a', 'b'], 'item': [1, 1], 'time': [1577872800000 + 1] * 2})\n"
            f"time = datetime.datetime(2020, 1, 1, {hour}, tzinfo={zone})\n"
            "truth = make({'user': ['a', 'b'], 'item': [2, 2], 'time': [time, time]})\n",
            "tables.audit_times(train, truth)",
            2,
            advice=", type (.+)$",
            altered="train = truth",
            then="answer.findings['after_own_test'].n",
        )
        for library, constructor in (
            ("pandas", "DataFrame"),
            ("polars", "DataFrame"),
            ("pyarrow", "table"),
        )
        for hour, zone in ((10, "None"), (11, "datetime.timezone(datetime.timedelta(hours=1))"))
    ),
    Case(
        "a time zone in both or in none; if",
        TABLES + "import pandas\n"
        "train = recs.assign(time=pd.to_datetime(['2020-01-01 10:30'] * 3))\n"
        "truth['time'] = pd.to_datetime(['2020-01-01 10:00'] * 2).tz_localize('Europe/Paris')\n",
        "tables.audit_times(train, truth)",
        2,
        advice=", type (.+)$",
        altered="train['time'] = train['time'].dt.tz_localize('Asia/Tokyo')",
        then="answer.findings['after_own_test'].n",
    ),
]
CASES = [*COLUMNS, *BY, *IDS, *FORMS, *LISTS]
