"""A shard of prefixes through vLLM: whole texts with their traces, as our own generation returns them.

Every prefix of a shard is a request; vLLM decides which of them share a forward pass. The random numbers are
those of `workers.generation`, so both engines write the same text as long as their logits round alike.
"""

from __future__ import annotations

import gc
import os
from collections.abc import Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from bat.errors import BatError
from workers.encoding import decode_continuation
from workers.generation_record import Generation, GenerationSettings, StopReason
from workers.model_cards import load_card
from workers.model_info import ModelInfo
from workers.models import find_source
from workers.prompts import Opening, check_openings
from workers.traces import Trace, decode_trace
from workers.vllm_plugin.compatibility import let_modules_be_scanned
from workers.vllm_plugin.installation import VllmUnavailableError, check_options, get_version
from workers.vllm_plugin.parameters import RuleParameters, write_parameters

if TYPE_CHECKING:
    from vllm import LLM, SamplingParams

    from workers.requests import EngineRequest

_TRACES = "workers.vllm_plugin.recording.TraceWorker"


class EngineError(BatError):
    """vLLM gave something else than what was asked for."""


class Engine:
    """vLLM with one model. In this process, whose memory is free again after `close`."""

    def __init__(self, request: EngineRequest, device: str) -> None:
        model = request.model
        _check_version(request.version)
        # In a process of its own, the order in which requests arrive would vary, and so would batches.
        os.environ.setdefault("VLLM_ENABLE_V1_MULTIPROCESSING", "0")
        check_options(request.options)
        let_modules_be_scanned()
        info, self.tokenizer = load_card(model.name, model.dtype, model.revision)
        self.info: ModelInfo = replace(info, device=device)
        source, commit = find_source(model.name, model.revision)
        options: dict[str, Any] = {
            "dtype": model.dtype,
            "max_num_seqs": request.batch_size,
            "enable_prefix_caching": False,  # whether a prefix was met before must not matter
            **request.options,
        }
        self.llm: LLM | None = _start(model.name, model=source, revision=commit, **options)

    def generate(self, prefixes: Sequence[Opening], settings: GenerationSettings) -> list[Generation]:
        """Continue every prefix, in the order given."""
        if self.llm is None:
            raise EngineError("an engine must not be used after it was closed.")
        check_openings(self.info, prefixes)
        steps = [
            min(settings.max_tokens, self.info.context_length - len(prefix.token_ids)) for prefix in prefixes
        ]
        self.llm.collective_rpc("open_bat_traces", args=(len(prefixes), max(steps, default=0)))
        outputs = self.llm.generate(
            [{"prompt_token_ids": list(prefix.token_ids)} for prefix in prefixes],
            [
                self._sampling(settings, prefix, row, count)
                for row, (prefix, count) in enumerate(zip(prefixes, steps, strict=True))
            ],
            use_tqdm=False,
        )
        written = [list(output.outputs[0].token_ids) for output in outputs]
        lengths = [len(ids) for ids in written]
        # All processes that sample record the same; of a model in several stages, only the last one samples.
        [*_, recorded] = self.llm.collective_rpc("take_bat_traces", args=(lengths,))
        return [
            self._generation(prefix, settings, ids, *record)
            for prefix, ids, record in zip(prefixes, written, recorded, strict=True)
        ]

    def close(self) -> None:
        """Stop vLLM and give its memory back."""
        if self.llm is None:
            return
        from vllm.distributed import cleanup_dist_env_and_memory

        self.llm.llm_engine.engine_core.shutdown()
        self.llm = None
        gc.collect()
        cleanup_dist_env_and_memory()

    def _sampling(
        self, settings: GenerationSettings, prefix: Opening, row: int, steps: int
    ) -> SamplingParams:
        from vllm import SamplingParams

        return SamplingParams(
            max_tokens=steps,
            ignore_eos=True,  # the tokens that end a text are ours, for any engine
            stop_token_ids=list(self.info.end_tokens),
            detokenize=False,
            extra_args=write_parameters(settings, prefix.id, row),
        )

    def _generation(
        self,
        prefix: Opening,
        settings: GenerationSettings,
        written: list[int],
        encoded: bytes,
        solver_seconds: float,
        failure: str | None,
    ) -> Generation:
        if failure is not None:
            raise EngineError(f"prefix {prefix.id!r} could not be continued: {failure}")
        trace = decode_trace(encoded)
        _check_same(prefix.id, trace, written)
        at_length = StopReason.LENGTH if len(written) == settings.max_tokens else StopReason.CONTEXT
        return Generation(
            prefix_id=prefix.id,
            key=RuleParameters(settings, prefix.id).key(""),
            text=decode_continuation(self.tokenizer, prefix.token_ids, written),
            stop_reason=StopReason.END if written[-1] in self.info.end_tokens else at_length,
            trace=trace,
            solver_seconds=solver_seconds,
        )


def _check_version(version: str) -> None:
    installed = get_version()
    if installed != version:
        raise VllmUnavailableError(
            f"the job was planned for vLLM {version}, but this worker has {installed}. Install the same "
            "version for the driver and all workers."
        )


def _start(name: str, **options: Any) -> LLM:
    """Start vLLM, or say in one sentence why it does not start with these options."""
    from pydantic import ValidationError
    from vllm import LLM

    try:
        return LLM(
            generation_config="vllm",  # not the model's own defaults, such as a temperature
            worker_extension_cls=_TRACES,
            disable_log_stats=True,
            **options,
        )
    except (ValueError, TypeError) as error:
        problem = str(error)
        if isinstance(error, ValidationError):  # without the lines that pydantic adds
            first = error.errors()[0]
            problem = " ".join([".".join(map(str, first["loc"])), first["msg"]]).strip()
        raise EngineError(
            f"vLLM does not start with {name}: {problem} Check generation.engine_options."
        ) from error


def _check_same(prefix_id: str, trace: Trace, written: list[int]) -> None:
    """Raise unless the engine wrote the tokens that the rule chose."""
    if trace.token_ids.tolist() != written:
        raise EngineError(
            f"vLLM continued prefix {prefix_id!r} with other tokens than the rule chose. Leave out options "
            "that bypass logits processors, such as speculative decoding."
        )
