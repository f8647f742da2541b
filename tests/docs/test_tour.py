"""The notebook of the tour is written from its page, and shows what the page shows."""

import importlib
import json
import re
import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[2] / "docs" / "site"))
tour = importlib.import_module("tour")


def test_the_notebook_is_current_and_has_no_outputs():
    text = tour.PAGE.read_text()
    written = tour.NOTEBOOK.read_text()
    assert written == tour.notebook(text)
    cells = json.loads(written)["cells"]
    code = ["".join(cell["source"]) for cell in cells if cell["cell_type"] == "code"]
    assert code == [part.strip() for part in re.findall(r"```python\n(.*?)```", text, re.DOTALL)]
    assert all(cell["outputs"] == [] for cell in cells if cell["cell_type"] == "code")


def test_the_links_of_the_notebook_lead_to_files():
    cells = json.loads(tour.NOTEBOOK.read_text())["cells"]
    prose = "".join("".join(cell["source"]) for cell in cells if cell["cell_type"] == "markdown")
    links = re.findall(r"\]\(([^)#]+)", prose)
    assert len(links) == 3
    assert "ipynb" not in prose
    assert all((tour.NOTEBOOK.parent / link).is_file() for link in links)


def test_the_page_shows_the_pictures_that_its_code_draws():
    text = tour.PAGE.read_text()
    drawn = re.findall(r'\("(\w+\.png)"\)', text)
    assert len(drawn) == 2
    assert drawn == re.findall(r"!\[[^\]]+\]\((\w+\.png)\)", text)


def test_the_prose_is_one_page():
    prose = re.sub(r"^```.*?^```$", "", tour.PAGE.read_text(), flags=re.DOTALL | re.MULTILINE)
    assert len(prose.split()) <= 350
