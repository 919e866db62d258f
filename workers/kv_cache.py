"""A key-value cache that is filled in place.

The stock cache of transformers makes a new copy of itself for every token. On a processor that copying
soon takes longer than the model; here each layer writes into memory that was allocated at the start. Only
ordinary attention layers are replaced: layers of other kinds (sliding windows, recurrent states) keep the
cache that transformers made for them.
"""

from __future__ import annotations

import torch
from transformers import Cache, DynamicCache, PreTrainedModel
from transformers.cache_utils import DynamicLayer


class FilledLayer(DynamicLayer):
    """Keys and values of one layer, [batch, heads, tokens, width], as views of larger arrays."""

    def __init__(self, capacity: int) -> None:
        super().__init__()  # type: ignore[no-untyped-call]
        self.capacity = capacity
        self.length = 0

    def update(
        self, key_states: torch.Tensor, value_states: torch.Tensor, *args: object, **kwargs: object
    ) -> tuple[torch.Tensor, torch.Tensor]:
        """Append the new tokens' keys and values; return all of them."""
        if not self.is_initialized:
            self.lazy_initialization(key_states, value_states)
            self._key_room = _room(key_states, self.capacity)
            self._value_room = _room(value_states, self.capacity)
        end = self.length + key_states.shape[-2]
        if end > self.capacity:
            raise RuntimeError(f"the cache was made for {self.capacity} tokens and got {end}")
        self._key_room[:, :, self.length : end] = key_states
        self._value_room[:, :, self.length : end] = value_states
        return self._show(end)

    def batch_select_indices(self, indices: torch.Tensor) -> None:
        """Keep these rows of the batch, in this order."""
        moves = [(to, come) for to, come in enumerate(indices.tolist()) if to != come]
        if all(come >= len(indices) for _, come in moves):  # nothing moves onto a row that is still to move
            for room in (self._key_room, self._value_room):
                for to, come in moves:
                    room[to, :, : self.length] = room[come, :, : self.length]
            self._key_room = self._key_room[: len(indices)]
            self._value_room = self._value_room[: len(indices)]
        else:
            self._key_room = self._key_room[indices]
            self._value_room = self._value_room[indices]
        self._show(self.length)

    def _show(self, end: int) -> tuple[torch.Tensor, torch.Tensor]:
        self.length = end
        keys, values = self._key_room[:, :, :end], self._value_room[:, :, :end]
        self.keys, self.values = keys, values
        return keys, values


def make_cache(model: PreTrainedModel, capacity: int) -> Cache:
    """An empty cache for the model, with room for `capacity` tokens in each row."""
    cache = DynamicCache(config=model.config)
    cache.layers = [FilledLayer(capacity) if type(layer) is DynamicLayer else layer for layer in cache.layers]
    return cache


def cache_bytes(layers: int, width: int, rows: int, tokens: int, number_bytes: int = 4) -> int:
    """The memory for keys and values of one batch; `width` is heads times their width."""
    return 2 * layers * width * rows * tokens * number_bytes


def _room(states: torch.Tensor, capacity: int) -> torch.Tensor:
    batch, heads, _, width = states.shape
    return states.new_empty((batch, heads, capacity, width))
