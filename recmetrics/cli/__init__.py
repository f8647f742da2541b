"""The command ``recmetrics``: see ``recmetrics --help``.

    _command           the commands, their help and exit codes
    _arguments         the options of each command as rows of a table; those of side information
                       come from its records in ``_inputs/side``
    _pipeline          ``evaluate``: files -> an evaluation and the ids of its rows -> report
    _score_files       its form SCORES: matrices of scores and truth
    _recommendations   its form RECS: tables of recommendations and truth
    _queries           its form GROUPS: a table of groups, such as queries
    _compare_files     ``compare``: models by per-user files or one table, and the verdict of a gate
    _identify_files    ``identify``: the definitions that give a number, of these files
    _audit_times       ``audit-times``: the times of a split
    _metric_pages      ``metrics``: all metrics, or one in full
    _demo              ``demo``, with _simulation (its data) and _als (its model)
    _table_files       tables of ids and numbers, read by polars
    _pairs, _segments  text of users and items; files of the users' segments
    _output, _picture  writing files and pictures
    _terminal          printing, and errors in the words of the command

The command computes with the public functions of the library, and prints what these print. Beside
them it reads the registry, to list the metrics. Arrays are read by ``recmetrics/_io``.
"""

from recmetrics.cli._command import main

__all__ = ["main"]
