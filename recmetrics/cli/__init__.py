"""The command ``recmetrics``: see ``recmetrics --help``.

    _command           the commands and their help; the exit codes of errors; ``evaluate`` and
                       ``identify`` of matrices: files -> an evaluation, or matches -> report
    _arguments         the options of each command as rows of a table, with their help
    _tables            ``evaluate`` and ``identify`` of tables of recommendations and truth;
                       ``evaluate`` of groups, such as queries; ``audit-times``: times of a split
    _compare_files     ``compare``: models by per-user files or one table; the verdict of a gate as
                       exit code
    _metric_pages      ``metrics``: all metrics, or one in full
    _demo              ``demo``: its data, its model, its picture
    _output            writing files, values of each user among them, and whether one can draw
    _terminal          printing, and errors in the words of the command

The command computes with the public functions of the library, and prints what these print. Beside
them it reads the registry, to list the metrics. Matrices are read by ``recmetrics/_files``.
"""

from recmetrics.cli._command import main

__all__ = ["main"]
