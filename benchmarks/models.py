"""The recommenders of the benchmarks: popularity, EASE and GF-CF, from a sparse train matrix."""

from dataclasses import dataclass

import numpy as np
import scipy.linalg
import scipy.sparse as sp

from recmetrics._core.jit import kernel
from recmetrics._core.options import thread_count
from recmetrics._core.threads import map_blocks

THREAD_ROWS = 64  # users per task: several tasks per thread, since users differ in their work


def popularity(train: sp.csr_matrix) -> np.ndarray:
    """Count the users of each item, in float32, which holds every count below 2^24."""
    return np.bincount(binary(train).indices, minlength=train.shape[1]).astype(np.float32)


def ease(train: sp.csr_matrix, l2: float = 500.0) -> np.ndarray:
    """Fit the item-item weights of EASE; ``train @ weights`` are the scores.

    The minimum of ``|R - R B|^2 + l2 |B|^2`` over all B with a zero diagonal, in closed form.

    Parameters
    ----------
    train
        (n_users, n_items), sparse; what is not 0 counts as 1.
    l2
        The penalty. 500 suits MovieLens.

    References
    ----------
    Steck, Embarrassingly shallow autoencoders for sparse data, WWW 2019.
    """
    seen = binary(train, np.float64)
    gram = (seen.T @ seen).toarray()
    gram[np.diag_indices_from(gram)] += l2
    inverse = np.linalg.inv(gram)
    weights = inverse / -np.diag(inverse)
    np.fill_diagonal(weights, 0.0)
    return weights


@dataclass(frozen=True)
class GFCF:
    """GF-CF: a linear and an ideal low-pass filter on the graph of users and items.

    With R the binary train matrix, Du and Di the degrees of users and items,
    R~ = Du^-1/2 R Di^-1/2 and V the top right singular vectors of R~, the scores are
    R (R~^T R~) + weight R Di^-1/2 V V^T Di^1/2. They are computed one block of users at a time.

    References
    ----------
    Shen et al., How powerful is graph convolution for recommendation?, CIKM 2021.
    """

    train: sp.csr_matrix
    item_gram: sp.csr_matrix
    user_factors: np.ndarray
    item_factors: np.ndarray

    @classmethod
    def fit(cls, train: sp.csr_matrix, n_factors: int = 256, weight: float = 0.3) -> "GFCF":
        """Prepare both filters, in float32.

        Parameters
        ----------
        train
            (n_users, n_items), sparse; what is not 0 counts as 1.
        n_factors
            Singular vectors that the ideal low-pass filter keeps.
        weight
            What the ideal low-pass filter counts beside the linear one.
        """
        seen = binary(train, np.float32)
        user_degrees = np.diff(seen.indptr)
        item_degrees = np.bincount(seen.indices, minlength=seen.shape[1])
        damped = seen @ sp.diags(inverse_sqrt(item_degrees))
        normalised = (sp.diags(inverse_sqrt(user_degrees)) @ damped).tocsr()
        vectors = right_singular_vectors(normalised, n_factors)
        item_roots = np.sqrt(item_degrees, dtype=np.float32)
        return cls(
            train=seen,
            item_gram=(normalised.T @ normalised).tocsr(),
            user_factors=np.float32(weight) * (damped @ vectors),
            item_factors=vectors * item_roots[:, None],
        )

    def scores(self, users: slice, out: np.ndarray) -> np.ndarray:
        """Write the scores of a block of users to the first rows of ``out``; return those rows.

        The low-rank part is one dense product. The linear part adds one sparse row of the gram
        matrix per train item to a dense row, several times faster than a sparse product, whose
        result is half full and has to be made dense.
        """
        factors = self.user_factors[users]
        block = out[: len(factors)]
        np.matmul(factors, self.item_factors.T, out=block)
        seen, gram = self.train[users], self.item_gram

        def add(rows: slice) -> None:
            bounds = seen.indptr[rows.start : rows.stop + 1]
            _add_rows(bounds, seen.indices, gram.indptr, gram.indices, gram.data, block[rows])

        map_blocks(add, row_blocks(len(block), THREAD_ROWS), thread_count(None))
        return block


@kernel
def _add_rows(bounds, items, gram_bounds, gram_items, gram_values, out):
    """Add to each row of ``out`` the gram rows of that user's items."""
    for row in range(len(out)):
        scores = out[row]
        for place in range(bounds[row], bounds[row + 1]):
            item = items[place]
            for entry in range(gram_bounds[item], gram_bounds[item + 1]):
                scores[gram_items[entry]] += gram_values[entry]


def right_singular_vectors(
    matrix: sp.csr_matrix, n_vectors: int, *, width: int = 32, depth: int = 44, seed: int = 0
) -> np.ndarray:
    """Find the top right singular vectors, (n_columns, n_vectors), largest first.

    A randomised block Krylov method with full orthogonalisation. The singular values of
    interactions fall slowly: one part in a thousand lies between numbers 256 and 257 of Gowalla.
    44 products with 32 columns find the space to 1e-7 there; a subspace iteration,
    which forgets all products but the last, is not near it after 30 with 320 columns.

    Parameters
    ----------
    matrix
        Sparse float32; a matrix no larger than the Krylov space is decomposed whole.
    n_vectors
        How many, at most min(matrix.shape).
    width, depth
        Columns of a block, and blocks; the space has width * depth dimensions, of which a few
        times n_vectors are needed.
    seed
        Of the first block.
    """
    if width * depth >= min(matrix.shape):
        return np.linalg.svd(matrix.toarray(), full_matrices=False)[2][:n_vectors].T
    transposed = matrix.T.tocsr()
    basis = np.empty((matrix.shape[0], width * depth), np.float32)
    projected = np.zeros((width * depth, width * depth))
    start = np.random.default_rng(seed).standard_normal((len(basis), width), dtype=np.float32)
    block = _orthonormal(start).astype(np.float32)
    for first in range(0, width * depth, width):
        last = first + width
        basis[:, first:last] = block
        known = basis[:, :last]
        block = matrix @ (transposed @ block)
        # By symmetry a product lies in the last two blocks and outside of the basis; from all
        # other blocks only what rounding left there has to be removed.
        recent = slice(max(0, first - width), last)
        inside = basis[:, recent].T @ block
        projected[recent, first:last] = inside
        block -= basis[:, recent] @ inside
        block -= known @ (known.T @ block)
        block = _orthonormal(block).astype(np.float32)
    # `projected` is symmetric, and eigh reads the triangle that was written.
    top = (max(0, width * depth - n_vectors - width), width * depth - 1)
    _, rotation = scipy.linalg.eigh(projected, lower=False, subset_by_index=top)
    return _rotate(transposed.astype(np.float64), basis @ rotation.astype(np.float32), n_vectors)


def _rotate(transposed: sp.csr_matrix, left: np.ndarray, n_vectors: int) -> np.ndarray:
    """Separate the right singular vectors in the span of left ones, in float64.

    Rounding to float32 mixes neighbours: the last vectors wanted with the first that are not.
    """
    left = _orthonormal(left)
    image = transposed @ left
    squares, rotation = np.linalg.eigh(image.T @ image)
    # From the left vectors, not from `image`: items with the same users get the same bits.
    right = transposed @ (left @ rotation[:, : -n_vectors - 1 : -1])
    return (right / np.sqrt(squares[: -n_vectors - 1 : -1])).astype(np.float32)


def _orthonormal(block: np.ndarray) -> np.ndarray:
    """Orthonormalise the columns, by Cholesky in float64: a tenth of the time of QR."""
    # NumPy alone: SciPy may bring a BLAS of its own, and two pools of threads wait for each other.
    exact = block.astype(np.float64)
    return exact @ np.linalg.inv(np.linalg.cholesky(exact.T @ exact)).T


def binary(matrix: sp.csr_matrix, dtype: type = np.float32) -> sp.csr_matrix:
    """Copy the matrix with 1 in place of every value that is not 0."""
    ones = sp.csr_matrix(matrix, copy=True, dtype=dtype)
    ones.sum_duplicates()
    ones.eliminate_zeros()
    ones.data[:] = 1
    return ones


def inverse_sqrt(degrees: np.ndarray) -> np.ndarray:
    """1 / sqrt(degree) as float32, and 0 where the degree is 0."""
    return (np.sqrt(1.0 / np.maximum(degrees, 1)) * (degrees > 0)).astype(np.float32)


def row_blocks(n_rows: int, size: int) -> list[slice]:
    """Cover ``n_rows`` rows with slices of ``size``."""
    return [slice(start, min(start + size, n_rows)) for start in range(0, n_rows, size)]
