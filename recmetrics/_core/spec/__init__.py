"""The request: metric strings, and the rules of a call.

    registry      the record of each metric: its options, their choices and checks
    undefined     which policy a metric has for users without a value, and the number in its place
    systems       how other systems define the metrics, read from the table ``systems.txt``
    grammar       ``"ndcg(gain=exp2)@10"`` <-> ``MetricSpec``; "did you mean" for unknown names
    request       ``Request``: the metrics of a call, each with its resolved definition; errors that
                  need no data; the cutoffs k: no more ranks than the catalogue has are read

Every entry point makes one ``Request`` and hands it down. A request resolves what each metric means
under the call's convention: its options, its tie policy, and what an undefined value becomes. It
refuses everything that can be refused without data, such as missing side information, or a tie
policy that a metric does not have. No later stage knows conventions. A request holds no data, so it
can be sent to another process.

Nothing here imports a metric: the declarations in ``metrics/`` fill the registry when the package
is imported, and ``inputs/side.py`` fills that of side information.
"""

from recmetrics._core.spec.grammar import (
    GREATEST,
    LEAST,
    MetricsList,
    MetricSpec,
    OptionValue,
    as_cutoff,
    check_k,
    expand_cutoffs,
    lookup,
    make_spec,
    parse,
    split_metrics,
    take_apart,
)
from recmetrics._core.spec.registry import (
    ALIASES,
    COUNT_COLUMNS,
    METHOD_SUFFIX,
    METRICS,
    NO_RELEVANT_ITEM,
    SIDE,
    STRATUM,
    ItemNumber,
    Metric,
    Number,
    Option,
    Reads,
    SideInput,
    choice,
    metric,
    read_option,
    read_options,
)
from recmetrics._core.spec.request import (
    Cutoffs,
    Definition,
    Request,
    SideWords,
    define,
    definitions_of,
    of_shown_items,
)
from recmetrics._core.spec.systems import (
    CONVENTIONS,
    Line,
    System,
    TableOrder,
    TableTies,
    UserWeight,
    line_for,
    own_name,
    read_convention,
)
from recmetrics._core.spec.undefined import NoTruth, number_for, policy_of, takes_number
