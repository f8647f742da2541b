"""The command ``recmetrics``: see ``recmetrics --help``.

    _command           the commands, their help and exit codes; ``evaluate`` and ``identify``: files
                       -> an evaluation, or matches -> report; their form SCORES, of matrices
    _arguments         the options of each command as rows of a table; those of side information
                       come from its records in ``_inputs/side``
    _tables            their form RECS, tables of recommendations and truth; the form GROUPS of
                       ``evaluate``, such as queries; ``audit-times``: the times of a split
    _table_files       tables of ids and numbers, read by polars
    _compare_files     ``compare``: models by per-user files or one table, and the verdict of a gate
    _metric_pages      ``metrics``: all metrics, or one in full
    _demo              ``demo``: its data, its model, its picture
    _output            writing files, values of each user among them, and whether one can draw
    _terminal          printing, and errors in the words of the command

The command computes with the public functions of the library, and prints what these print. Beside
them it reads the registry, to list the metrics. Matrices are read by ``recmetrics/_io``.
"""

from recmetrics.cli._command import main

__all__ = ["main"]
