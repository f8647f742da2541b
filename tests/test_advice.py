"""What messages say to type is typed, and gives the value worked by hand."""

import pytest
from advice import advice_in, altered, check, followed, messages, said_by, told_by
from advice.table import CASES
from packages import absent

MESSAGES = messages()
EVERY_CASE = pytest.mark.parametrize("case", CASES, ids=lambda case: case.says)
pytestmark = [
    pytest.mark.usefixtures("in_a_folder", "registry_stays"),
    pytest.mark.filterwarnings("ignore:.*CUDA"),
]


@pytest.fixture
def in_a_folder(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)


@pytest.fixture
def packages(case):
    if missing := absent(case.given):
        pytest.skip(f"{missing} is not installed")


@EVERY_CASE
@pytest.mark.usefixtures("packages")
def test_advice_is_followed(case):
    told = told_by(case)
    assert said_by(case, MESSAGES).matches(told), told
    check(followed(case, advice_in(case, told)), case.value)


@EVERY_CASE
@pytest.mark.usefixtures("packages")
def test_other_advice_is_seen(case):
    other = altered(case, advice_in(case, told_by(case)))
    with pytest.raises(Exception):  # noqa: B017, PT011  # another value, or any error
        check(followed(case, other), case.value)


def test_every_message_has_a_case():
    covered = {said_by(case, MESSAGES) for case in CASES}
    assert [message for message in MESSAGES if message not in covered] == []


def test_a_message_without_a_case_is_seen(tmp_path):
    """Of each way to write a text; no docstring, no comment, no noun, no command of a package."""
    (tmp_path / "module.py").write_text(
        '"""To read it, type help."""\n'
        "CAST = 'type {name}.astype(float)'  # type truth.T\n"
        "def read(truth):\n"
        "    msg = f'truth is of type {type(truth)}, of any type known; '\n"
        "    msg = (\n"
        "        f'{msg}; it looks transposed: '\n"
        "        'type truth.T'\n"
        "    )\n"
        "    return f'type: {install(msg)}'\n"
    )
    found = [(message.line, message.text) for message in messages(tmp_path)]
    assert found == [(2, "type {name}.astype(float)"), (6, "{}; it looks transposed: type truth.T")]
