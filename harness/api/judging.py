"""Human evaluation: studies made, listed, reported, exported and imported."""

from __future__ import annotations

import json
import os
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from bat.errors import InvalidInputError
from harness.api.runs import Database, RunName, choose_run, reading
from harness.config.sections import NAME_RULE, is_name
from harness.export.row_files import check_absent, replacing, write_csv
from harness.judge.batch_csv import answer_rows, read_batch, task_rows
from harness.judge.design import StudyDesign
from harness.judge.exclusion import ExclusionRules
from harness.judge.importing import Imported, import_batch
from harness.judge.making import NewStudy, make_study, pairs_of_run
from harness.judge.pair_files import pairs_of_file
from harness.judge.power import TIES
from harness.judge.results import StudyResults, study_results
from harness.judge.sides import find_sides
from harness.judge.study_files import import_study, study_records
from harness.judge.tables import study_tables, suffixes
from harness.judge.votes import load_votes
from harness.report.paper import source
from harness.report.parts import Missing, Table
from harness.store import Reader, Run
from harness.store.judging import open_studies
from harness.store.studies import StudyReader
from harness.store.study_records import Study, StudyProgress
from harness.words import counted

Address = str | os.PathLike[str]


@dataclass(frozen=True, slots=True)
class TextFile:
    """Texts made elsewhere, a column for each method."""

    path: str
    columns: Mapping[str, str]  # by the labels that pairs name
    prefix_column: str = "prefix"
    human_column: str | None = None  # for attention checks


def plan_study(
    db: Database | None,
    run: RunName,
    pairs: Sequence[str],
    design: StudyDesign,
    *,
    items: int | None = None,
    stage: str | None = None,
    model: str | None = None,
    seed: int | None = None,
    ties: float = TIES,
    file: TextFile | None = None,
) -> NewStudy:
    """A study of the texts of a run or of a file, and what it can show. Nothing is stored."""
    if file is not None:
        if design.last_tokens is not None:
            raise InvalidInputError(
                "the last tokens can be shown of a run's texts, whose tokenizer is known; of a file, name a "
                "column that has only what judges should see, with --method LABEL=COLUMN."
            )
        human = file.human_column
        found = pairs_of_file(
            file.path, pairs, file.columns, prefix_column=file.prefix_column, human_column=human
        )
        return make_study(replace(design, source=Path(file.path).name), *found, items, ties)
    assert db is not None
    with reading(db) as reader:
        chosen = choose_run(reader, run)
        sides = find_sides(reader, chosen, model=model, stage=stage, seed=seed)
        texts = pairs_of_run(reader, sides, pairs, design.last_tokens)
        used = sides.pair(pairs[0])[0].model
        return make_study(replace(design, run=chosen.name, model=used), *texts, items, ties)


def store_study(db: Address, study: NewStudy, name: str) -> tuple[Study, bool]:
    """Store a study, unless it is there; returns it, with whether it is new."""
    check_study_name(name)
    with open_studies(db, create=study.design.run is None) as store:
        return store.add_study(study.id, name, study.design.as_record(), study.items)


def check_study_name(name: str) -> None:
    """Raise unless a study can have this name."""
    if not is_name(name):
        raise InvalidInputError(f"the name of a study {NAME_RULE}; got {name!r}.")


def list_studies(db: Database) -> list[tuple[Study, StudyProgress]]:
    """The studies of a database, the latest first, and how far each is."""
    with reading(db) as reader:
        studies = StudyReader.of(reader)
        return [(study, studies.progress(study.id)) for study in studies.studies()]


def report_study(db: Database, study: str, rules: ExclusionRules | None = None) -> StudyResults:
    """The results of a study, with and without the judges whom the rules leave out."""
    with reading(db) as reader:
        studies = StudyReader.of(reader)
        return study_results(load_votes(studies, studies.get_study(study)), rules)


def judged_parts(reader: Reader, runs: Sequence[Run]) -> list[Table | Missing]:
    """The tables of the studies that judge texts of these runs, or how to make such a study."""
    studies = StudyReader.of(reader)
    chosen = [
        study
        for study in studies.studies_of_runs([run.id for run in runs])
        if studies.progress(study.id).votes
    ]
    if not chosen:
        what = f"Judgements by people ({source('human-evaluation')})"
        command = f"bat-harness judge make {runs[0].name} --name NAME --pair A:B --db {reader.address}"
        return [Missing(what, "they need people; to make a study for them:", command, of_paper=True)]
    tables: list[Table | Missing] = []
    for study, suffix in zip(chosen, suffixes([study.name for study in chosen]), strict=True):
        tables += study_tables(study_results(load_votes(studies, study)), suffix)
    return tables


def export_study(
    db: Database,
    study: str,
    output: Path,
    *,
    tasks: bool = False,
    platform_ids: bool = False,
    force: bool = False,
) -> int:
    """Write the answers of a study as CSV or JSONL, by the ending of the file; returns the number of rows.

    Judges are named by salted hashes unless `platform_ids` asks for their names on the platform. With
    `tasks`, the CSV has what another platform shows to its judges instead.
    """
    if output.suffix not in (".csv", ".jsonl"):
        raise InvalidInputError(f"a study is exported to a file that ends in .csv or .jsonl; got {output}.")
    if tasks and output.suffix != ".csv":
        raise InvalidInputError(f"tasks for another platform are CSV; got {output}. Use a name in .csv.")
    check_absent(output, force=force)
    with reading(db) as reader:
        studies = StudyReader.of(reader)
        chosen = studies.get_study(study)
        items, answers = studies.items(chosen.id), studies.answers(chosen.id)
        names = {
            judge.id: judge.platform_id
            if platform_ids and judge.platform_id is not None
            else chosen.pseudonym(judge.id)
            for judge in studies.judges(chosen.id)
        }
    with replacing(output) as partial, partial.open("w", encoding="utf-8", newline="") as stream:
        if output.suffix == ".jsonl":
            return _write_lines(study_records(chosen, items, answers, names), stream)
        rows = task_rows(chosen, items) if tasks else answer_rows(chosen, items, answers, names)
        return write_csv(*rows, stream)


def _write_lines(records: Iterable[Mapping[str, Any]], stream: Any) -> int:
    lines = [json.dumps(record, ensure_ascii=False) + "\n" for record in records]
    stream.writelines(lines)
    return len(lines)


def import_answers(
    db: Address,
    path: Path,
    name: str | None = None,
    *,
    columns: Mapping[str, str] | None = None,
    settings: tuple[str, str] | None = None,
) -> Imported:
    """Bring answers that were given elsewhere into a database, from CSV in the batch format or from JSONL."""
    if name is not None:
        check_study_name(name)
    if path.suffix == ".jsonl":
        with open_studies(db, create=True) as store:
            return import_study(store, path, name)
    rows = read_batch(path, columns, settings)
    with open_studies(db, create=True) as store:
        return import_batch(store, rows, name, path.name)


def describe_plan(study: NewStudy) -> list[str]:
    """What a study asks and can show, a sentence each."""
    design = study.design
    lines = []
    for pair, power in zip(design.pairs, study.power, strict=True):
        lines.append(f"{pair.first} : {pair.second}")
        if pair.identical:
            lines.append(
                f"  {pair.identical} of {counted(pair.prefixes, 'prefix', 'prefixes')} have the same text on "
                "both sides, and are not judged."
            )
        lines.append(f"  {power}")
    return [*lines, *study.notes]
