"""Arrays of JAX are read where they lie.

In a process of their own: after its first array JAX warns of every fork, and other tests fork.
"""

import json
from importlib.util import find_spec

import numpy as np
import pytest
from asserts import python

from recmetrics import StreamEvaluator

if find_spec("jax") is None:
    pytest.skip("jax is not installed", allow_module_level=True)

DTYPES = ["float32", "float16", "bfloat16", "int32", "int8", "uint8", "bool"]

SCRIPT = """
import json, os, sys, warnings
os.environ["XLA_FLAGS"] = "--xla_force_host_platform_device_count=2"
os.environ["JAX_PLATFORMS"] = "cpu"  # also where there is a GPU
warnings.simplefilter("error")
import jax, jax.numpy as jnp, numpy as np
from jax.sharding import NamedSharding, PartitionSpec
from recmetrics import Metrics, StreamEvaluator
from recmetrics._core.inputs import ScoreMatrix

scores = np.random.default_rng(0).integers(-50, 50, (40, 30)).astype(np.float32)
truth = np.arange(40) % 31 - 1
found = {"dtypes": {}}
for dtype in json.loads(sys.argv[1]):
    x = jnp.asarray(scores).astype(dtype)
    one_place = ScoreMatrix(x).array.ctypes.data == x.unsafe_buffer_pointer()
    expected = Metrics.compute(np.asarray(x.astype("float32")), truth, "mrr")["mrr"]
    got = Metrics.compute(x, jnp.asarray(truth), "mrr")["mrr"]
    found["dtypes"][dtype] = [one_place, np.array_equal(got, expected, equal_nan=True)]

x = jnp.asarray(scores)
stream = StreamEvaluator(["mrr", "hit@3"])
stream.update(x, jnp.asarray(truth))
stream.update(x, truth, exclude=[jnp.array([1, 2])] * 40, candidates=jnp.arange(29))
stream.update_factors(x, jnp.eye(30), jnp.asarray(truth, jnp.int8))
stream.update_ranked(jax.lax.top_k(x, 5)[1], jax.nn.one_hot(truth, 30))
found["stream"] = {name: values.tolist() for name, values in stream.compute().items()}

of_one = jax.device_put(x, jax.devices()[1])
spec = NamedSharding(jax.make_mesh((2,), ("users",)), PartitionSpec("users"))
spread = jax.device_put(x, spec)
found["devices"] = [len(spread.devices())]
found["devices"] += [np.array_equal(ScoreMatrix(y).array, scores) for y in (of_one, spread)]
print(json.dumps(found))
"""


@pytest.fixture(scope="module")
def found():
    return json.loads(python("-c", SCRIPT, json.dumps(DTYPES)).stdout)


@pytest.mark.parametrize("dtype", DTYPES)
def test_scores_are_read_at_the_address_of_the_array(found, dtype):
    one_place, same_values = found["dtypes"][dtype]
    assert one_place
    assert same_values


def test_a_stream_takes_scores_truth_and_sets(found):
    scores = np.random.default_rng(0).integers(-50, 50, (40, 30)).astype(np.float32)
    truth = np.arange(40) % 31 - 1
    stream = StreamEvaluator(["mrr", "hit@3"])
    stream.update(scores, truth)
    stream.update(scores, truth, exclude=[[1, 2]] * 40, candidates=np.arange(29))
    stream.update(scores, truth)
    best = np.argsort(-scores, axis=1, kind="stable")[:, :5]
    stream.update_ranked(best, truth)
    for name, values in stream.compute().items():
        np.testing.assert_array_equal(np.array(found["stream"][name]), values, err_msg=name)


def test_an_array_on_several_devices_is_collected(found):
    n_devices, of_one, spread = found["devices"]
    assert n_devices == 2
    assert of_one
    assert spread
