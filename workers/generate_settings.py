"""Which settings of transformers' `generate` go together with a rule of `bat`, and which do not."""

from __future__ import annotations

import inspect
from typing import Any

from transformers import (
    EpsilonLogitsWarper,
    EtaLogitsWarper,
    GenerationConfig,
    GenerationMixin,
    LogitNormalization,
    LogitsProcessorList,
    MinPLogitsWarper,
    PreTrainedModel,
    SynthIDTextWatermarkLogitsProcessor,
    TemperatureLogitsWarper,
    TopHLogitsWarper,
    TopKLogitsWarper,
    TopPLogitsWarper,
    TypicalLogitsWarper,
    WatermarkLogitsProcessor,
)
from transformers.generation.configuration_utils import GenerationMode

from bat.errors import InvalidInputError
from bat.rules import Rule
from bat.temperature import Temperature, resolve_temperature
from workers.logits_processor import CandidateSetProcessor

# transformers sets this top_k where neither the caller nor the model does; a caller's own 50 looks the same.
_DEFAULT_TOP_K = 50
# Values that truncate nothing; the first is the one to advise.
_HARMLESS: dict[str, tuple[object, ...]] = {
    "top_k": (0, None, _DEFAULT_TOP_K),
    "top_p": (1.0, None),
    "min_p": (None,),
    "typical_p": (1.0, None),
    "epsilon_cutoff": (0.0, None),
    "eta_cutoff": (0.0, None),
    "top_h": (None,),
}
_TRUNCATING = (
    CandidateSetProcessor,
    EpsilonLogitsWarper,
    EtaLogitsWarper,
    MinPLogitsWarper,
    TopHLogitsWarper,
    TopKLogitsWarper,
    TopPLogitsWarper,
    TypicalLogitsWarper,
)
_AFTER_TEMPERATURE = (WatermarkLogitsProcessor, SynthIDTextWatermarkLogitsProcessor, LogitNormalization)


def get_processors(
    prepared: LogitsProcessorList,
    config: GenerationConfig,
    rule: Rule,
    temperature: Temperature | None = None,
) -> tuple[LogitsProcessorList, Temperature | None]:
    """Return the processors the rule comes after, and the temperature that comes with or after the rule.

    Raises where another truncation, or a second temperature, is asked for. What is set counts, whether or not
    `do_sample` is: without that, transformers would leave temperature and truncation out without a word.
    """
    for name, harmless in _HARMLESS.items():
        value = getattr(config, name, None)
        if value not in harmless:
            raise InvalidInputError(
                f"{name} must be {harmless[0]} beside a rule, which does the truncating; got {value!r}, from "
                f"the call or from the model's generation_config. Pass {name}={harmless[0]}."
            )
    kept = LogitsProcessorList(prepared)
    if config.do_sample and config.top_k == _DEFAULT_TOP_K:
        # transformers puts its own after all that the caller gave.
        own = [index for index, processor in enumerate(kept) if isinstance(processor, TopKLogitsWarper)][-1:]
        for index in own:
            del kept[index]
    for processor in kept:
        if isinstance(processor, _TRUNCATING):
            raise InvalidInputError(
                f"logits_processor must hold nothing that truncates beside a rule; got "
                f"{type(processor).__name__}. Leave it out, or use it without a RuleSampler."
            )
    asked = resolve_temperature(config.temperature, rule)
    if asked is None:
        return kept, temperature
    if temperature is not None:
        raise InvalidInputError(
            f"temperature must be given once; got {temperature.value:g} for the RuleSampler and "
            f"{asked.value:g} from the call or from the model's generation_config. Pass temperature=1.0."
        )
    if config.do_sample:  # transformers puts its own after all that the caller gave
        own = [index for index, each in enumerate(kept) if isinstance(each, TemperatureLogitsWarper)][-1:]
        if asked.is_first:
            return kept, None
        for index in own:
            del kept[index]
    elif asked.is_first:
        late = [index for index, processor in enumerate(kept) if isinstance(processor, _AFTER_TEMPERATURE)]
        kept.insert(min(late, default=len(kept)), TemperatureLogitsWarper(asked.value))
        return kept, None
    return kept, asked


def check_mode(config: GenerationConfig, assistant_model: PreTrainedModel | None) -> None:
    """Raise where the settings ask for more than drawing one token after another."""
    mode = config.get_generation_mode(assistant_model)
    if mode not in (GenerationMode.SAMPLE, GenerationMode.GREEDY_SEARCH):
        raise InvalidInputError(
            f"A RuleSampler draws one token after another, but {mode.value.replace('_', ' ')} was asked for. "
            "Leave out num_beams, assistants and other searches; num_return_sequences gives several texts."
        )


_GENERATE_CODE = inspect.unwrap(GenerationMixin.generate).__code__


def arguments_of_generate() -> dict[str, Any]:
    """Return what the `generate` that is running was called with; empty when none is.

    transformers 5.22 hands the streamer, synced_gpus and the assistant model to its own loops alone
    (`_extract_generation_mode_kwargs`). A streamer that got the prompt and then nothing would leave its
    reader waiting for ever, so they are taken from where they lie.
    """
    frame = inspect.currentframe()
    while frame is not None and frame.f_code is not _GENERATE_CODE:
        frame = frame.f_back
    return {} if frame is None else dict(frame.f_locals)
