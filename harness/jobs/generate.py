"""Generate: continue prefixes under one setting with one seed."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

from bat import rules, solvers
from harness.jobs.base import JobLabels, register
from harness.jobs.parts import Inputs, ModelIdentity, PrefixRange, TextsJob, Trial, plugins, shards

if TYPE_CHECKING:
    from bat.rules import Rule
    from harness.config.expansion import Setting
    from harness.config.schema import SweepConfig
    from workers.generation import GenerationSettings
    from workers.prefixes import Prefix, PrefixSet
    from workers.requests import GenerateRequest, ModelRequest

# The average of the demo model, at parameters that reject as much as the paper's choices.
PROGRAMS_PER_TOKEN = 0.25

_TRIAL_TOKENS = 8
_TRIAL_TEXTS = 8  # to time programs, which take seconds with hundreds of constraints
_PLAIN, _AWARE = ("eta", 0.002), ("ba-eta", 0.036)  # the same rejection rate on the demo model


@register
@dataclass(frozen=True)
class Generate(TextsJob):
    """A shard of prefixes, a model, a rule with its parameter, a seed -> a text for each prefix."""

    unit_name = "tokens"
    model_task = "wrote texts"

    model: ModelIdentity
    rule: str
    parameter: float | None
    max_tokens: int
    batch_size: int
    seed: int
    prefixes: PrefixRange
    sample: int
    # Only for basis-aware rules: what plain rules do not use must not change the ids of their jobs.
    constraints: int | None = None
    max_tries: int | None = None
    fallback: str | None = None
    solver: str | None = None
    solver_version: int | None = None  # of its decisions, whose efforts are part of a text's trace
    plugins: Mapping[str, Mapping[str, str]] | None = (
        None  # provenance of the rule and solver if they are not built in
    )
    temperature: float | None = None  # None at 1, where the order does not matter
    temperature_order: str | None = None  # first or last
    # Only for vLLM: our own generation is identified by RESULT_VERSION.
    engine: str | None = None
    engine_version: str | None = None
    engine_options: Mapping[str, Any] | None = None

    @classmethod
    def plan(
        cls, config: SweepConfig, model: ModelIdentity, prefix_set: PrefixSet, setting: Setting, seed: int
    ) -> list[Generate]:
        """All jobs of a setting whose parameter is known: one for each shard of prefixes and sample."""
        rule = setting.known_rule()
        options = config.generation
        temperature, temperature_order = setting.temperature_columns
        engine: dict[str, Any] = {}
        if options.engine == "vllm":
            from workers.vllm_plugin.installation import check_options, get_version

            check_options(options.engine_options or ())
            engine = {
                "engine": options.engine,
                "engine_version": get_version(),
                "engine_options": options.engine_options or None,
            }
        basis_aware: dict[str, Any] = {}
        solver_source = None
        if rule.basis_aware:
            solver_source = solvers.provenance(options.solver)
            basis_aware = {
                "constraints": setting.constraints,
                "max_tries": options.max_tries,
                "fallback": options.fallback,
                "solver": options.solver,
                "solver_version": solvers.decision_version(options.solver),
            }
        return [
            cls(
                model=model,
                rule=rule.name,
                parameter=rule.parameter,
                max_tokens=options.max_tokens,
                batch_size=options.batch_size,
                seed=seed,
                prefixes=PrefixRange(prefix_set.human_fingerprint, start, stop),
                sample=sample,
                plugins=plugins(rule=rules.provenance(rule.name), solver=solver_source),
                temperature=temperature,
                temperature_order=temperature_order,
                **basis_aware,
                **engine,
            )
            for sample in range(options.samples)
            for start, stop in shards(len(prefix_set.prefixes), config.prefixes.shard_size)
        ]

    @property
    def draw(self) -> tuple[int, int]:
        return self.seed, self.sample

    @property
    def labels(self) -> JobLabels:
        heat = (self.temperature, self.temperature_order)
        return JobLabels(self.model.label, None, self.rule, self.parameter, self.constraints, *heat)

    def describe(self) -> str:
        parameter = "" if self.parameter is None else f"={self.parameter:.6g}"
        if self.temperature is not None:
            parameter += f" at temperature {self.temperature:g} ({self.temperature_order})"
        first, last = self.prefixes.start, self.prefixes.stop - 1
        return (
            f"continued prefixes {first} to {last} of set {self.prefixes.set[:12]}, {self.model.shown}, "
            f"{self.rule}{parameter}, seed {self.seed}{f', with {self.engine}' if self.engine else ''}"
        )

    @property
    def reproducibility(self) -> str | None:
        if self.engine is None:
            return None
        options = "".join(f", {name}={value}" for name, value in (self.engine_options or {}).items())
        return (
            f"texts by {self.engine} {self.engine_version}{options}: generated again, they are not promised "
            "to be bit-identical, because the engine decides which texts share a forward pass"
        )

    @property
    def units(self) -> int:
        return len(self.prefixes) * self.max_tokens

    @property
    def programs(self) -> float:
        return PROGRAMS_PER_TOKEN * self.units if self.constraints else 0.0

    @property
    def pace(self) -> str:
        constraints = "" if self.constraints is None else f"c={self.constraints}"
        return " ".join(part for part in (self.engine, constraints) if part)

    def time_unit(self, trial: Trial) -> float:
        """The time of a plain rule plus, for a basis-aware one, that of its programs, timed on few texts."""
        import bat

        plain = self._settings(bat.get_rule(*_PLAIN), _TRIAL_TOKENS, self.batch_size, basis_aware=False)
        seconds = trial.once(
            f"plain rule {self.engine or ''}", self.model, lambda: self._time_token(trial, plain)
        )
        if self.constraints is None:
            return seconds
        few = replace(plain, batch_size=_TRIAL_TEXTS)
        aware = self._settings(bat.get_rule(*_AWARE), _TRIAL_TOKENS, _TRIAL_TEXTS, basis_aware=True)
        return seconds + max(0.0, self._time_token(trial, aware) - self._time_token(trial, few))

    def _time_token(self, trial: Trial, settings: GenerationSettings) -> float:
        """Time a batch up to its first token, which includes reading the prefixes, and up to a few more."""
        batch = trial.prefixes(self.model)[: settings.batch_size]
        request = self._request(trial.model_request(self.model), batch, settings)
        one_token = replace(request, settings=replace(settings, max_tokens=1))
        first = trial.seconds(one_token, warm_up=replace(request, prefixes=batch[:1]))
        step = max(0.0, trial.seconds(request) - first) / (settings.max_tokens - 1)
        return (first + step * (self.max_tokens - 1)) / (len(batch) * self.max_tokens)

    def request(self, inputs: Inputs, batch_size: int | None = None) -> GenerateRequest:
        import bat

        entries = inputs.results.prefixes(self.prefixes.set, self.prefixes.start, self.prefixes.stop)
        rule = bat.get_rule(self.rule, self.parameter)
        settings = self._settings(rule, self.max_tokens, batch_size or self.batch_size, basis_aware=True)
        if self.temperature is not None:
            heat = bat.Temperature(self.temperature, self.temperature_order)  # type: ignore[arg-type]
            settings = replace(settings, temperature=heat)
        prefixes = tuple(entry.to_prefix() for entry in entries)
        return self._request(inputs.model_request(self.model), prefixes, settings)

    def _request(
        self, model: ModelRequest, prefixes: tuple[Prefix, ...], settings: GenerationSettings
    ) -> GenerateRequest:
        from workers.requests import GenerateRequest, GenerateWithVllmRequest

        if self.engine is None:
            return GenerateRequest(model, prefixes, settings)
        assert self.engine_version is not None
        options = self.engine_options or {}
        return GenerateWithVllmRequest(model, prefixes, settings, self.engine_version, options)

    def _settings(
        self, rule: Rule, max_tokens: int, batch_size: int, *, basis_aware: bool
    ) -> GenerationSettings:
        from workers.generation_record import GenerationSettings

        names = ("constraints", "max_tries", "fallback", "solver") if basis_aware else ()
        options = {name: getattr(self, name) for name in names if getattr(self, name) is not None}
        return GenerationSettings(
            rule, max_tokens=max_tokens, batch_size=batch_size, seed=self.seed, sample=self.sample, **options
        )
