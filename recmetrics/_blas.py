"""One thread in BLAS while ours are as many as the cores."""

import threading
from collections.abc import Iterator
from contextlib import contextmanager
from functools import cache
from typing import Any

_lock = threading.Lock()
_callers = 0
_limits: Any = None


@contextmanager
def one_thread_in_blas() -> Iterator[None]:
    """Hold BLAS to one thread, for the whole process, until the last caller is out.

    Needs threadpoolctl; without it nothing is set, and BLAS goes on as the process has it.
    """
    global _callers, _limits
    controller = _controller()
    if controller is None:
        yield
        return
    with _lock:
        if _callers == 0:
            _limits = controller.limit(limits=1, user_api="blas")
        _callers += 1
    try:
        yield
    finally:
        with _lock:
            _callers -= 1
            if _callers == 0:
                _limits.restore_original_limits()


@cache
def _controller() -> Any:
    """What finds the BLAS libraries of the process: milliseconds, so once."""
    try:
        from threadpoolctl import ThreadpoolController
    except ImportError:
        return None
    return ThreadpoolController()
