"""The sweep of an import: that of an existing run with the imports added, or a new one for the file alone.

An existing run keeps its prefixes, human text and settings. The texts must continue its prefixes; they join
every stage and model where they do. Finished jobs are not run again.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from pydantic import ValidationError

from bat.errors import InvalidInputError
from harness.config import SweepConfig, as_written, from_identity, parse_config, run_identity
from harness.config.imports import Import
from harness.jobs import ImportTexts
from harness.planning.materials import load_imported
from harness.store import Instance, InstanceKind, InstanceState, Reader, Run
from harness.words import counted
from workers.corpora.tables import read_table

STAGE = "compare"
FEATURES = "smollm2-135m"
MAX_TOKENS = 256


@dataclass(frozen=True)
class ImportOptions:
    """What to import. None means a default for a new run, and the present value for an existing run."""

    run: str
    file: str
    columns: tuple[tuple[str, str], ...]  # (name of the method, column with its texts)
    prefix: str | None = None
    prefix_id: str | None = None
    human: str = "human"
    features: str | None = None
    tokenizer: str | None = None
    max_tokens: int | None = None
    written_by: str | None = None

    @property
    def imports(self) -> tuple[Import, ...]:
        """The entries of a sweep."""
        if self.prefix is not None and self.prefix_id is not None:
            raise InvalidInputError(
                f"texts are matched to prefixes by one column; got {self.prefix!r} for the text of prefixes "
                f"and {self.prefix_id!r} for their ids. Give only one of them."
            )
        try:
            return tuple(
                Import(
                    name=name,
                    file=self.file,
                    continuation=column,
                    prefix=self.prefix,
                    prefix_id=self.prefix_id,
                )
                for name, column in self.columns
            )
        except ValidationError as error:
            [problem, *_] = error.errors()
            raise InvalidInputError(
                f"{problem['loc'][0]} of an import is invalid: {problem['msg']}; got {problem['input']!r}."
            ) from error


def import_sweep(options: ImportOptions, reader: Reader | None) -> SweepConfig:
    """The sweep to run; InvalidInputError if the texts do not fit the run."""
    run = None if reader is None else reader.find_run(options.run)
    if reader is None or run is None:
        return _new_sweep(options)
    return _joined_sweep(options, reader, run)


def _new_sweep(options: ImportOptions) -> SweepConfig:
    if options.prefix_id is not None:
        raise InvalidInputError(
            f"prefix ids need an existing run; there is no run {options.run!r}. Choose an existing run, or "
            "match by the text of prefixes with --prefix-column."
        )
    imports = options.imports
    prefix = imports[0].prefix_column
    for source in imports:  # reports errors in the file before a model is loaded
        load_imported(source)
    rows = len(read_table(options.file, (prefix, options.human)))
    if rows < 2:
        raise InvalidInputError(f"MAUVE needs at least two texts; {options.file} has {rows}. Add rows.")
    features = options.features or FEATURES
    return parse_config(
        {
            "name": options.run,
            "models": [{"name": options.tokenizer or features, "label": options.written_by or "imported"}],
            "corpus": {"name": options.file, "column": options.human, "prefix_column": prefix},
            "prefixes": {"count": rows, "min_continuation_tokens": 1},
            "generation": {"max_tokens": options.max_tokens or MAX_TOKENS},
            "features": {"model": features},
            "scoring": {"statistics": _statistics()},
            "imports": [_plain(source) for source in imports],
            "stages": [{"name": STAGE, "split": "all"}],
        }
    )


def _statistics() -> list[str]:
    from harness.config.experiment import Scoring

    return [name for name in Scoring().statistics if name not in ImportTexts.lacks_statistics]


def _joined_sweep(options: ImportOptions, reader: Reader, run: Run) -> SweepConfig:
    config = from_identity(run.config)
    _check_options(options, config)
    present = {source.name: source for source in config.imports}
    for source in options.imports:
        before = present.get(source.name)
        if before is not None and not _same_texts(source, before):
            raise InvalidInputError(
                f"run {run.name!r} already has an import {source.name!r}, column {before.continuation!r} of "
                f"{before.file}. Choose another name with --method."
            )
    new = [source for source in options.imports if source.name not in present]
    if not new:
        return config  # to be resumed
    instances = reader.instances(run.id, with_jobs=False)
    _check_finished(reader, run, instances)
    human = [instance for instance in instances if instance.kind is InstanceKind.HUMAN]
    joined = [join(source, reader, run, human) for source in new]
    written = as_written(run_identity(config))
    written["imports"] = [*written.get("imports", ()), *map(_plain, joined)]
    return parse_config(written)


def _check_options(options: ImportOptions, config: SweepConfig) -> None:
    """Raise if an option contradicts the value of an existing run."""
    present: dict[str, tuple[object, tuple[object, ...]]] = {
        "--features": (options.features, (config.features.model,)),
        "--max-tokens": (options.max_tokens, (config.generation.max_tokens,)),
        "--tokenizer": (options.tokenizer, tuple(model.name for model in config.models)),
        "--written-by": (options.written_by, tuple(model.title for model in config.models)),
    }
    for option, (value, allowed) in present.items():
        if value is not None and value not in allowed:
            listed = " and ".join(map(str, allowed))
            raise InvalidInputError(
                f"run {options.run!r} exists, with {listed} for {option}; got {value}. "
                f"Omit {option} to join the run, or choose another name with --run."
            )


def _same_texts(first: Import, second: Import) -> bool:
    return all(
        getattr(first, name) == getattr(second, name)
        for name in ("file", "continuation", "prefix_column", "prefix_id")
    )


def _check_finished(reader: Reader, run: Run, instances: Sequence[Instance]) -> None:
    """An import must not start the remaining work of a sweep, which may be meant for a cluster."""
    unfinished = sum(kind.total - kind.done for kind in reader.progress(run.id))
    is_open = any(instance.state is InstanceState.OPEN for instance in instances)
    if unfinished or is_open or not instances:
        raise InvalidInputError(
            f"run {run.name!r} must be done before texts join it; {counted(unfinished, 'job')} left. Finish "
            "it with the command that started it, or choose another name with --run."
        )


def join(source: Import, reader: Reader, run: Run, human: Sequence[Instance]) -> Import:
    """The import, restricted to the stages and models for whose prefixes it has texts."""
    texts = load_imported(source)
    fitting: list[Instance] = []
    most_matched, prefix_count = 0, 0
    for instance in human:
        assert instance.prefix_set is not None
        prefixes = reader.prefixes(instance.prefix_set)
        matched = sum(texts.find(prefix) is not None for prefix in prefixes)
        if matched == len(prefixes):
            texts.check_distinct(prefixes)
            fitting.append(instance)
        if matched >= most_matched:
            most_matched, prefix_count = matched, len(prefixes)
    if not fitting:
        raise InvalidInputError(
            f"{source.file} must have a text for each prefix of run {run.name!r}; it has texts for "
            f"{most_matched} of {prefix_count}. Add the others, or choose another name with --run to import "
            "it as a separate run."
        )
    cuts = {(instance.stage, instance.prefix_set) for instance in fitting}
    if source.prefix_id and len(cuts) > len({stage for stage, _ in cuts}):
        raise InvalidInputError(
            f"the models of run {run.name!r} cut the same documents into different prefixes, so the prefixes "
            f"that {source.file} continues are ambiguous by id. Match by text, with --prefix-column."
        )
    stages = tuple(dict.fromkeys(instance.stage for instance in fitting))
    models = tuple(dict.fromkeys(instance.model for instance in fitting))
    return source.model_copy(update={"stages": stages, "models": models})


def _plain(source: Import) -> dict[str, Any]:
    return source.model_dump(mode="json", exclude_none=True)
