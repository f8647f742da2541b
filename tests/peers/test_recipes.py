"""The recipes of the page run where their library is installed."""

import sys
from importlib.util import find_spec

import pytest
import recipes

pytest.importorskip("narwhals", reason="narwhals is not installed")
NAMES = {
    "implicit": "implicit",
    "lightfm": "LightFM",
    "rectools": "RecTools",
    "lenskit": "LensKit",
    "recbole": "RecBole",
    "numpy": "NumPy",
    "lightgbm": "LightGBM",
}


@pytest.mark.parametrize("recipe", recipes.RECIPES, ids=lambda recipe: recipe.package)
def test_a_recipe_ends_in_means_above_chance(recipe):
    if find_spec(recipe.package) is None:
        pytest.skip(f"{NAMES[recipe.package]} is not installed")
    found, random = recipes.means_by(sys.executable, recipe), recipes.chance(recipe)
    assert found
    for metric, mean in found.items():
        assert random[metric] + 0.1 < mean <= 1


def test_every_recipe_says_what_it_needs():
    packages = [recipe.package for recipe in recipes.RECIPES]
    assert packages == list(NAMES)
    assert all(recipe.requirements for recipe in recipes.RECIPES if recipe.package != "numpy")
    assert all("values = " in recipe.code for recipe in recipes.RECIPES)


def test_a_recipe_that_fails_is_told():
    wrong = recipes.RECIPES[0]._replace(code="values = undefined_name")
    with pytest.raises(RuntimeError, match="undefined_name"):
        recipes.means_by(sys.executable, wrong)
