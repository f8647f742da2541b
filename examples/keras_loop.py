"""Train a next-item model with Keras 3; a callback adds ranking metrics to the logs of each epoch.

    pip install keras jax     # in addition to recmetrics
    python examples/keras_loop.py
    KERAS_BACKEND=torch python examples/keras_loop.py

The sequences come from walks.py. The metrics are also stored in the history. Callbacks that come
after this one, such as EarlyStopping, can monitor them.
"""

import os

os.environ.setdefault("KERAS_BACKEND", "jax")  # which Keras reads when it is imported

import keras
import numpy as np
from walks import METRICS, N_ITEMS, show, walks

from recmetrics import StreamEvaluator


class Ranking(keras.callbacks.Callback):
    """Evaluate the model after each epoch, batch by batch."""

    def __init__(self, inputs: np.ndarray, targets: np.ndarray, batch_size: int = 256) -> None:
        super().__init__()
        self.inputs, self.targets, self.batch_size = inputs, targets, batch_size
        self.stream = StreamEvaluator(METRICS, keep="means")

    def on_epoch_end(self, epoch: int, logs: dict[str, float]) -> None:  # noqa: ARG002
        """Add the means over the events to the logs."""
        self.stream.reset()
        for first in range(0, len(self.inputs), self.batch_size):
            batch = slice(first, first + self.batch_size)
            logits = self.model.predict_on_batch(self.inputs[batch])
            self.stream.update(logits, self.targets[batch])
        logs.update(self.stream.mean(prefix="val_"))


def train(n: int = 4_000, epochs: int = 10) -> dict[str, list[float]]:
    """Train on ``n`` walks until mrr@10 no longer rises; gives the history of the logs."""
    keras.utils.set_random_seed(0)
    layers = keras.layers
    model = keras.Sequential(
        [
            layers.Embedding(N_ITEMS, 32),
            layers.Flatten(),
            layers.Dense(32, "tanh"),
            layers.Dense(N_ITEMS),
        ]
    )
    loss = keras.losses.SparseCategoricalCrossentropy(from_logits=True)
    model.compile(keras.optimizers.Adam(0.002), loss)
    ranking = Ranking(*walks(1_000, seed=1))
    stop = keras.callbacks.EarlyStopping("val_mrr@10", mode="max", restore_best_weights=True)
    fitted = model.fit(
        *walks(n, seed=0), batch_size=64, epochs=epochs, verbose=0, callbacks=[ranking, stop]
    )
    return fitted.history


def main() -> None:
    """Print the metrics of each epoch."""
    history = train()
    for epoch in range(len(history["loss"])):
        show(epoch + 1, {name: values[epoch] for name, values in history.items()}, "val_")


if __name__ == "__main__":
    main()
