"""The memory that this process may use: a file that needs more is refused before it is read."""

from __future__ import annotations

import os
from contextlib import suppress
from pathlib import Path

_UNITS = ("KiB", "MiB", "GiB", "TiB", "PiB", "EiB")


def refuse_beyond_memory(n_bytes: int) -> None:
    """Raise a ValueError where ``n_bytes`` more do not fit into this process."""
    limit = _limit()
    if n_bytes > limit:
        msg = f"it unpacks to {size(n_bytes)}, more than the {size(limit)} of free memory"
        raise ValueError(msg)


def size(n_bytes: int) -> str:
    """Write a number of bytes in a readable unit."""
    power = min((n_bytes.bit_length() - 1) // 10, len(_UNITS)) if n_bytes else 0
    if not power:
        return f"{n_bytes} bytes"
    return f"{n_bytes / 1024**power:,.1f} {_UNITS[power - 1]}"


def _limit() -> int:
    """The least of the limits of the machine, the container and ``ulimit -v``."""
    limits = [1 << 62]
    with suppress(OSError, ValueError, AttributeError):  # not on every system
        limits.append(os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE"))
    with suppress(OSError, ValueError):
        limits.append(int(Path("/sys/fs/cgroup/memory.max").read_text()))  # "max" is no limit
    with suppress(ImportError, OSError, ValueError):
        import resource

        allowed, _ = resource.getrlimit(resource.RLIMIT_AS)
        if allowed != resource.RLIM_INFINITY:
            limits.append(max(0, allowed - _taken(resource.getpagesize())))
    return min(limits)


def _taken(page: int) -> int:
    """The address space of this process; 0 where it is unknown."""
    try:
        return int(Path("/proc/self/statm").read_text().split()[0]) * page
    except OSError:  # pragma: no cover - a system without /proc
        return 0
