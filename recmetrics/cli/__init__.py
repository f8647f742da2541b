"""The command ``recmetrics``: see ``recmetrics --help``.

    _command           arguments, and which function runs
    _score_files, _recommendations
                       ``evaluate``: files of scores, tables of recommendations
    _models, _demo, _catalogue
                       ``compare``, ``demo``, ``metrics``
    _files, _npy, _npz, _text, _lines, _per_user, _groups, _named, _memory
                       reading files that may be damaged, of any format
    _output, _terminal, _tables, _means, _picture, _signals, _failures
                       writing and printing
    _simulation, _als  the data and the model of the demo

The command computes with the public functions of the library. Beside these it reads the registry
and the conventions, to list them, and makes a ``Request``, to refuse before a file is read.
"""

from recmetrics.cli._command import main

__all__ = ["main"]
