"""Our plug-in for vLLM, a logits processor, for both interfaces that vLLM has.

    BatchRules       model runner V1: rows are known by their index in the batch, and join, leave and move
    SlotRules        model runner V2: a request has a slot, and every step says which rows belong to which
    RuleProcessor    what the entry point names; calling it makes one of the two

The entry point is the same for both runners, and V2 accepts only classes of its own interface. So
RuleProcessor is of both, and how it is called tells which runner asks.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import torch
from vllm.v1.sample.logits_processor import LogitsProcessor as BatchInterface
from vllm.v1.sample.logits_processor import process_dict_updates

from bat.errors import InvalidInputError
from workers.prompts import prompt_name
from workers.vllm_plugin.bases import ModelBases
from workers.vllm_plugin.choosing import Chooser, Row, RuleRequest
from workers.vllm_plugin.compatibility import let_modules_be_scanned
from workers.vllm_plugin.parameters import RuleParameters, admit, check_sampling

if TYPE_CHECKING:
    from vllm import SamplingParams
    from vllm.config import VllmConfig
    from vllm.v1.sample.logits_processor import BatchUpdate
    from vllm.v1.worker.gpu.sample.logits_processor.interface import LogitsContext, LogitsProcRequestState


try:
    from vllm.v1.worker.gpu.sample.logits_processor.interface import LogitsProcessor as SlotInterface
except ImportError:  # a vLLM that has the first runner alone must not fail because of us
    SlotInterface = object

let_modules_be_scanned()  # before another engine is made in this process


class BatchRules(BatchInterface):  # type: ignore[misc]
    """Rules in the model runner V1."""

    def __init__(self, vllm_config: VllmConfig, device: torch.device, is_pin_memory: bool) -> None:
        self._chooser = _chooser_for(vllm_config)
        # By index in the batch. vLLM appends to the lists of tokens written so far.
        self._requests: dict[int, tuple[RuleRequest, list[int]]] = {}

    @classmethod
    def validate_params(cls, sampling_params: SamplingParams) -> None:
        """Raise ValueError for a request that cannot be sampled as it asks."""
        check_sampling(sampling_params)

    def is_argmax_invariant(self) -> bool:
        """Whether greedy sampling may leave this processor out."""
        return False

    def update_state(self, batch_update: BatchUpdate | None) -> None:
        """Follow the requests that joined, left and moved."""
        process_dict_updates(self._requests, batch_update, _join)

    def apply(self, logits: torch.Tensor) -> torch.Tensor:
        """Choose the tokens of the rows that have a rule."""
        rows = [Row(index, len(written), request) for index, (request, written) in self._requests.items()]
        self._chooser.choose(logits, sorted(rows, key=lambda row: row.batch_index))
        return logits


def _join(
    sampling_params: SamplingParams, prompt: list[int] | None, written: list[int]
) -> tuple[RuleRequest, list[int]] | None:
    parameters = admit(sampling_params)
    if parameters is None:
        return None
    return _request(parameters, sampling_params, prompt), written


class SlotRules(SlotInterface):  # type: ignore[misc]
    """Rules in the model runner V2."""

    def __init__(self, vllm_config: VllmConfig, req_states: LogitsProcRequestState) -> None:
        self._chooser = _chooser_for(vllm_config)
        self._states = req_states
        # By slot. What depends on the prompt's tokens is made at the first step, when these are there.
        self._joined: dict[int, tuple[RuleParameters, SamplingParams]] = {}
        self._requests: dict[int, RuleRequest] = {}

    @classmethod
    def validate_params(cls, sampling_params: SamplingParams) -> None:
        """Raise ValueError for a request that cannot be sampled as it asks."""
        check_sampling(sampling_params)

    def add_request(self, req_idx: int, sampling_params: SamplingParams) -> bool:
        """Take over a slot; whoever had it before is gone. Return whether the request has a rule."""
        self._joined.pop(req_idx, None)
        self._requests.pop(req_idx, None)
        parameters = admit(sampling_params)
        if parameters is not None:
            self._joined[req_idx] = parameters, sampling_params
        return parameters is not None

    def apply(self, logits: torch.Tensor, ctx: LogitsContext) -> torch.Tensor:
        """Choose the tokens of the rows that have a rule; with draft tokens, a request has several rows."""
        if self._joined.keys().isdisjoint(ctx.idx_mapping_np.tolist()):
            return logits
        slots, positions = ctx.expanded_idx_mapping.tolist(), ctx.pos.tolist()
        rows = [
            # The prompt's last token, at position prompt_len - 1, gives the logits of step 0.
            Row(index, position + 1 - int(self._states.prompt_len.np[slot]), self._request(slot))
            for index, (slot, position) in enumerate(zip(slots, positions, strict=True))
            if slot in self._joined
        ]
        self._chooser.choose(logits, rows)
        return logits

    def _request(self, slot: int) -> RuleRequest:
        if slot not in self._requests:
            length = int(self._states.prompt_len.np[slot])
            prompt = self._states.all_token_ids.gpu[slot, :length].tolist()
            self._requests[slot] = _request(*self._joined[slot], prompt)
        return self._requests[slot]


class RuleProcessor(BatchInterface, SlotInterface):  # type: ignore[misc]
    """Makes the processor of whichever runner calls it."""

    def __new__(cls, vllm_config: VllmConfig, *others: Any) -> Any:
        """With the arguments of V1, device and is_pin_memory, or those of V2, the states of requests."""
        return (SlotRules if len(others) == 1 else BatchRules)(vllm_config, *others)

    @classmethod
    def validate_params(cls, sampling_params: SamplingParams) -> None:
        """Raise ValueError for a request that cannot be sampled as it asks."""
        check_sampling(sampling_params)


def _request(
    parameters: RuleParameters, sampling_params: SamplingParams, prompt: list[int] | None
) -> RuleRequest:
    # A prompt given as embeddings has no tokens to be named by.
    return RuleRequest.of(parameters, prompt_name(prompt or ()), sampling_params.all_stop_token_ids)


def _chooser_for(vllm_config: VllmConfig) -> Chooser:
    model = vllm_config.model_config
    dtype = str(model.dtype).removeprefix("torch.")
    bases = ModelBases(model.model, model.revision, dtype, model.get_vocab_size())
    for constraints in _constraints_to_prepare(vllm_config):
        bases(constraints)  # now, rather than while requests wait
    return Chooser(bases)


def _constraints_to_prepare(vllm_config: VllmConfig) -> list[int]:
    asked = vllm_config.additional_config.get("bat_constraints", [])
    if not isinstance(asked, list):
        raise InvalidInputError(
            f"bat_constraints of additional_config must be a list of integers such as [20]; got {asked!r}."
        )
    return asked
