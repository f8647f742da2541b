"""Tensors of the CPU that say they are on a GPU, so that recmetrics ranks them by torch."""

import torch

torch.set_num_threads(1)  # small tensors: threads that wait for each other take longest


class Elsewhere(torch.Tensor):
    """As a tensor of a GPU, to all who ask where its memory is; torch computes it on the CPU."""

    def __dlpack_device__(self):
        return (2, 0)


def elsewhere(array):
    """The same numbers, in the same memory, elsewhere."""
    return torch.as_tensor(array).as_subclass(Elsewhere)
