"""``progress=``: a bar or a callable."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Literal


@contextmanager
def reporting(
    progress: Literal[True] | Callable[[int, int], object], rows: int
) -> Iterator[Callable[[int], None] | None]:
    """Give a function that takes the number of rows just done, or None where nobody listens."""
    if progress is True:
        try:
            from tqdm.auto import tqdm
        except ImportError:  # a bar is a courtesy: without tqdm the work goes on in silence
            yield None
            return
        with tqdm(total=rows, unit=" users") as bar:

            def advance(done: int) -> None:
                bar.update(done)

            yield advance
    else:
        total = 0

        def report(done: int) -> None:
            nonlocal total
            total += done
            progress(total, rows)

        yield report
