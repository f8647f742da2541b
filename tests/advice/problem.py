"""The problem of most cases: the relevant items have the ranks 2 and 3."""

SCORES = "scores = np.array([[3.0, 2.0, 1.0], [1.0, 3.0, 2.0]])\n"
TRUTH = "truth = np.array([[0, 1, 0], [1, 0, 0]])\n"
BOTH = SCORES + TRUTH
RANKING = "ranking = [[0, 1, 2], [1, 2, 0]]\n"
RANKED = RANKING + TRUTH
MRR = {"mrr": [1 / 2, 1 / 3]}
