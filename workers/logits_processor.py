"""Exact candidate sets as a logits processor, for decoding loops that are not ours.

The processor works wherever transformers takes one: what it leaves can be sampled, searched with beams or
looked at. It needs the whole candidate set at every step, which `workers.plugin.RuleSampler` does not, and is
therefore hundreds of times slower.
"""

from __future__ import annotations

import numpy as np
import torch
from transformers import LogitsProcessor, PreTrainedModel

from bat.arrays import BoolArray, FloatArray
from bat.basis import Basis
from bat.candidates import DEFAULT_MAX_PROGRAMS, CandidateSet, candidate_set
from bat.errors import BatError, InvalidInputError
from bat.rules import Rule, Summary, ThresholdRule, get_rule
from bat.suggestions import did_you_mean
from bat.temperature import Temperature, resolve_temperature
from bat.validation import softmax
from workers.assets import cache_folder
from workers.models import LanguageModel
from workers.output_layer import check_output_layer, get_output_matrix

UNDECIDED = ("error", "reject", "accept")


class UndecidedError(BatError):
    """The budget did not settle every token, and the caller wanted no guess."""


class CandidateSetProcessor(LogitsProcessor):
    """Set every token outside the rule's exact candidate set to -inf.

    A token that neither `max_programs` programs nor `time_limit_seconds`, both for each row, could settle is
    neither accepted nor rejected. `undecided` says what becomes of it: "error" raises UndecidedError,
    "reject" leaves it out, "accept" lets it in. `sets` has the candidate sets of the last call. Plain rules
    solve nothing, so they leave nothing undecided. `temperature` divides the scores that are left, and comes
    before or after the rule as in `bat.sample`; that of `generate` comes after.
    """

    def __init__(
        self,
        model: PreTrainedModel | LanguageModel | Basis,
        rule: str | Rule,
        *,
        constraints: int = 20,
        temperature: float | Temperature | None = None,
        undecided: str = "error",
        max_programs: int = DEFAULT_MAX_PROGRAMS,
        time_limit_seconds: float = 60.0,
        threads: int | None = None,
    ) -> None:
        if undecided not in UNDECIDED:
            guess = did_you_mean(undecided, UNDECIDED)
            raise InvalidInputError(
                f"undecided must be one of {', '.join(UNDECIDED)}; got {undecided!r}.{guess}"
            )
        self.rule = as_rule(rule)
        self.temperature = resolve_temperature(temperature, self.rule)
        self.basis = prepare_basis(model, self.rule, constraints)
        self.undecided = undecided
        self.max_programs, self.time_limit_seconds, self.threads = max_programs, time_limit_seconds, threads
        self.sets: tuple[CandidateSet, ...] = ()  # of the last call, one a row; empty for a plain rule

    def __call__(self, input_ids: torch.LongTensor, scores: torch.FloatTensor) -> torch.FloatTensor:
        """Return `scores` [B, v] over the temperature, with -inf outside the candidate set of each row."""
        heat = self.temperature
        flat = scores if heat is None else scores / heat.value
        rows = Summary(softmax(flat if heat is not None and heat.is_first else scores))
        if self.rule.basis_aware and isinstance(self.rule, ThresholdRule):
            taus = self.rule.thresholds(rows)
            self.sets = tuple(self._find(p, float(tau)) for p, tau in zip(rows.probs, taus, strict=True))
            kept = np.stack([self._members(row) for row in range(len(rows))])
        else:
            kept = self.rule.keep(rows)
        rejected = torch.from_numpy(~kept).to(scores.device)
        masked: torch.FloatTensor = flat.masked_fill(rejected, -torch.inf)  # type: ignore[assignment]
        return masked

    def _find(self, probs: FloatArray, tau: float) -> CandidateSet:
        return candidate_set(
            self.basis,
            probs,
            tau,
            max_programs=self.max_programs,
            time_limit_seconds=self.time_limit_seconds,
            threads=self.threads,
        )

    def _members(self, row: int) -> BoolArray:
        candidates = self.sets[row]
        members = candidates.mask()
        if candidates.exact:
            return members
        if self.undecided == "error":
            raise UndecidedError(
                f"Every token must be settled where undecided='error', but {candidates.undecided.size} of "
                f"row {row} are not, after {candidates.programs} programs and "
                f"{candidates.effort.seconds:.1f} s. Raise max_programs or time_limit_seconds, or choose "
                f"undecided='reject' or 'accept'."
            )
        members[candidates.undecided] = self.undecided == "accept"
        return members


def as_rule(rule: str | Rule) -> Rule:
    """Return the rule, given as itself or spelled as in "ba-eta=0.02"."""
    return rule if isinstance(rule, Rule) else get_rule(rule)


def prepare_basis(source: PreTrainedModel | LanguageModel | Basis, rule: Rule, constraints: int) -> Basis:
    """Return the basis of a model, kept in the cache folder; a basis that is given is used as it is.

    A plain rule looks at no output matrix, so for it any model will do.
    """
    if isinstance(source, Basis):
        return source
    kept = constraints if rule.basis_aware else 0
    if isinstance(source, LanguageModel):
        return source.basis(kept)
    if not isinstance(source, PreTrainedModel):
        raise InvalidInputError(
            "model must be a transformers model, what workers.models.load gives, or a bat.Basis; got "
            f"{type(source).__name__}."
        )
    name = source.name_or_path or type(source).__name__
    if source.config.is_encoder_decoder:
        raise InvalidInputError(
            f"The model {name!r} must be a decoder alone, but it has an encoder. Choose a causal model."
        )
    if rule.basis_aware:
        check_output_layer(source, name)
    return Basis.from_matrix(get_output_matrix(source, name), kept, cache_folder())
