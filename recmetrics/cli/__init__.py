"""The command ``recmetrics``: see ``recmetrics --help``.

    _command           arguments, and which function runs
    _score_files       ``evaluate``: files of scores
    _recommendations   ``evaluate``: tables of recommendations
    _group_files       ``evaluate``: tables of groups
    _models            ``compare``
    _demo              ``demo``, with _simulation (its data) and _als (its model)
    _catalogue         ``metrics``
    _files             reading files, with one file for each format: _npy, _npz, _text
    _table_files       reading tables of ids and numbers, of any of their formats
    _lines, _per_user, _groups
                       lines of text; files of values per user; files of the users' groups
    _named, _memory    a file with the name it was given under; what does not fit into memory
    _output, _picture  writing files and pictures
    _terminal, _tables, _means
                       printing; tables; means with their intervals
    _signals, _failures
                       Ctrl-C and broken pipes; the errors of the command

The command computes with the public functions of the library. Beside these it reads the registry
and the conventions, to list them, and makes a ``Request``, to refuse before a file is read.
"""

from recmetrics.cli._command import main

__all__ = ["main"]
