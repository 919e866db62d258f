"""The texts of the settings that a study compares, found by what people call them."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from bat.errors import InvalidInputError
from bat.suggestions import did_you_mean
from harness.config import from_identity
from harness.config.expansion import IMPORTED
from harness.jobs import PrefixEntry
from harness.judge.design import HUMAN
from harness.report.names import setting_name, short_name
from harness.report.tables.comparing import split_sides
from harness.report.tokenizers import token_texts
from harness.store import Instance, InstanceKind, Reader, Run

TEXTS = "texts"  # the role of jobs that write texts


@dataclass(frozen=True, slots=True)
class ShownText:
    """A continuation as judges see it, and the job that wrote it."""

    text: str
    job: str | None = None


@dataclass(frozen=True, slots=True)
class Side:
    """A setting with one seed, or the people who wrote the corpus."""

    label: str
    rule: str | None
    stage: str
    split: str
    model: str
    prefix_set: str
    seed: int | None
    jobs: tuple[str, ...]

    @property
    def is_human(self) -> bool:
        return self.label == HUMAN

    @property
    def where(self) -> tuple[str, str, str]:
        """What two sides must have in common."""
        return self.stage, self.model, self.prefix_set


@dataclass(frozen=True, slots=True)
class Sides:
    """All settings of a run with the seed and the model that were asked for."""

    run: Run
    sides: tuple[tuple[Side, frozenset[str]], ...]  # with everything that each may be called

    def pair(self, text: str) -> tuple[Side, Side]:
        """The two settings of `A:B`; raises unless they are known and continue the same prefixes."""
        splits = split_sides(text, what="a pair must be two settings", example="ba-eta:eta")
        for first, second in splits:  # names may contain colons
            if self._called(first) and self._called(second):
                return self._matching(first, second)
        for name in splits[0]:
            if not self._called(name):
                raise self._unknown(name)
        raise self._unknown(text)

    def _called(self, name: str) -> list[Side]:
        if name == HUMAN:
            # People continued the prefixes of every setting.
            places = {side.where: side for side, _ in self.sides}
            return [
                Side(HUMAN, None, side.stage, side.split, side.model, side.prefix_set, None, ())
                for side in places.values()
            ]
        return [side for side, names in self.sides if name in names]

    def _matching(self, first: str, second: str) -> tuple[Side, Side]:
        pairs = [
            (left, right)
            for left in self._called(first)
            for right in self._called(second)
            if left.where == right.where and left.label != right.label
        ]
        if {left.label for left in self._called(first)} == {right.label for right in self._called(second)}:
            raise InvalidInputError(
                f"a pair must be two different settings; {first}:{second} has the same on both sides."
            )
        if not pairs:
            stages = [
                " and ".join(sorted({each.stage for each in self._called(name)})) for name in (first, second)
            ]
            raise InvalidInputError(
                f"a pair must be two settings that continue the same prefixes; {first} (stage {stages[0]}) "
                f"and {second} (stage {stages[1]}) of run {self.run.label} share none. Choose settings of "
                "one stage."
            )
        test = [pair for pair in pairs if pair[0].split == "test"] or pairs
        labels = dict.fromkeys(f"{left.label}:{right.label}" for left, right in test)
        places = dict.fromkeys(f"{left.stage} on {left.model}" for left, _ in test)
        if len(labels) > 1:
            raise InvalidInputError(
                f"a pair must name one setting on each side; {first}:{second} can be {', '.join(labels)}. "
                "Name one of them."
            )
        if len(places) > 1:
            raise InvalidInputError(
                f"a study must be of one stage and one model; {first}:{second} is in {', '.join(places)}. "
                "Choose with --stage and --model."
            )
        return test[0]

    def _unknown(self, name: str) -> InvalidInputError:
        labels = [side.label for side, _ in self.sides]
        known = [*dict.fromkeys(labels), HUMAN]
        names = sorted({each for _, names in self.sides for each in names})
        return InvalidInputError(
            f"a pair must name settings of run {self.run.label} whose texts are written; got {name!r}. "
            f"Settings: {', '.join(known)}.{did_you_mean(name, names)}"
        )


def find_sides(
    reader: Reader, run: Run, *, model: str | None = None, stage: str | None = None, seed: int | None = None
) -> Sides:
    """The settings of a run whose texts are all written."""
    instances = [
        each
        for each in reader.instances(run.id)
        if each.kind is InstanceKind.GENERATE and each.prefix_set and each.job_ids(TEXTS)
    ]
    for what, value, known in (
        ("model", model, [each.model for each in instances]),
        ("stage", stage, [each.stage for each in instances]),
        ("seed", seed, [str(each.seed) for each in instances if each.seed is not None]),
    ):
        if value is not None and str(value) not in known:
            raise InvalidInputError(
                f"the {what} of a study must be one of run {run.label} that has texts "
                f"({', '.join(dict.fromkeys(known)) or 'none'}); got {value!r}."
            )
    chosen = [
        each
        for each in instances
        if model in (None, each.model) and stage in (None, each.stage) and _has_seed(each, instances, seed)
    ]
    done = reader.done_ids([job for each in chosen for job in each.job_ids(TEXTS)])
    return Sides(
        run,
        tuple((_side_of(each), _names_of(each)) for each in chosen if done >= set(each.job_ids(TEXTS))),
    )


def _has_seed(instance: Instance, instances: Sequence[Instance], seed: int | None) -> bool:
    """Whether an instance has the seed asked for, which is the first one by default; imports have none."""
    if instance.seed is None:
        return True
    seeds = [each.seed for each in instances if each.seed is not None and each.stage == instance.stage]
    return instance.seed == (seeds[0] if seed is None else seed)


def _details(instance: Instance) -> tuple[int | None, float | None, str | None]:
    return instance.constraints, instance.temperature, instance.temperature_order


def _side_of(instance: Instance) -> Side:
    label = setting_name(instance.method or "", instance.rule, instance.parameter, *_details(instance))
    rule = None if instance.rule == IMPORTED else instance.rule
    where = (instance.stage, instance.split, instance.model, instance.prefix_set or "")
    return Side(label, rule, *where, instance.seed, instance.job_ids(TEXTS))


def _names_of(instance: Instance) -> frozenset[str]:
    """Everything that a setting may be called: its method, its label, its rule and parameter."""
    label = _side_of(instance).label
    names = {instance.method or label, label}
    if instance.rule is not None:
        names |= {
            short_name(instance.rule, instance.parameter, *details) for details in (_details(instance), ())
        }
    return frozenset(names)


def shown_texts(
    reader: Reader, run: Run, side: Side, prefixes: Mapping[str, PrefixEntry], last_tokens: int | None
) -> dict[str, ShownText]:
    """What judges see of a side's texts, by prefix: whole continuations, or their last tokens."""
    if last_tokens is None:
        if side.is_human:
            return {name: ShownText(entry.continuation) for name, entry in prefixes.items()}
        return {text.prefix_id: ShownText(text.text, text.job_id) for text in reader.texts(side.jobs)}
    name = from_identity(run.config).get_model(side.model).name
    shown = {}
    for prefix_id, tokens, job in _tokens(reader, side, prefixes):
        before = [*prefixes[prefix_id].token_ids, *tokens[:-last_tokens]]
        texts = token_texts(name, before, tokens[-last_tokens:])
        shown[prefix_id] = ShownText("".join(texts), job)
    return shown


def _tokens(
    reader: Reader, side: Side, prefixes: Mapping[str, PrefixEntry]
) -> Iterator[tuple[str, Sequence[int], str | None]]:
    if side.is_human:
        for name, entry in prefixes.items():
            yield name, entry.continuation_ids, None
        return
    for job, generation in reader.generations(side.jobs):
        ids = generation.token_ids.tolist()
        # The token that ends a text is not part of what a reader sees.
        yield generation.prefix_id, ids[:-1] if generation.stop_reason == "end" else ids, job
