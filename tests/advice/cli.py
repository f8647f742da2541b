"""Advice of the command."""

from advice import Case
from advice.problem import BOTH

FILES = BOTH + "np.save('scores.npy', scores); np.save('truth.npy', truth)\n"
VALUES = (
    "for name in ('a', 'new', 'old'):\n    Path(f'{name}.csv').write_text('user,mrr\\n"
    "x,0.5\\ny,1.0\\n')\n"
)
TABLES = (
    "import narwhals, polars\n"  # they read these files
    "Path('recs.csv').write_text('{0},score\\na,x,2\\na,y,1\\nb,x,1\\n')\n"
    "Path('liked.csv').write_text('{0}\\na,y\\nb,x\\n')\n"
)
EVALUATE = "run('recmetrics evaluate scores.npy truth.txt -m mrr --json')"
CASES = [
    Case(
        "{} needs a TRUTH; type",
        FILES,
        "run('recmetrics evaluate scores.npy -m mrr --json')",
        {"mrr": (1 / 2 + 1 / 3) / 2},
        blank="truth.npy",
        altered="recmetrics evaluate truth.npy scores.npy",
    ),
    Case(
        "user item relevance, or user and items?",
        FILES + "Path('truth.txt').write_text('0 1\\n1 0 2\\n')",
        EVALUATE,
        {"mrr": (1 / 2 + 1 / 3) / 2},
        advice="type (.+?) or --",
        altered="--lines lists",
    ),
    Case(
        "user item relevance, or user and items?",
        FILES + "Path('truth.txt').write_text('0 1\\n1 0 2\\n')",
        EVALUATE,
        {"mrr": (1 / 2 + 1 / 2) / 2},
        advice="triples or (.+)$",
        altered="--lines triples",
    ),
    Case(
        "cli/_command.py: for lines of a user and items",
        TABLES.format("user,item") + "from recmetrics.tables import evaluate_table\n"
        "Path('liked.txt').write_text('a y x\\nb y\\n')\n",
        "run('recmetrics evaluate recs.csv liked.txt -m mrr --lines lists')",
        [1 / 1, 0 / 1],
        advice="type (.+)$",
        blank="'mrr'",
        whole="",
        altered="evaluate_table('recs.csv', 'liked.csv', 'mrr')",
        then="answer['mrr'].to_list()",
    ),
    Case(
        "in Python, type {}, and give that file",
        FILES + "import scipy.io\nscipy.io.mmwrite('liked.mtx', sp.coo_array(truth))\n",
        "run('recmetrics evaluate scores.npy liked.mtx -m mrr --json')",
        {"mrr": (1 / 2 + 1 / 3) / 2},
        advice="type (.+), and give",
        whole="-",
        altered="scipy.sparse.save_npz('liked.npz', sp.csr_array(np.eye(2, 3)))",
        then="run('recmetrics evaluate scores.npy liked.npz -m mrr --json')",
    ),
    Case(
        "in Python, type {}, and give that file",
        FILES + "import torch\ntorch.save(torch.tensor(scores), 'model.pt')\n",
        "run('recmetrics evaluate model.pt truth.npy -m mrr --json')",
        {"mrr": (1 / 2 + 1 / 3) / 2},
        advice="type (.+), and give",
        whole="-",
        altered="np.save('model.npy', -scores)",
        then="run('recmetrics evaluate model.npy truth.npy -m mrr --json')",
    ),
    Case(
        "in Python, type {}.write_parquet({}), and give that file",
        TABLES.format("user,item") + "polars.read_csv('recs.csv').write_ndjson('recs.jsonl')\n"
        "polars.read_csv('liked.csv').with_columns(score=1).write_ndjson('liked.jsonl')\n",
        "run('recmetrics evaluate recs.jsonl liked.csv -m mrr --json')",
        {"mrr": (1 / 2 + 1 / 1) / 2},
        advice="type (.+), and give",
        whole="-",
        altered="polars.read_ndjson('liked.jsonl').write_parquet('recs.parquet')",
        then="run('recmetrics evaluate recs.parquet liked.csv -m mrr --json')",
    ),
    Case(
        "for values of one model, in Python, type",
        TABLES.format("user,item") + "import polars\nfrom recmetrics.tables import evaluate_table\n"
        "evaluate_table('recs.csv', 'liked.csv', 'mrr', per_user='new.parquet')\n"
        "Path('old.csv').write_text('user,mrr\\na,0.25\\nb,0.5\\n')\n",
        "run('recmetrics compare old.csv new.parquet')",
        (1 / 4 + 1 / 2) / 2,
        advice="in Python, type (.+) and give",
        whole="",
        altered="polars.read_csv('old.csv').write_csv('new.csv')",
        then="run('recmetrics compare new.csv old.csv --baseline old --json')['differences'][0]"
        "['difference']",
    ),
    Case(
        "cli/_command.py: ; for {}, in Python, type",
        TABLES.format("user,item") + "from recmetrics.tables import evaluate_table\n"
        "Path('items.csv').write_text('item,u,v\\nx,1,0\\ny,0,2\\n')\n",
        "run('recmetrics evaluate recs.csv liked.csv -m diversity@2 --features items.csv')",
        1 - 0,
        advice="in Python, type (.+)$",
        blank="'diversity@2'",
        whole="",
        altered="evaluate_table('recs.csv', 'liked.csv', 'popularity@2', popularity='recs.csv')"
        ".rename({'popularity@2': 'diversity@2'})",
        then="answer['diversity@2'][0]",
    ),
    Case(
        "in Python, type evaluate_table({}, {}, ..., by='model')",
        TABLES.format("user,item") + "from recmetrics.tables import evaluate_table\n"
        "Path('recs.csv').write_text('user,item,score,model\\na,x,2,m\\na,y,1,m\\na,y,2,n\\n')\n"
        "Path('liked.csv').write_text('user,item\\na,y\\n')\n",
        "run('recmetrics evaluate recs.csv liked.csv -m mrr')",
        [1 / 2, 1 / 1],
        advice=r"in Python, type (.+) if the column",
        blank="'mrr'",
        whole="",
        altered="evaluate_table('recs.csv', 'liked.csv', 'mrr', repeats='drop')",
        then="answer['mrr'].to_list()",
    ),
    Case(
        "for a user and items type --lines lists",
        FILES + "Path('truth.txt').write_text('0 1 2 0\\n1 0 2 1\\n')",
        EVALUATE.replace("mrr", "recall(denom=relevant)@1"),
        {"recall(denom=relevant)@1": 1 / 3},
        altered="--lines triples",
    ),
    Case(
        "is already on line {}; in lists",
        FILES + "Path('truth.txt').write_text('0 1 1\\n0 2 1\\n1 0 1\\n')",
        EVALUATE.replace("--json", "--json --lines lists"),
        {"mrr": (1 / 2 + 1 / 3) / 2},
        altered="--lines lists",
    ),
    Case(
        "; type recmetrics evaluate {} TRUTH",
        TABLES.format("user,item"),
        "run('recmetrics evaluate recs.csv -m mrr --json --repeats drop')",
        {"mrr": (1 / 2 + 1) / 2},
        blank="liked.csv",
        altered="recmetrics evaluate liked.csv recs.csv",
    ),
    Case(
        "; to write JSON to a file type",
        FILES,
        "run('recmetrics evaluate scores.npy truth.npy -m mrr --json means.json')",
        {"mrr": (1 / 2 + 1 / 3) / 2},
        into="run('recmetrics evaluate scores.npy truth.npy -m mrr')",
        altered="--json > other.json",
        then="{each['metric']: each['mean'] for each in "
        "__import__('json').loads(Path('means.json').read_text())['means']}",
    ),
    Case(
        "--gate; type --gate RULE",
        VALUES,
        "run('recmetrics compare old.csv new.csv --json --min-users 2')",
        ["mrr >= 0"],
        advice="type (.+) as well",
        blank='"mrr >= 0"',
        altered='--gate "mrr >= -1%"',
        then="answer['gate']['rules']",
    ),
    Case(
        "type -m {}",
        VALUES + "np.savez('one.npz', mrr=[0.0, 0.5], **{'hit@1': [1.0, 0.0]})\n"
        "np.savez('two.npz', mrr=[0.5, 0.5])\n",
        "run('recmetrics compare one.npz two.npz --json')",
        [["mrr", 1 / 4]],
        advice="type (-m .+)$",
        altered="-m hit@1",
        then="[[each['metric'], each['difference']] for each in answer['differences']]",
    ),
    Case(
        "the compact table; type --compact",
        VALUES,
        "run('recmetrics compare old.csv new.csv --digits 2')",
        True,
        advice="type (.+) as well",
        altered="--no-plot",
        then="'0.75' in answer and '0.750' not in answer",
    ),
    Case(
        "is the name of FILE {} and of a FILE",
        VALUES + "word = 'new.csv'",
        "run(f'recmetrics compare old.csv new=a.csv {word} --json')",
        ["new", "old"],
        advice="type (.+) if",
        to="word",
        quoted=True,
        altered="other=new.csv",
        then="sorted({each['model'] for each in answer['means']})",
    ),
    Case(
        "_files/table_files.py: type {}",
        TABLES.format("uid,movie_id"),
        "run('recmetrics evaluate recs.csv liked.csv -m mrr --json')",
        {"mrr": (1 / 2 + 1) / 2},
        altered="--user uid --item uid",
    ),
]
