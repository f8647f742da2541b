"""Assertions of more than one file of tests."""

import numpy as np
import pytest


def message_of(error, call):
    with pytest.raises(error) as caught:
        call()
    assert type(caught.value) is error
    return str(caught.value)


def assert_same(got, expected):
    np.testing.assert_allclose(got, expected, rtol=1e-12, atol=1e-14)


def assert_identical(got, expected):
    assert list(got) == list(expected)
    for metric, values in expected.items():
        assert got[metric].dtype == np.float64
        np.testing.assert_array_equal(got[metric], values, err_msg=metric)
