"""Is the difference real? Means, paired differences and tests of what each user gets."""

from recmetrics.comparison._compare import compare
from recmetrics.comparison._comparison import Comparison
from recmetrics.comparison._records import Difference, Mean

__all__ = ["Comparison", "Difference", "Mean", "compare"]
