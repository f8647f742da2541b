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


def assert_equal_records(got, expected):
    """Means or differences have equal fields; NaN, too, which Python 3.13 compares as a number."""
    assert repr(got) == repr(expected)


def assert_same_means(summary, expected):
    """Two summaries have the same means, intervals and counts, in any order of groups."""
    records = {(mean.group, mean.model, mean.metric): mean for mean in expected.records}
    for mean in summary.records:
        other = records.pop((mean.group, mean.model, mean.metric))
        assert (mean.n_users, mean.n_undefined) == (other.n_users, other.n_undefined)
        numbers = [mean.mean, mean.low, mean.high]
        assert numbers == pytest.approx([other.mean, other.low, other.high], nan_ok=True)
    assert not records
