"""The command ``recmetrics``: see ``recmetrics --help``.

    _command           arguments, and which function runs
    _score_files       ``evaluate``: files of scores
    _recommendations   ``evaluate``: tables of recommendations
    _group_files       ``evaluate``: tables of groups
    _models            ``compare``
    _demo              ``demo``, with _simulation (its data) and _als (its model)
    _catalogue         ``metrics``
    _files             reading files: scores, truth and sets, side information, groups
    _table_files       reading tables of ids and numbers, of any of their formats
    _text, _groups     lines 'user item [relevance]'; files of the users' groups
    _named             files that change after they are mapped
    _output, _picture  writing files and pictures
    _terminal, _tables printing; tables
    _signals, _failures
                       Ctrl-C and broken pipes; the errors of the command

The command computes with the public functions of the library. Beside these it reads the registry
and the conventions, to list them, and makes a ``Request``, to refuse before a file is read. Files
are opened and checked by ``recmetrics/_io``.
"""

from recmetrics.cli._command import main

__all__ = ["main"]
