"""Train a next-item model in plain JAX; the logits are evaluated without a copy.

    pip install jax     # in addition to recmetrics
    python examples/jax_loop.py

The sequences come from walks.py. JAX arrays on the CPU, also in bfloat16, are read through DLPack.
Only the model is compiled with ``jax.jit``. The stream gets the arrays that it returns.
"""

import jax
import jax.numpy as jnp
from walks import LENGTH, METRICS, N_ITEMS, show, walks

from recmetrics import StreamEvaluator

WIDTH, BATCH, RATE = 32, 64, 0.5


def parameters(key: jax.Array) -> dict[str, jax.Array]:
    """Embeddings of the items, and the weights of a layer over the whole sequence."""
    first, second = jax.random.split(key)
    wide = (LENGTH - 1) * WIDTH
    return {
        "items": jax.random.normal(first, (N_ITEMS, WIDTH)) / WIDTH**0.5,
        "layer": jax.random.normal(second, (wide, WIDTH)) / wide**0.5,
    }


@jax.jit
def logits_of(model: dict[str, jax.Array], sequences: jax.Array) -> jax.Array:
    """Score every item as the next one."""
    embedded = model["items"][sequences].reshape(len(sequences), -1)
    return jnp.tanh(embedded @ model["layer"]) @ model["items"].T


@jax.jit
def step(
    model: dict[str, jax.Array], sequences: jax.Array, targets: jax.Array
) -> dict[str, jax.Array]:
    """Descend along the gradient of the cross-entropy."""

    def loss(model: dict[str, jax.Array]) -> jax.Array:
        logs = jax.nn.log_softmax(logits_of(model, sequences))
        return -jnp.take_along_axis(logs, targets[:, None], axis=1).mean()

    return jax.tree.map(lambda value, slope: value - RATE * slope, model, jax.grad(loss)(model))


def main(n: int = 4_000, epochs: int = 4) -> None:
    """Train on ``n`` walks, and print the metrics of each epoch."""
    sequences, targets = map(jnp.asarray, walks(n, seed=0))
    validation = [jnp.asarray(each) for each in walks(1_000, seed=1)]
    stream = StreamEvaluator(METRICS, keep="means")
    model = parameters(jax.random.key(0))
    for epoch in range(1, epochs + 1):
        for first in range(0, n, BATCH):
            batch = slice(first, first + BATCH)
            model = step(model, sequences[batch], targets[batch])
        stream.reset()
        for first in range(0, len(validation[0]), 250):
            inputs, truth = (each[first : first + 250] for each in validation)
            stream.update(logits_of(model, inputs), truth)
        show(epoch, stream.mean(prefix="val/"), "val/")


if __name__ == "__main__":
    main()
