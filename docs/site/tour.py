"""Run the code of ``docs/tour.md``: write its outputs, its pictures and ``examples/tour.ipynb``.

The notebook has the text and the code of the page, without outputs.
"""

import contextlib
import io
import json
import os
import re
from pathlib import Path

DOCS = Path(__file__).parents[1]
PAGE = DOCS / "tour.md"
NOTEBOOK = DOCS.parent / "examples" / "tour.ipynb"
CODE = re.compile(r"```python\n(.*?)```\n(?:\n```text\n.*?```\n)?", re.DOTALL)
_LINK = re.compile(r"\]\((?=[\w.])")
_ABOUT = re.compile(r" \[The\s+notebook\].*?run\.", re.DOTALL)


def run(text: str) -> str:
    """The page with what its code prints; the pictures are written into the working folder."""
    scope: dict[str, object] = {"__name__": "tour"}

    def block(found: re.Match[str]) -> str:
        printed = io.StringIO()
        with contextlib.redirect_stdout(printed):
            exec(found[1], scope)
        lines = "".join(f"{line.rstrip()}\n" for line in printed.getvalue().splitlines())
        return f"```python\n{found[1]}```\n" + (f"\n```text\n{lines}```\n" if lines else "")

    return CODE.sub(block, text)


def notebook(text: str) -> str:
    """The text and the code of the page as a notebook."""
    cells = []
    for place, part in enumerate(CODE.split(_ABOUT.sub("", text))):
        kind = "code" if place % 2 else "markdown"
        source = part.strip() if place % 2 else _LINK.sub("](../docs/", part.strip())
        cell = {"cell_type": kind, "id": f"part-{place}", "metadata": {}}
        cell |= {"execution_count": None, "outputs": []} if place % 2 else {}
        cells += [cell | {"source": source.splitlines(keepends=True)}] if source else []
    kernel = {"display_name": "Python 3", "language": "python", "name": "python3"}
    about = {"kernelspec": kernel, "language_info": {"name": "python"}}
    whole = {"cells": cells, "metadata": about, "nbformat": 4, "nbformat_minor": 5}
    return json.dumps(whole, indent=1, ensure_ascii=False) + "\n"


def main() -> None:
    """Write all of it."""
    os.chdir(DOCS)
    PAGE.write_text(run(PAGE.read_text()))
    NOTEBOOK.write_text(notebook(PAGE.read_text()))


if __name__ == "__main__":
    main()
