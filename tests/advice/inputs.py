"""Advice on scores, truth, rankings, groups and side information."""

from advice import Case
from advice.problem import BOTH, MRR, RANKED, RANKING, SCORES, TRUTH

COMPUTE = "Metrics.compute(scores, truth, 'mrr')"
COMPUTE_RANKED = "Metrics.compute_ranked(ranking, truth, 'mrr')"
COMPUTE_FACTORS = "Metrics.compute_factors(user_factors, item_factors, truth, 'mrr')"
GROUPS = "Metrics.compute_groups(scores, relevance, 'mrr', sizes=[3, 3])"
FLAT = (
    "scores = np.array([3.0, 2.0, 1.0, 1.0, 3.0, 2.0])\nrelevance = np.array([0, 1, 0, 1, 0, 0])\n"
)
# Scores as a model gives them in training.
LEARNT = "import torch\nscores = torch.tensor(scores, requires_grad=True)\n"
NOVELTY = "Metrics.compute(scores, truth, 'novelty@2', popularity=popularity)"
# A ragged array of Awkward, as far as it is looked at.
RAGGED = (
    "class Ragged:\n"
    "    def __init__(self, lists):\n"
    "        self.to_list = lambda: lists\n"
    "    def __len__(self):\n"
    "        return len(self.to_list())\n"
    "    def __array__(self, dtype=None, copy=None):\n"
    "        raise ValueError('subarray lengths are not regular')\n"
)
# Sparse arrays of other libraries: PyData, and JAX by rows and by entries.
SPARSE = (
    "import scipy.sparse\n"
    "class Sparse:\n"
    "    def __init__(self, array):\n"
    "        self.shape = array.shape\n"
    "        self.set(scipy.sparse.csr_array(array))\n"
    "    def set(self, csr):\n"
    "        self.to_scipy_sparse = lambda: csr\n"
    "class Rows(Sparse):\n"
    "    def set(self, csr):\n"
    "        self.data, self.indices, self.indptr = csr.data, csr.indices, csr.indptr\n"
    "        self.nse = self.to_bcoo = None\n"
    "class Entries(Sparse):\n"
    "    def set(self, csr):\n"
    "        self.data, self.indices = csr.data, np.transpose(csr.tocoo().coords)\n"
    "        self.nse = None\n"
)
# The scores as products: user 0 takes the first column of the items, user 1 the second.
FACTORS = (
    "user_factors = np.array([[1.0, 0.0], [0.0, 1.0]])\n"
    "item_factors = np.array([[3.0, 1.0], [2.0, 3.0], [1.0, 2.0]])\n"
)
# Tensors that say they are on a GPU, until they are brought to the CPU.
ON_GPU = (
    "import torch\n"
    "class OnGpu(torch.Tensor):\n"
    "    def __dlpack_device__(self):\n"
    "        return (2, 0)\n"
    "    def cpu(self):\n"
    "        return self.as_subclass(torch.Tensor)\n"
)

FIRST = "scores = np.zeros(20)\nrelevance = np.tile([1, 0], 10)\nsizes = [2] * 10\n"
PAIRS = [
    Case(
        "which stands first and so ranks above them",
        FIRST,
        "Metrics.compute_groups(scores, relevance, 'mrr', sizes=sizes)",
        {"mrr": [(1 + 1 / 2) / 2] * 10},
        advice="type (ties=.+)",
        altered="ties='best'",
    ),
    Case(
        "ranking is a pair of scores and ids",
        "truth = [[1], [2]]\n"
        "ranking = np.array([[3.0, 2.0], [3.0, 2.0]]), np.array([[0, 1], [2, 0]])\n",
        COMPUTE_RANKED,
        {"mrr": [1 / 2, 1 / 1]},
        altered="np.zeros((2, 2), int)",
    ),
    Case(  # a list, as JAX returns it
        "ranking is a pair of scores and ids",
        "truth = [[1], [2]]\n"
        "ranking = [np.array([[3.0, 2.0], [3.0, 2.0]]), np.array([[0, 1], [2, 0]])]\n",
        COMPUTE_RANKED,
        {"mrr": [1 / 2, 1 / 1]},
        altered="np.zeros((2, 2), int)",
    ),
    Case(
        "; for one user type [ranking[0]]",
        "truth = [[1]]\nranking = np.array([0, 1]), np.array([3.0, 2.0])\n",
        COMPUTE_RANKED,
        {"mrr": [1 / 2]},
        altered="[[1, 0]]",
    ),
    Case(
        "has a higher score at rank {} than before",
        "truth = [[1], [2]]\n"
        "ranking = np.array([[0, 1], [2, 0]]), np.array([[0.1, 0.4], [0.2, 0.3]])\n",
        COMPUTE_RANKED,
        {"mrr": [1 / 2, 1 / 1]},
        altered="ranking[0][:, ::-1]",
    ),
    Case(
        "has NaN at rank {}; expected numbers; type ranking[0]",
        "truth = [[1], [2]]\n"
        "ranking = np.array([[0, 1], [2, 0]]), np.array([[0.9, np.nan], [0.9, 0.8]])\n",
        COMPUTE_RANKED,
        {"mrr": [1 / 2, 1 / 1]},
        altered="ranking[0][:, ::-1]",
    ),
]
ARRAYS = [
    Case(
        "; type torch.stack({}) for rows",
        BOTH + "import torch\nscores = list(torch.tensor(scores).bfloat16())",
        COMPUTE,
        MRR,
    ),
    Case("matrices, expected one; type", BOTH + "scores = [scores[:1], scores[1:]]", COMPUTE, MRR),
    Case(
        "matrices, expected one; type",
        BOTH + "import torch\nscores = list(torch.tensor(scores).split(1))",
        COMPUTE,
        MRR,
    ),
    Case(
        "matrices, expected one; type",
        BOTH + "import scipy.sparse\nscores = [scipy.sparse.csr_array([row]) for row in scores]",
        COMPUTE,
        MRR,
    ),
    Case(
        "; to exclude the items of each matrix type sum(exclude)",
        BOTH
        + "import scipy.sparse\n"
        + "train = scipy.sparse.csr_array([[1, 0, 0], [0, 0, 0]])\n"
        + "valid = scipy.sparse.csr_array([[0, 0, 0], [0, 1, 0]])\n"
        + "exclude = [train, valid]\n",
        "Metrics.compute(scores, truth, 'mrr', exclude=exclude)",
        {"mrr": [1 / 1, 1 / 2]},
        advice=r"matrix type (sum\(exclude\))",
        altered="exclude[0]",
    ),
    Case(
        "; if it has one item for each user, -1 for none, type",
        BOTH + "exclude = np.array([0, -1])",
        "Metrics.compute(scores, truth, 'mrr', exclude=exclude)",
        {"mrr": [1.0, 1 / 3]},
        advice="none, type (.+)",
        altered="[[1], []]",
    ),
    Case(
        "a user; type {}.{} to add them",
        "import torch\ntruth = [[1], [0]]\n"
        "scores = torch.sparse_coo_tensor([[0, 0, 0, 1], [0, 1, 1, 0]], [1.0, 0.6, 0.6, 1.0], "
        "(2, 3), check_invariants=False)",
        "Metrics.compute(scores, truth, 'mrr')",
        {"mrr": [1.0, 1.0]},
        advice="type (.+) to add",
    ),
    Case(
        "relevant item, got a matrix; type ranks.data",
        BOTH + "ranks = Metrics.ranks(scores, truth)",
        "Metrics.from_sampled(ranks, 'mrr', n_sampled=2, n_items=3)",
        {"mrr": [1 / 2, 1 / 3]},
    ),
    Case(
        "for lists of items type stream",
        SCORES + "import torch\nstream = StreamEvaluator('mrr'); truth = [1, 0]\n"
        "scores = torch.tensor(scores).topk(3)",
        "stream.update(scores, truth)",
        {"mrr": (1 / 2 + 1 / 3) / 2},
        whole="-",
        altered="stream.update_ranked(scores.indices, [0, 0])",
        then="stream.mean()",
    ),
    Case(
        "of the outputs of the model; type hook",
        SCORES + "from types import SimpleNamespace\nhook = StreamEvaluator('mrr').hook\n"
        "prediction = SimpleNamespace(predictions=(scores, -scores), label_ids=np.array([1, 0]))",
        "hook()(prediction)",
        {"mrr": (1 / 2 + 1 / 3) / 2},
        advice="type (.+), with the",
        whole="-",
        altered="hook(lambda p: (p.predictions[1], p.label_ids))",
        then="answer(prediction)",
    ),
    Case(
        "for a dict of ids type",
        "from recmetrics import tables\n"
        "metrics_list = 'mrr'\n"
        "recs = {'a': ['x', 'y'], 'b': ['x']}\n"
        "truth = {'a': ['y'], 'b': ['x']}\n",
        "Metrics.compute(recs, truth, metrics_list)",
        [1 / 2, 1.0],
        whole="",
        then="list(answer['mrr'])",
        altered="recmetrics.tables.evaluate_table(truth, recs, metrics_list)",
    ),
    *(
        Case(
            "beside an array with a row for each user",
            BOTH + f"n_users = 2\n{changed}\n",
            call,
            value,
            advice=r"\.\.\. type (.+)$",
            altered="[[2], [2]]",
        )
        for changed, call, value in (
            ("truth = {1: [0], 0: {1}}", COMPUTE, MRR),
            (
                "truth = {1: [0], 0: [1]}",
                "Metrics.compute_ranked([[0, 1], [1, 2, 0]], truth, 'mrr')",
                MRR,
            ),
            (
                "exclude = {1: [1]}",
                "Metrics.compute(scores, truth, 'mrr', exclude=exclude)",
                {"mrr": [1 / 2, 1 / 2]},
            ),
            (
                "truth = {1: [0]}; user_factors = np.eye(2); item_factors = scores.T",
                COMPUTE_FACTORS,
                {"mrr": [float("nan"), 1 / 3]},
            ),
        )
    ),
    Case(
        "beside an array with a row for each user",
        BOTH + "n_users = 2\ntruth = {1: [0], 0: [1]}\n",
        "Evaluator(truth, 'mrr', n_items=3)",
        [1 / 2, 1 / 3],
        advice=r"\.\.\. type (.+)$",
        altered="[[2], [2]]",
        then="answer.update(scores) or list(answer.compute()['mrr'])",
    ),
    Case(
        "scores is a list of dicts",
        "from recmetrics import tables\n"
        "metrics_list = 'mrr'\n"
        "scores = [{1: 8.0, 3: 9.0}, {0: 7.0}]; truth = [{1: 1.0}, {0: 4.0}]\n",
        "Metrics.compute(scores, truth, metrics_list)",
        [1 / 2, 1.0],
        whole="",
        then="list(answer['mrr'])",
        altered="recmetrics.tables.evaluate_table(dict(enumerate(truth)), dict(enumerate(scores)), "
        "metrics_list)",
    ),
    Case(
        "for tables of ids type",
        "import pandas as pd\n"
        "from recmetrics import tables\n"
        "metrics_list = 'mrr'\n"
        "recs = pd.DataFrame({'user': ['a', 'a', 'b'], 'item': ['x', 'y', 'x'], 'rank': [1, 2, "
        "1]})\n"
        "truth = pd.DataFrame({'user': ['a', 'b'], 'item': ['y', 'x']})\n",
        "Metrics.compute(recs, truth, metrics_list)",
        [1 / 2, 1.0],
        whole="",
        then="list(answer['mrr'])",
        altered="recmetrics.tables.evaluate_table(truth, recs, metrics_list)",
    ),
    Case(
        "{} is on the device {}, expected an array on the CPU",
        BOTH + ON_GPU + "truth = torch.tensor(truth).as_subclass(OnGpu)",
        COMPUTE,
        MRR,
    ),
    Case(
        "{} is on the device {}, expected an array on the CPU",
        SCORES
        + ON_GPU
        + "truth = [torch.tensor(items).as_subclass(OnGpu) for items in ([1], [0])]",
        COMPUTE,
        MRR,
    ),
    Case(
        "{} is on the device {}, expected an array on the CPU",
        BOTH + "class OfJax:\n"
        "    def __dlpack_device__(self):\n"
        "        return (2, 0)\n"
        "    def __dlpack__(self, **_):\n"
        "        raise BufferError\n"
        "    def __array__(self, dtype=None, copy=None):\n"
        "        return np.array([[0, 1, 0], [1, 0, 0]])\n"
        "truth = OfJax()",
        COMPUTE,
        MRR,
    ),
    Case(
        "for one user type {}",
        BOTH + "scores = scores[0]; truth = truth[:1]",
        COMPUTE,
        {"mrr": [1 / 2]},
    ),
    Case(
        "for one user type {}",
        BOTH + f"{LEARNT}scores = scores[0]; truth = truth[:1]",
        COMPUTE,
        {"mrr": [1 / 2]},
    ),
    Case(
        "; indices begin at 0: if these begin at 1 type",
        SCORES + "truth = [[2], [1, 3]]",
        "Metrics.compute(scores, truth, 'recall(denom=relevant)@2')",
        {"recall(denom=relevant)@2": [1.0, 1 / 2]},
        altered="truth",
    ),
    Case(
        "; indices begin at 0: if these begin at 1 type",
        SCORES + "truth = np.array([2, 3])",
        COMPUTE,
        {"mrr": [1 / 2, 1 / 2]},
    ),
    Case(
        "; indices begin at 0: if these begin at 1 type",
        TRUTH + "ranking = np.array([[1, 2, 3], [2, 3, 1]])",
        "Metrics.compute_ranked(ranking, truth, 'mrr')",
        MRR,
    ),
    Case(
        "{} is a masked array, whose mask would be lost; expected a plain array",
        BOTH + "scores = np.ma.masked_equal(scores, 3.0)",
        COMPUTE,
        {"mrr": [1.0, 1 / 2]},
        advice=r"type (.+) with the value",
        blank="0.0",
        altered="scores.filled(4.0)",
    ),
    Case(
        "{} is sparse ({}), expected a dense array",
        FACTORS + TRUTH + "user_factors = sp.csr_array(user_factors)",
        COMPUTE_FACTORS,
        MRR,
    ),
    Case(
        "expected a dense array; type {}",
        # Before SciPy 1.13, these are matrices of one row.
        SCORES + "import pytest; scipy = pytest.importorskip('scipy', '1.13')\n"
        "truth = [sp.coo_array([0, 1, 0]), sp.coo_array([1, 0, 0])]",
        COMPUTE,
        MRR,
    ),
    Case(
        "for the only number of each item type",
        BOTH + "truth = truth[:, :, np.newaxis]",
        COMPUTE,
        MRR,
    ),
    Case(
        "for the last position of each sequence type",
        SCORES + "scores = np.stack([scores, scores[:, ::-1]], axis=1); truth = np.array([1, 0])",
        COMPUTE,
        {"mrr": [1 / 2, 1 / 2]},
        advice="type (.+?), for every",
    ),
    Case(
        "for the last position of each sequence type",
        SCORES + "scores = np.stack([scores, scores[:, ::-1]], axis=1); "
        "target = np.array([[1, 1], [0, 0]])",
        "Metrics.compute(scores, target.reshape(-1), 'mrr')",
        {"mrr": [1 / 2, 1 / 2, 1 / 3, 1 / 2]},
        advice=r"for every one (.+) with target\.reshape\(-1\)",
    ),
    Case(
        "; type {}.astype(np.float32)",
        BOTH + "import ml_dtypes\nscores = scores.astype(ml_dtypes.float8_e4m3fn)",
        COMPUTE,
        MRR,
    ),
    Case(
        "expected a collection of item indices; type [] for",
        SCORES + "truth = [[1], None]",
        "Metrics.compute(scores, truth, 'hit@2')",
        {"hit@2": [1.0, float("nan")]},
        advice=r"type (\S+) for",
        to="truth[1]",
        altered="0",
    ),
    Case(
        "; for one row or column type {}",
        SCORES + "truth = [np.array([[1]]), np.array([[0]])]",
        COMPUTE,
        MRR,
    ),
    Case(
        "for items in {}] if each is an item and its number",
        "ranking = [[(3, 9), (1, 8)], [(0, 7), (2, 5)]]; truth = [[1], [2]]",
        COMPUTE_RANKED,
        {"mrr": [1 / 2, 1 / 2]},
        advice="type (.+) if each",
        altered="[np.ravel(items) for items in ranking]",
    ),
    Case(
        "for items in {}] if each is an item and its number",
        "ranking = [np.array([[3, 0.9], [1, 0.8]]), [(0, 0.7)]]; truth = [[1], [0]]",
        COMPUTE_RANKED,
        {"mrr": [1 / 2, 1.0]},
        advice="type (.+) if each",
        altered="[np.ravel(items) for items in ranking]",
    ),
    Case(
        "for items in {}] if each is an item and its number",
        SCORES + "truth = [[(1, 2.0)], [(0, 0.5)]]",
        COMPUTE,
        MRR,
        advice="type (.+) if each",
        altered="[[0], [1]]",
    ),
    Case(
        "for items in {}] if each is an item and its number",
        BOTH + "exclude = [[(0, 1)], []]",
        "Metrics.compute(scores, truth, 'mrr', exclude=exclude)",
        {"mrr": [1.0, 1 / 3]},
        advice="type (.+) if each",
        altered="[np.ravel(items) for items in exclude]",
    ),
    Case(
        "{} is a list of dicts",
        "ranking = [{1: 8.0, 3: 9.0}, {0: 7.0}]; truth = [[1], [0]]",
        COMPUTE_RANKED,
        {"mrr": [1 / 2, 1.0]},
        altered="[list(items) for items in ranking]",
    ),
    Case(
        "{} is a list of dicts",
        BOTH + "import pandas as pd; exclude = pd.Series([{0: 1.0}, {}])",
        "Metrics.compute(scores, truth, 'mrr', exclude=exclude)",
        {"mrr": [1.0, 1 / 3]},
        altered="[[], []]",
    ),
    Case(
        "{} is a list of dicts",
        SCORES + "truth = [{1: 5.0}, {0: 4.0}]",
        COMPUTE,
        MRR,
        altered="[[0], [1]]",
    ),
    Case(
        "type {} if these are indices",
        SCORES + "truth = np.array([1, 0]); candidates = np.array([0.0, 1.0])",
        "Metrics.compute(scores, truth, 'mrr', candidates=candidates)",
        {"mrr": [1 / 2, 1 / 2]},
    ),
    Case(
        "type {} if these are indices",
        TRUTH + "ranking = [np.array([0.0, 1.0]), np.array([1.0, 0.0])]",
        COMPUTE_RANKED,
        {"mrr": [1 / 2, 1 / 2]},
    ),
    Case(
        "astype(np.int64) if NaN ends a list",
        TRUTH + "ranking = np.array([[0.0, 1.0, 2.0], [0.0, np.nan, np.nan]])",
        COMPUTE_RANKED,
        {"mrr": [1 / 2, 1]},
    ),
    Case(
        "to leave out NaN",
        TRUTH + "ranking = [np.array([0.0, 1.0]), np.array([0.0, np.nan])]",
        COMPUTE_RANKED.replace("ranking,", "ranking[::-1], ").replace("truth", "truth[::-1]"),
        {"mrr": [1, 1 / 2]},
        advice=r"; type (\S.+) to leave",
    ),
    Case(
        "if NA ends a list",
        "import pandas\n" + TRUTH + "ranking = np.array([[0, 1], [0, None]])",
        COMPUTE_RANKED,
        {"mrr": [1 / 2, 1]},
    ),
    Case(
        "type {}.fillna(-1).astype(int) if NaN",
        "import pandas\n"
        + TRUTH
        + "ranking = pandas.DataFrame([[0, 1], [0, None]], dtype='Int64')",
        COMPUTE_RANKED,
        {"mrr": [1 / 2, 1]},
    ),
    Case(
        "to leave out None",
        TRUTH + "ranking = [[0, 1], [0, None]]",
        COMPUTE_RANKED,
        {"mrr": [1 / 2, 1]},
        advice=r"; type (\S.+) to leave",
    ),
    Case(
        "; if an index below 0 is no item type",
        SCORES + "truth = [[1, -100], [-100]]",
        COMPUTE,
        {"mrr": [1 / 2, float("nan")]},
    ),
    Case("inputs/arrays.py: type {}", BOTH + "scores = scores.astype(str)", COMPUTE, MRR),
    Case(
        "inputs/arrays.py: type {}",
        BOTH + "scores = scores + 1j * scores[:, ::-1]",
        COMPUTE,
        MRR,
        advice="complex128; type (.+?) or ",
    ),
    Case(
        "inputs/arrays.py: type {}",
        BOTH + "scores = scores + 1j * scores[:, ::-1]",
        COMPUTE,
        {"mrr": [1 / 3, 1 / 2]},
        advice=r"\) or (.+?), ",
    ),
    Case(
        "arrays.py: ; type {}",
        BOTH + "import torch\ntruth = torch.tensor(truth).to_sparse(1)",
        COMPUTE,
        MRR,
    ),
    Case(
        "arrays.py: ; type {}",
        BOTH + "import torch\ntruth = torch.tensor(truth).to(torch.float8_e4m3fn)",
        COMPUTE,
        MRR,
    ),
    Case(
        "arrays.py: ; type {}",
        SCORES + "import torch\nitems = [torch.tensor([1]), torch.tensor([0, 2])]\n"
        "truth = torch.nested.nested_tensor(items, layout=torch.jagged)",
        "Metrics.compute(scores, truth, 'recall(denom=relevant)@2')",
        {"recall(denom=relevant)@2": [1 / 1, 1 / 2]},
    ),
    Case(
        "with rows of several lengths, expected",
        SCORES + RAGGED + "truth = Ragged([[1], [0, 2]])",
        "Metrics.compute(scores, truth, 'recall(denom=relevant)@2')",
        {"recall(denom=relevant)@2": [1 / 1, 1 / 2]},
    ),
    Case(
        "with rows of several lengths, expected",
        TRUTH + RAGGED + "ranking = Ragged([[0, 1], [0]])",
        COMPUTE_RANKED,
        {"mrr": [1 / 2, 1 / 1]},
    ),
    *(
        Case(
            "expected one of SciPy, or a dense array; type",
            BOTH + SPARSE + f"{name} = {sparse}({name})",
            COMPUTE,
            MRR,
        )
        for name in ("truth", "scores")
        for sparse in ("Sparse", "Rows", "Entries")
    ),
]

INDICES = [
    Case(
        "to drop the repeats type",
        SCORES + "truth = [[1, 1], [0]]",
        "Metrics.compute(scores, truth, 'recall(denom=relevant)@2')",
        {"recall(denom=relevant)@2": [1.0, 0.0]},
    ),
    Case(
        "to drop the repeats type",
        SCORES + "truth = [[1, 1, -1], [0, -1]]",
        "Metrics.compute(scores, truth, 'recall(denom=relevant)@2')",
        {"recall(denom=relevant)@2": [1.0, 0.0]},
    ),
    Case(
        "to drop the repeats type",
        SCORES + "truth = [np.array([0, 1, 0]), np.array([1, 0, 0])]",
        COMPUTE,
        MRR,
        advice=r", or (.+) if this is a matrix",
    ),
    Case(
        "to drop the repeats type",
        BOTH + "candidates = [0, 1, 1]",
        "Metrics.compute(scores, truth, 'mrr', candidates=candidates)",
        {"mrr": [1 / 2, 1 / 2]},
    ),
    Case(
        "to drop the repeats type",
        BOTH + "candidates = [0, 1, 1]",
        "Metrics.compute(scores, truth, 'mrr', candidates=candidates)",
        {"mrr": [1.0, 0.0]},
        advice=", or (.+) if this is a mask",
    ),
    Case(
        "type list({}) for indices, {}.astype(float)",
        RANKING + "truth = np.array([[1, 2], [0, 2]])",
        "Metrics.compute_ranked(ranking, truth, 'recall@2')",
        {"recall@2": [1 / 2, 1 / 2]},
    ),
    Case(
        "type list({}) for indices, {}.astype(float)",
        "ranking = [[0, 1], [1, 0]]\ntruth = np.array([[0, 2], [2, 0]])",
        "Metrics.compute_ranked(ranking, truth, 'mrr')",
        {"mrr": [1 / 2, 1 / 2]},
        advice="for indices, (.+) for relevances",
    ),
    Case(
        "{} is ambiguous: it may hold item indices or be",
        BOTH + "candidates = [[0, 2, 1], [1, 2, 0]]",
        "Metrics.compute(scores, truth, 'mrr', candidates=candidates)",
        MRR,
        advice="type (.+) for indices",
    ),
    Case(
        "{} is ambiguous: it may hold item indices or be",
        BOTH + "candidates = [[0, 2, 1], [1, 2, 0]]",
        "Metrics.compute(scores, truth, 'mrr', candidates=candidates)",
        {"mrr": [1.0, 1 / 2]},
        advice="or (np.+) for a matrix",
    ),
    Case(
        "; type np.maximum({}, -1)",
        SCORES + "truth = np.array([-100, 0])",
        COMPUTE,
        {"mrr": [float("nan"), 1 / 3]},
    ),
    Case(
        "; type np.maximum({}, -1)",
        SCORES + "import torch\ntruth = torch.tensor([-100, 0])",
        COMPUTE,
        {"mrr": [float("nan"), 1 / 3]},
    ),
    Case(
        "; for one user type [ranking]",
        RANKED + "ranking = ranking[0]; truth = truth[:1]",
        COMPUTE_RANKED,
        {"mrr": [1 / 2]},
    ),
    Case(
        "the {} of {} should be {}, in that order, since tables are",
        "import pandas as pd\n"
        "scores = pd.DataFrame([[3.0, 2.0, 1.0], [1.0, 3.0, 2.0]], ['u', 'v'], ['x', 'y', 'z'])\n"
        "truth = pd.DataFrame([[1, 0], [0, 1]], ['v', 'u'], ['x', 'y'])\n"
        "truth['w'] = 0",
        COMPUTE,
        MRR,
    ),
    Case(
        "{} lists the items of {} users",
        SCORES + "truth = {0: [1]}",
        "Metrics.compute(scores, [*truth.values()], 'hit@2')",
        {"hit@2": [1.0, float("nan")]},
        advice=r"type (\S+) for",
        to="truth[1]",
        altered="[0]",
    ),
]

# Tables of users and items with numbers, in another order than an array beside them has.
PERMUTED = [
    Case(
        "has the numbers from 0 in another order as its {}",
        f"import pandas, polars, pyarrow\n{BOTH}exclude = [[0], [1]]\n{name} = {table}",
        "Metrics.compute(scores, truth, 'mrr', exclude=exclude)",
        {"mrr": [1, 1 / 2]},
        altered=f"np.asarray({name})",
    )
    for name, table in (
        ("scores", "pandas.DataFrame(scores)[[1, 0, 2]]"),
        ("scores", "polars.DataFrame(scores, ['0', '1', '2'])['1', '0', '2']"),
        (
            "scores",
            "pyarrow.Table.from_pandas(pandas.DataFrame(scores, columns=[*'012'])[[*'102']])",
        ),
        ("truth", "pandas.DataFrame(truth)[::-1]"),
        ("truth", "pandas.DataFrame(truth, ['0', '1'])[::-1]"),
        ("truth", "pandas.Series([0, 1], [1, 0])"),
        ("truth", "pandas.Series([[0], [1]], [1, 0])"),
        ("exclude", "pandas.DataFrame([[1, 0, 0], [0, 1, 0]])[[1, 0, 2]]"),
    )
]

# A user and an item in each row: the relevant items have the ranks 2, 4 and 2.
LEFT_OUT = (
    "scores = np.array([[3.0, 2.0, 1.0, 0.0], [0.0, 1.0, 2.0, 3.0], [1.0, 0.0, 3.0, 2.0]])\n"
    "ranking = np.argsort(-scores)\n"
    "pairs = np.array([[0, 1], [1, 0], [2, 3]])\n"
)
OF_PAIRS = {"mrr": [1 / 2, 1 / 4, 1 / 2]}
ROWS = [
    *(
        Case(
            says,
            LEFT_OUT + given,
            call,
            OF_PAIRS,
            advice="and an item type (.+?)(?:;|, if not|$)",
            altered=altered,
        )
        for says, given, call, altered in (
            ("a user and an item type {}; {}", "truth = pairs", COMPUTE, "list(truth)"),
            ("a user and an item type {}; {}", "truth = pairs[[1, 2, 0]]", COMPUTE, "truth[:, 1]"),
            (
                "; if each row is a user and an item type {}",
                "truth = pairs",
                COMPUTE_RANKED,
                "list(truth)",
            ),
            (
                "is a list of pairs, of which each is read as the two items",
                "truth = [(1, 0), (2, 3), (0, 1)]",
                COMPUTE,
                "[item for _, item in truth]",
            ),
        )
    ),
    *(
        Case(
            says,
            LEFT_OUT + f"exclude = {given}; truth = [2, 2, 0]",
            "Metrics.compute(scores, truth, 'mrr', exclude=exclude)",
            {"mrr": [1 / 2, 1 / 2, 1 / 2]},
            advice="and an item type (.+?)(?:;|, if not|$)",
            altered="[[0], [3], [1]]",
        )
        for says, given in (
            ("a user and an item type {}; {}", "pairs"),
            ("is a list of pairs, of which each is read as the two items", "[*map(tuple, pairs)]"),
        )
    ),
    Case(
        "is a list of pairs, of which each is read as the two items",
        LEFT_OUT + "truth = [(0, 1), (1, 0), (2, 3)]",
        "Metrics.compute(scores, truth, 'recall(denom=relevant)@2')",
        {"recall(denom=relevant)@2": [1, 0, 1]},
        advice="if not (.+)$",
        altered="[1, 0, 3]",
    ),
]

FRAMES = [
    *(
        Case(
            "is a table with lists in the column",
            RANKED + f"import pandas, polars, pyarrow\nranking = {table}",
            COMPUTE_RANKED,
            MRR,
            altered="ranking['items'][::-1]",
        )
        for table in (
            "pandas.DataFrame({'items': ranking})",
            "polars.DataFrame({'user': ['u', 'v'], 'items': ranking})",
            "pyarrow.table({'items': ranking})",
        )
    ),
    Case(
        "is a table with lists in the column",
        BOTH + "import polars; scores = polars.DataFrame({'scores': scores.tolist()})",
        COMPUTE,
        MRR,
    ),
    *(
        Case(
            "{} holds a list for each {}, expected an array",
            BOTH + f"import pandas, polars, pyarrow\nscores = {column}(scores.tolist())",
            COMPUTE,
            MRR,
            advice="for a matrix type (.+)$",
        )
        for column in ("pandas.Series", "polars.Series", "pyarrow.array")
    ),
    Case(
        "{} is a LazyFrame",
        BOTH + "import polars; scores = polars.DataFrame(scores).lazy()",
        COMPUTE,
        MRR,
    ),
    *(
        Case(
            "; type {}.astype(float)",
            BOTH + f"import pandas; scores = pandas.DataFrame(scores).astype({dtype!r})",
            COMPUTE,
            MRR,
            altered="scores.astype(object)",
        )
        for dtype in ("object", "category")
    ),
    *(
        Case(
            "for the names of the genres type",
            BOTH
            + f"import pandas; genres = {genres}\n"
            + "profile = np.array([[1, 0, 0], [0, 1, 0]])",  # the items that are recommended
            "Metrics.compute(scores, truth, 'calibration@1', genres=genres, profile=profile)",
            {"calibration@1": [0, 0]},
        )
        for genres in (
            "['old', 'new|old', 'new']",
            "[['old'], ['new', 'old'], []]",
            "pandas.Series([['old'], ['new', 'old'], ['new']])",
            "[['old'], ['new'], ['new']]",
        )
    ),
    *(
        Case(
            "for the rankings of a search type",
            BOTH + f"metrics_list = 'mrr'\nscores = {pair}",
            COMPUTE,
            MRR,
            whole="-",
            altered="Metrics.compute_ranked([[1, 0, 2], [0, 1, 2]], truth, metrics_list)",
        )
        for pair in (
            "-np.sort(-scores), np.argsort(-scores)",
            "np.argsort(-scores), -np.sort(-scores)",
        )
    ),
]
LISTS = [
    *(
        Case(
            "[[row[{}] for row in rows] for rows",
            f"ranking = [[1, 0], [0, 1]]\ntruth = [[1], [1]]\n{given}",
            COMPUTE_RANKED,
            {"mrr": [1, 1 / 2]},
            advice=r"type (.+?)(?:;|$)",
        )
        for given in (
            "ranking = [[{'item': item, 'score': -item} for item in items] for items in ranking]",
            "truth = [[{'item_id': 1, 'rating': 5.0}], [{'item_id': 1, 'rating': 3.0}]]",
        )
    ),
    *(
        Case(
            says,
            f"import pandas, polars\n{BOTH}nan = np.nan\n{given}",
            "Metrics.compute(scores, truth, 'mrr', exclude=exclude)",
            {"mrr": [1, 1 / 2]},
            advice="; type (.+) to leave",
            altered="[[], []]",
        )
        for says, given in (
            ("type {} to leave out NaN", "truth = [[1], [0, nan]]; exclude = [[0], [1]]"),
            ("type {} to leave out NaN", "exclude = [[0.0], [1, nan]]"),
            ("type {} to leave out NaN", "exclude = polars.Series([[0, None], [1]])"),
            ("type {} to leave out None", "exclude = [[0], [1, None]]"),
            ("type {} to leave out NA", "exclude = [[0], [1, pandas.NA]]"),
        )
    ),
    Case(
        "type {} to leave out NaN",
        BOTH + "candidates = [[0, 1], [0, np.nan]]",
        "Metrics.compute(scores, truth, 'mrr', candidates=candidates)",
        {"mrr": [1 / 2, 1]},
        advice="; type (.+) to leave",
    ),
    Case(
        "if these come second, as behind whole distances, type",
        TRUTH + "ranking = np.array([[1, 5], [2, 2]]), np.array([[0, 1], [2, 0]])",
        COMPUTE_RANKED,
        {"mrr": [1 / 2, 1 / 2]},
        altered="ranking[0][:, ::-1]",
    ),
    *(
        Case(
            "is no item but fills up short lists type",
            f"ranking = np.array({ranking})\ntruth = {truth}",
            "Metrics.compute_ranked(ranking, truth, 'precision(denom=list)@3')",
            {"precision(denom=list)@3": [1 / 1, 1 / 2]},
            advice="short lists type (.+)$",
        )
        for ranking, truth in (
            ("[[1, 9, 9], [2, 0, 9]]", "[[1], [0]]"),
            ("[[1, 3, 3], [2, 0, 3]]", "np.array([[0, 1, 0], [1, 0, 0]])"),
        )
    ),
    Case(
        "type np.concatenate(scores) and np.concatenate(relevance)",
        "scores = [[3.0, 2.0, 1.0], [1.0, 3.0]]; relevance = [[0, 1, 0], [1, 0]]",
        "Metrics.compute_groups(scores, relevance, 'mrr')",
        {"mrr": [1 / 2, 1 / 2]},
        advice="type (.+) and (.+), with (.+)$",
        to="scores relevance sizes",
        altered="sizes=[1, 4]",
    ),
]

SHAPES = [
    Case(
        "it looks transposed: type {}.T",
        BOTH + "candidates = np.array([[1, 0], [1, 1], [0, 1]])",
        "Metrics.compute(scores, truth, 'mrr', candidates=candidates)",
        {"mrr": [1 / 2, 0.0]},
    ),
    Case("for one item index of each row", SCORES + "truth = np.array([[1], [0]])", COMPUTE, MRR),
    Case(
        "for item indices of each user type list",
        BOTH + "candidates = np.array([[0, 1], [1, 0]])",
        "Metrics.compute(scores, truth, 'mrr', candidates=candidates)",
        {"mrr": [1 / 2, 1 / 2]},
    ),
    Case("one looks transposed", BOTH + "scores = scores.T.copy()", COMPUTE, MRR),
    Case(
        "one looks transposed",
        BOTH + "truth = truth.T.copy()",
        COMPUTE,
        MRR,
        advice=" or (.+), so that",
    ),
    Case(
        "; for the relevances of one user type",
        SCORES + "scores = scores[:1]; truth = np.array([0, 1, 0])",
        COMPUTE,
        {"mrr": [1 / 2]},
    ),
    Case(
        "; type {}.weight",
        BOTH + FACTORS + "import torch\n"
        "user_factors, item_factors = map(torch.from_numpy, (user_factors, item_factors))\n"
        "user_factors = torch.nn.Embedding.from_pretrained(user_factors)\n",
        COMPUTE_FACTORS,
        MRR,
    ),
    Case("; type list({})", SCORES + "truth = iter([[1], [0]])", COMPUTE, MRR),
    *(
        Case(
            "holds numbers of {}s, expected the other columns alone; type",
            BOTH + "import pandas, polars, pyarrow\n"
            "scores = pandas.DataFrame(scores, columns=[*'xyz'])\n"
            f"scores.insert(0, {column!r}, [7, 5])\n{library}\n",
            COMPUTE,
            MRR,
        )
        for column in ("user_id", "Unnamed: 0")
        for library in (
            "",
            "scores = polars.from_pandas(scores)",
            "scores = pyarrow.Table.from_pandas(scores)",
        )
    ),
    Case(
        "holds numbers of {}s, expected the other columns alone; type",
        BOTH + FACTORS + "import pandas\n"
        "item_factors = pandas.DataFrame(item_factors, columns=['f', 'g'])\n"
        "item_factors.insert(0, 'item', [4, 5, 6])\n",
        COMPUTE_FACTORS,
        MRR,
    ),
    Case(
        "to exclude these items for all users type",
        BOTH + "exclude = [2]",
        "Metrics.compute(scores, truth, 'mrr', exclude=exclude)",
        {"mrr": [1 / 2, 1 / 2]},
    ),
    Case(
        "if NaN is not relevant type np.nan_to_num(",
        SCORES + "truth = np.array([[np.nan, 1, np.nan], [1, np.nan, np.nan]])",
        COMPUTE,
        MRR,
    ),
    Case(
        "if NaN is not relevant type np.nan_to_num(",
        SCORES + "import pandas\n"
        "pairs = pandas.DataFrame({'user': [0, 1, 1], 'item': [1, 0, 2], 'grade': [1, 1, 0]})\n"
        "truth = pairs.pivot(index='user', columns='item', values='grade')\n",
        COMPUTE,
        MRR,
    ),
    Case(
        "; type np.atleast_2d(truth) for the",
        SCORES + "scores = scores[:1]; truth = np.array([False, True, False])",
        COMPUTE,
        {"mrr": [1 / 2]},
    ),
    Case(
        "; type np.asarray(truth, int), or", SCORES + "truth = np.array([1.0, 0.0])", COMPUTE, MRR
    ),
    Case(
        "; type np.nan_to_num(truth, nan=-1)",
        SCORES + "truth = np.array([1.0, np.nan])",
        COMPUTE,
        {"mrr": [1 / 2, float("nan")]},
    ),
    Case(
        "; type np.asarray(truth, int), or",
        SCORES + "scores = scores[:1]; truth = np.array([0.0, 1.0, 0.0])",
        COMPUTE,
        {"mrr": [1 / 2]},
        advice=r", or (\S+) for",
    ),
    Case(
        "for a mask type",
        BOTH + "evaluator = Evaluator(truth, 'mrr'); users = np.array([True, True])",
        "evaluator.update(scores, users)",
        MRR,
        then="evaluator.compute()",
    ),
    Case(
        "type np.asarray(users, np.int64)",
        BOTH + "evaluator = Evaluator(truth, 'mrr'); users = np.array([1.0, 0.0])",
        "evaluator.update(scores[::-1], users)",
        MRR,
        then="evaluator.compute()",
    ),
]

NEGATIVE = [
    Case(
        "read_sets.py: type np.maximum({0}, 0) if it is not relevant",
        RANKED + "truth[0, 0] = -1",
        COMPUTE_RANKED,
        MRR,
    ),
    Case("if it is padding, type also candidates", BOTH + "truth[0, 0] = -1", COMPUTE, MRR),
    Case(
        "if it is padding, type also candidates",
        BOTH + "truth[0, 0] = -1",
        COMPUTE,
        {"mrr": [1.0, 1 / 3]},
        advice=r"type (.+?) if .+ type also (.+?), or",
        altered="candidates=truth > 0",
    ),
    Case(
        "type {}.{} if it is not relevant",
        BOTH + "truth[0, 0] = -1; truth = sp.csr_array(truth)",
        COMPUTE,
        MRR,
    ),
    Case(
        "type {}.{} if it is not relevant",
        BOTH + "import torch\ntruth[0, 0] = -1; truth = torch.tensor(truth).to_sparse()",
        COMPUTE,
        MRR,
    ),
    Case(
        "for item indices type {}; for relevances",
        SCORES + "truth = np.array([[1, 2, -1], [0, -1, -1]])",
        COMPUTE,
        MRR,
    ),
    Case(
        "for item indices type {}; for relevances",
        SCORES + "truth = np.array([[1, 2, -1], [0, -1, -1]])",
        COMPUTE,
        {"mrr": [1.0, float("nan")]},
        advice="for relevances type (.+?) if ",
    ),
    Case("; type np.maximum({}, 0)", FLAT + "relevance[0] = -1", GROUPS, MRR),
    *(
        Case(
            "; type np.maximum({}, 0)",
            FLAT + "relevance[0] = -1\n" + tensors,
            GROUPS,
            {"mrr": [1.0, 1 / 3]},
            advice=r"type (np\.max.+?) if .+ type (.+)$",
            to="relevance scores",
        )
        for tensors in ("", LEARNT, f"{LEARNT}relevance = torch.tensor(relevance)")
    ),
]

FLAT_GROUPS = [
    Case(
        "ids has {}, which cannot be compared",
        FLAT + "ids = ['a', 'a', 'a', 1, 1, 1]",
        "Metrics.compute_groups(scores, relevance, 'mrr', ids=ids)",
        MRR,
    ),
    Case("flat_groups.py: type np.ravel({})", FLAT + "scores = scores[:, np.newaxis]", GROUPS, MRR),
    Case(
        "flat_groups.py: type np.ravel({})",
        FLAT + f"{LEARNT}scores = scores[:, np.newaxis]",
        GROUPS,
        MRR,
    ),
    Case(
        "; if it is in that order, type sizes=list",
        FLAT + "sizes = {'a': 3, 'b': 3}",
        "Metrics.compute_groups(scores, relevance, 'mrr', sizes=sizes)",
        MRR,
        advice="order, type (.+)$",
    ),
    Case(
        "; if these are the rows where the groups begin",
        FLAT + "sizes = np.array([0, 3, 6])",
        "Metrics.compute_groups(scores, relevance, 'mrr', sizes=sizes)",
        MRR,
    ),
]

# Two of two users have item 0, one each has the others.
TRAIN = "train = np.array([[1, 1, 0], [1, 0, 1]])\n"
OF_LISTS = {"novelty@2": [(0 + 1) / 2, (1 + 1) / 2]}
SIDE = [
    Case(
        "for a training matrix type",
        BOTH + TRAIN + "popularity = train",
        NOVELTY,
        OF_LISTS,
        altered="popularity=train",
    ),
    Case(
        "type {}=recmetrics.{}_from(train)",
        BOTH + TRAIN + "popularity = np.array([2.0, 1.0, 1.0])",
        NOVELTY,
        OF_LISTS,
        altered="popularity=train",
    ),
    Case(
        "type {}=recmetrics.{}_from(train)",
        BOTH + "counts = np.array([2.0, 1.0, 1.0]); n_users = 2; popularity = counts",
        NOVELTY,
        OF_LISTS,
        advice=r", or (.+)$",
        to="popularity",
    ),
    Case(
        "has the numbers from 0 in another order as its {}",
        BOTH + "import pandas as pd\n"
        "popularity = pd.Series([0, 1, 0, 2]).value_counts() / 2\n"
        "popularity = popularity[[1, 0, 2]]\n",
        NOVELTY,
        OF_LISTS,
    ),
    Case(
        "side.py: type np.ravel({})",
        BOTH + "popularity = np.array([[1.0], [0.5], [0.5]])",
        NOVELTY,
        OF_LISTS,
    ),
    *(
        Case(
            "for numbers from 0 type {}",
            f"import {library}, scipy\n"
            "columns = {'user_id': [0, 0, 1, 2], 'movieId': [1, 2, 1, 0], 'rating': [5] * 4}\n"
            f"train = {library}.{constructor}(columns)\n",
            "recmetrics.popularity_from(train)",
            [1 / 3, 2 / 3, 1 / 3],
            advice="type (.+), or ",
            altered="sp.coo_array((np.ones(4), (train['movieId'], train['user_id'])))",
        )
        for library, constructor in {
            "pandas": "DataFrame",
            "polars": "DataFrame",
            "pyarrow": "table",
        }.items()
    ),
    Case(
        "{} may hold pairs of a user and an item",
        "import scipy\ntrain = np.array([[0, 1], [0, 2], [1, 1], [2, 0]])\n",
        "recmetrics.popularity_from(train)",
        [1 / 3, 2 / 3, 1 / 3],
        advice="type (.+) for pairs",
        altered="train != 0",
    ),
    Case(
        "{} may hold pairs of a user and an item",
        "import scipy\ntrain = [(0, 1, 5), (0, 2, 4), (1, 1, 5), (2, 0, 0)]\n",
        "recmetrics.popularity_from(train)",
        [2 / 4, 3 / 4, 3 / 4],
        advice="for pairs, (.+) for a matrix",
    ),
    *(
        Case(
            "{} may hold pairs of a user and an item",
            f"import scipy\ntrain = {train}; n_items = 4\n",
            "recmetrics.popularity_from(train, n_items=n_items)",
            value,
            advice=advice,
            altered=altered,
        )
        for train, value, advice, altered in (
            (
                "[(0, 1), (0, 2), (1, 1), (2, 3)]",
                [0, 2 / 3, 1 / 3, 1 / 3],
                "type (.+) for pairs",
                "list(np.asarray(train))",
            ),
            (
                "[(0, 1), (0, 2), (1, 2)]",
                [2 / 3, 2 / 3, 2 / 3, 0],
                "for pairs, (.+) for 2 items",
                "[[0, 1]]",
            ),
        )
    ),
    Case(
        "type list({}) for indices, {}.astype(float) for relevances",
        "truth = np.array([[0, 1], [0, 2], [1, 2]])\n",
        "float(Evaluator(truth, 'mrr', n_items=4).counts()['mrr'].not_updated)",
        3.0,
        advice="type (.+) for indices",
        altered="truth.astype(float)",
    ),
    Case(
        "= is a parameter of model=",
        TRAIN,
        "recmetrics.propensity_from(train, model='jain', gamma=1.0)",
        [1.0, 1 / 2, 1 / 2],
        altered="model='jain'",
    ),
    Case(
        "model='jain' needs",
        TRAIN,
        "recmetrics.propensity_from(train, model='jain')",
        [1.0, (1 / 2) ** 1.5, (1 / 2) ** 1.5],
        altered="model='jain'",
    ),
    Case(
        "side.py: ; it looks transposed",
        BOTH + "features = np.array([[1.0, 0.0, 1.0], [0.0, 1.0, 0.0]])",
        "Metrics.compute(scores, truth, 'diversity@2', features=features)",
        {"diversity@2": [1.0, 1.0]},
    ),
    Case(
        "stores (user {}, item {}) twice",
        TRUTH + "scores = sp.coo_array(([1.0, 2.0, 2.0, 1.0], ([0, 0, 0, 1], [1, 1, 0, 0])), "
        "shape=(2, 3))",
        COMPUTE,
        {"mrr": [1.0, 1.0]},
        advice="type (.+) to add",
        to="scores.copy_",
        altered="None",
    ),
]
CASES = [
    *PAIRS,
    *ARRAYS,
    *INDICES,
    *PERMUTED,
    *ROWS,
    *FRAMES,
    *LISTS,
    *SHAPES,
    *NEGATIVE,
    *FLAT_GROUPS,
    *SIDE,
]
