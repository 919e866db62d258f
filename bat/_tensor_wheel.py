"""Successive draws without replacement from a batch of distributions, in torch: ``bat._wheel`` for devices.

The same blocks of tokens as there, so that a draw adds up few numbers and removing a token changes one block.
Nothing waits for the device: what happens does not depend on what is drawn.
"""

from __future__ import annotations

import torch

from bat._wheel import BLOCK


class TensorWheel:
    """What is left of each row to draw from."""

    def __init__(self, probs: torch.Tensor) -> None:
        batch, size = probs.shape
        # Padding with zeros always copies, so that removing tokens leaves ``probs`` as it is.
        self.left = torch.nn.functional.pad(probs, (0, -size % BLOCK))  # [B, blocks * BLOCK]
        self.blocks = self.left.view(batch, -1, BLOCK)
        self.sums = self.blocks.sum(dim=2)  # [B, blocks]
        self.upwards = torch.arange(max(self.sums.shape[1], BLOCK), device=probs.device)
        self.downwards = 2 * len(self.upwards) - self.upwards  # above every number of ``upwards``

    def draw(self, uniform: torch.Tensor) -> torch.Tensor:
        """The token at ``uniform`` [B, 1] of what is left, [B, 1]; any token where nothing is left."""
        ends = self.sums.cumsum(dim=1)
        target = uniform * ends.narrow(1, -1, 1)
        self._block = self._first_above(ends, target, self.sums)
        rest = target - (ends.gather(1, self._block) - self.sums.gather(1, self._block))
        chosen = self._block.unsqueeze(2).expand(-1, 1, BLOCK)
        self._inside = self.blocks.gather(1, chosen).squeeze(1)  # [B, BLOCK]
        self._offset = self._first_above(self._inside.cumsum(dim=1), rest, self._inside)
        return self._block * BLOCK + self._offset

    def remove(self, token: torch.Tensor) -> None:
        """Take out the token drawn last."""
        self.left.scatter_(1, token, 0.0)
        rest = self._inside.scatter(1, self._offset, 0.0)
        self.sums.scatter_(1, self._block, rest.sum(dim=1, keepdim=True))

    def _first_above(
        self, running: torch.Tensor, target: torch.Tensor, weights: torch.Tensor
    ) -> torch.Tensor:
        """The first entry of positive weight whose running sum exceeds the target, [B, 1].

        Rounding can leave the target past the end; then the last entry of positive weight. A device may add
        in an order in which sums are not quite ascending, so every entry is looked at.
        """
        size = weights.shape[1]
        upwards, downwards = self.upwards.narrow(0, 0, size), self.downwards.narrow(0, 0, size)
        score = torch.where(running > target, downwards, upwards).masked_fill(weights <= 0.0, -1)
        return score.argmax(dim=1, keepdim=True)
