"""The cases of all rooms."""

from advice import cli, inputs, inspection, of_dask, report, results, selection, spec, tables

ROOMS = (inputs, spec, selection, results, report, inspection, tables, cli, of_dask)
CASES = [case for room in ROOMS for case in room.CASES]
