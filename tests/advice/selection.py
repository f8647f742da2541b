"""Advice on rankings, factors, discounts and tensors of a GPU."""

from math import log2, nan

from advice import Case
from advice.inputs import COMPUTE, COMPUTE_FACTORS, COMPUTE_RANKED, FACTORS
from advice.problem import BOTH, MRR, RANKING, SCORES, TRUTH

ON_GPU = (
    "import torch\n"
    "class OnGpu(torch.Tensor):\n"
    "    def __dlpack_device__(self):\n"
    "        return (2, 0)\n"
)
SENT = "scores = torch.tensor(scores).as_subclass(OnGpu)\n"
LISTS = RANKING + "truth = [[1], [0]]\n"

PADDING = [
    Case(
        "; if it pads sequences, type",
        "scores = np.array([[9.0, 3, 2, 1], [9, 2, 4, 3], [9, 1, 1, 1], [9, 1, 1, 1]])\n"
        "targets = np.array([1, 3, 0, 0])\n"
        "import warnings\n",
        "Metrics.compute(scores, targets, 'mrr', candidates=[1, 2, 3])",
        {"mrr": [1 / 1, 1 / 2, nan, nan]},
        advice="type (targets.*), which",
        altered="targets[targets == 1] = -1",
    )
]
RANKINGS = [
    Case(
        "unknown={} needs the size of the catalogue, which",
        LISTS,
        "Metrics.compute_ranked(ranking, truth, 'mrr', unknown='waste')",
        MRR,
        blank="3",
    ),
    Case(
        "{} needs whole rankings and the size",
        LISTS,
        "Metrics.compute_ranked(ranking, truth, 'auc')",
        {"auc": [1 / 2, 0.0]},
        blank="3",
    ),
    Case(
        "{} needs whole rankings and the size",
        LISTS + SCORES,
        "Metrics.compute_ranked(ranking, truth, 'auc')",
        {"auc": [1 / 2, 0.0]},
        advice="or with scores (.+)$",
        whole="-",
        altered="Metrics.compute(-scores, truth, ['auc'])",
    ),
    Case(
        "counts all items, but a wasted rank",
        TRUTH + "ranking = [[0, 0, 1, 2], [1, 2, 0, 0]]; repeats = 'waste'",
        "Metrics.compute_ranked(ranking, truth, 'auc', repeats=repeats)",
        {"auc": [1 / 2, 0.0]},
        advice="type (.+) instead",
        to="repeats",
        altered="'raise'",
    ),
    Case(
        "expected whole rankings; with scores type",
        BOTH + "ranking = [[0, 1], [1, 2]]",
        "Metrics.compute_ranked(ranking, truth, 'auc')",
        {"auc": [1 / 2, 0.0]},
        advice="scores type (.+)$",
        whole="-",
        altered="Metrics.compute(-scores, truth, ['auc'])",
    ),
    Case(
        ", and -1 after the last one; if 0",
        TRUTH + "ranking = [[1, 2, 0, 0], [2, 1, 0, 0]]",
        COMPUTE_RANKED,
        {"mrr": [1.0, 0.0]},
    ),
    Case(
        "; type {0}='waste' or {0}='drop'",
        TRUTH + "ranking = [[0, 0, 1], [1, 0, 2]]",
        COMPUTE_RANKED,
        {"mrr": [1 / 3, 1 / 2]},
        altered="repeats='drop'",
    ),
    Case(
        "; type {0}='waste' or {0}='drop'",
        TRUTH + "ranking = [[0, 0, 1], [1, 0, 2]]",
        COMPUTE_RANKED,
        {"mrr": [1 / 2, 1 / 2]},
        advice="or (repeats=.+) to",
        altered="repeats='waste'",
    ),
    Case(
        "; type {0}='waste' or {0}='drop'",
        TRUTH + "ranking = [[0, 7, 1], [1, 0, 2]]",
        COMPUTE_RANKED,
        {"mrr": [1 / 3, 1 / 2]},
        altered="unknown='drop'",
    ),
    Case(
        "; type {0}='waste' or {0}='drop'",
        TRUTH + "ranking = [[0, 7, 1], [1, 0, 2]]",
        COMPUTE_RANKED,
        {"mrr": [1 / 2, 1 / 2]},
        advice="or (unknown=.+) to",
        altered="unknown='waste'",
    ),
]
WITH_BIAS = "Metrics.compute_factors(user_factors, item_factors, truth, 'mrr', item_bias=item_bias)"
OF_FACTORS = [
    Case(
        "; type item_factors.T",
        FACTORS + TRUTH + "item_factors = item_factors.T.copy()",
        COMPUTE_FACTORS,
        MRR,
    ),
    *(
        Case(
            "; type item_bias.reshape(-1)",
            FACTORS + TRUTH + f"item_bias = np.array([[0.0], [9.0], [0.0]])\n{as_tensor}",
            WITH_BIAS,
            {"mrr": [1.0, 1 / 3]},
        )
        for as_tensor in (
            "",
            "import torch\nitem_bias = torch.tensor(item_bias, requires_grad=True)",
        )
    ),
    Case(
        "; type {}.reshape(-1, 1) for one factor",
        TRUTH
        + "user_factors = np.array([[1.0], [-1.0]]); item_factors = np.array([3.0, 2.0, 1.0])",
        COMPUTE_FACTORS,
        {"mrr": [1 / 2, 1 / 3]},
    ),
]
DISCOUNTS = [
    Case(
        "discount must give a finite weight",
        BOTH + "import math",
        "Metrics.dcg_at_k(scores, truth, k=3, discount=lambda rank: rank % 2)",
        [1 / log2(3), 1 / log2(4)],
        altered="discount=lambda rank: 1 / rank",
    )
]
DEVICE = [
    Case(
        "{} is sparse ({}), expected a dense tensor",
        FACTORS + TRUTH + ON_GPU + "class Sparse(OnGpu):\n"
        "    layout = torch.sparse_coo\n"
        "    def to_dense(self):\n"
        "        return self.as_subclass(OnGpu)\n"
        "user_factors = torch.tensor(user_factors).as_subclass(Sparse)\n"
        "item_factors = torch.tensor(item_factors).as_subclass(OnGpu)\n",
        COMPUTE_FACTORS,
        MRR,
    ),
    Case(
        "{} must hold real numbers (float16, bfloat16, float32, float64, integers or bool), "
        "got dtype {}; type {}",
        BOTH + ON_GPU + "scores = (torch.tensor(scores) + 1j).as_subclass(OnGpu)",
        COMPUTE,
        MRR,
    ),
    Case(
        "{} must hold real numbers (float16, bfloat16, float32, float64, integers or bool), "
        "got dtype {}; type {}",
        BOTH + ON_GPU + "scores = torch.tensor(scores).to(torch.float8_e4m3fn).as_subclass(OnGpu)",
        COMPUTE,
        MRR,
    ),
    Case(
        "expected one device; type item_factors.to",
        FACTORS + TRUTH + ON_GPU + "class Elsewhere(OnGpu):\n"
        "    device = torch.device('cuda')\n"
        "    def to(self, device):\n"
        "        return torch.Tensor.to(self.as_subclass(torch.Tensor), "
        "device='cpu').as_subclass(OnGpu)\n"
        "user_factors = torch.tensor(user_factors).as_subclass(OnGpu)\n"
        "item_factors = torch.tensor(item_factors).as_subclass(Elsewhere)\n",
        COMPUTE_FACTORS,
        MRR,
    ),
]
CASES = [*PADDING, *RANKINGS, *OF_FACTORS, *DISCOUNTS, *DEVICE]
