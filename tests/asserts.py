"""Assertions of more than one file of tests."""

import os
import subprocess
import sys

import numpy as np
import pytest


def python(*arguments, cwd=None, given=None, **environment):
    """Run Python; what it printed, and what it told beside, after it ended well."""
    done = subprocess.run(
        [sys.executable, *map(str, arguments)],
        cwd=cwd,
        input=given,
        env=os.environ | environment,
        capture_output=True,
        text=True,
        check=False,
        timeout=600,
    )
    assert done.returncode == 0, done.stdout + done.stderr
    return done


def message_of(error, call, *args, **options):
    """The message of the error of exactly this class that a call ends in."""
    with pytest.raises(error) as caught:
        call(*args, **options)
    assert type(caught.value) is error
    return str(caught.value)


def assert_same(got, expected):
    """Equal but for rounding."""
    np.testing.assert_allclose(got, expected, rtol=1e-12, atol=1e-14)


def assert_identical(got, expected):
    """Hold two results to equal metrics in equal order, each with equal bits."""
    assert list(got) == list(expected)
    for metric, values in expected.items():
        assert got[metric].dtype == np.float64
        np.testing.assert_array_equal(got[metric], values, err_msg=metric, strict=True)
