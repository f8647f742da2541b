"""The metrics. Each is one block: the choices of its options, reference, kernel, declaration.

    accuracy       metrics of the first k ranks; they read ``Hits``
    full_ranking   metrics of the whole ranking; they read ``Hits``
    beyond         metrics of each user's list and of side information; they read ``Lists``
    system         metrics of all lists together, such as coverage; they read ``Exposure``
    custom         ``metric``, which declares a metric of one's own
    two_lists      measures that compare two lists of one user, such as those of two models
    reference      inputs and helpers of the plain-Python definitions

The reference defines the metric for one user, in plain Python. The kernel computes the same for all
users; tests compare the two. The declaration is a function without a body: its signature gives the
options, its docstring the description. The options ``gain``, ``discount`` and ``ideal`` are
declared here and applied in ``selection/hits``. Importing this folder fills the registry.
"""

from recmetrics._core.metrics import accuracy, beyond, full_ranking, system
from recmetrics._core.metrics.custom import metric
from recmetrics._core.metrics.reference import OneUser
from recmetrics._core.metrics.two_lists import (
    MEASURES,
    MeasuresList,
    MeasureSpec,
    compared,
    read_measures,
)
