"""The results of all processes of ``torch.distributed``, in every process."""

import sys
from typing import Any

from recmetrics._errors import ArgumentError
from recmetrics._results import UserResults


def gather(results: UserResults, group: Any) -> UserResults:
    """``results`` of every process of the group, merged in the order of their ranks."""
    torch: Any = sys.modules.get("torch")
    distributed = None if torch is None else torch.distributed
    if distributed is None or not (distributed.is_available() and distributed.is_initialized()):
        msg = (
            "all_gather needs the processes of torch.distributed, which is not initialised; call "
            "torch.distributed.init_process_group(...) first, or use merge()"
        )
        raise ArgumentError(msg)
    if distributed.get_rank(group) < 0:
        msg = "all_gather was called by a process outside the group; expected its members alone"
        raise ArgumentError(msg)
    parts: list[Any] = [None] * distributed.get_world_size(group)
    distributed.all_gather_object(parts, results.part(), group=group)
    whole = results.empty()
    for part in parts:
        whole.merge(part)
    return whole
