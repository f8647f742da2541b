"""What is asked: metric strings, and the rules of a call.

    registry      the record of each metric, made where the metric is declared
    conventions   how other systems define the metrics: a table
    grammar       ``"ndcg(gain=exp2)@10"`` <-> ``MetricSpec``, and the errors of that language
    request       ``Request``: the metrics of a call, each with its resolved definition

Every entry point makes one ``Request`` and hands it down. A request resolves, once, what each
metric means under the call's convention: its options, its tie policy, and what an undefined value
becomes. It also refuses everything that can be refused without data: unknown names, missing side
information, a tie policy that a metric does not have. So no later stage knows a convention, and a
request can travel to another process without the data.

Nothing here imports a metric. The declarations in ``metrics/`` fill the registry when the package
is imported.
"""

from recmetrics._spec.conventions import CONVENTIONS, Line, System
from recmetrics._spec.grammar import (
    MetricsList,
    MetricSpec,
    OptionValue,
    as_cutoff,
    make_spec,
    parse,
)
from recmetrics._spec.registry import (
    METHOD_SUFFIX,
    METRICS,
    Metric,
    Number,
    Option,
    Reads,
    choice,
    lookup,
    metric,
)
from recmetrics._spec.request import Cutoffs, Definition, Request, SideWords, define
