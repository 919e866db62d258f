"""Jobs: units of work that are run, retried and resumed independently. One module for each kind:

    measure_human_text.py    rows about human tokens, from which all rejection rates are computed
    likelihood.py            the same for human continuations, for their perplexity
    generate.py              texts that continue prefixes under a setting         } texts.py has what
    import_texts.py          texts made elsewhere that continue prefixes          } both share
    featurize.py             vectors of human continuations, of generated texts, and of prefixes alone
    score_generated.py       MAUVE and statistics of a setting                    } score.py has what
    score_human.py           the same statistics of human text                    } both share

A module has everything about its kind: the typed specification, what it needs, how much work it is, the
request to a worker, what is stored of the answer, and its description for people. base.py defines what every
kind implements; nothing outside this package reads a key of a specification.

To add a kind: write its module, add it to KINDS, and plan it in planning/planner.py.
"""

from __future__ import annotations

from typing import Any

from harness.jobs.base import (
    LOCAL,
    RESULT_VERSION,
    Job,
    JobKind,
    JobLabels,
    JobSpec,
    Rows,
    SpecJson,
    canonical_json,
    job_id,
    parse_job,
    sha256_of,
)
from harness.jobs.featurize import FeatureRows, FeaturizeGenerated, FeaturizeHuman, FeaturizePrefixes
from harness.jobs.generate import Generate
from harness.jobs.import_texts import ImportedFile, ImportTexts
from harness.jobs.likelihood import HumanLikelihood
from harness.jobs.measure_human_text import MeasureHumanText, MeasurementRows
from harness.jobs.parts import (
    CorpusIdentity,
    HumanText,
    Inputs,
    ModelIdentity,
    PrefixEntry,
    PrefixRange,
    PrefixRows,
    Results,
    Trial,
    is_commit,
    storable,
)
from harness.jobs.score import ScoreRows
from harness.jobs.score_generated import ScoreGenerated
from harness.jobs.score_human import ScoreHuman
from harness.jobs.texts import GenerationEntry, GenerationRows, TextsJob

KINDS: tuple[type[JobSpec[Any]], ...] = (
    MeasureHumanText,
    HumanLikelihood,
    ImportTexts,  # before Generate, whose specification has no marker
    Generate,
    FeaturizeHuman,
    FeaturizeGenerated,
    FeaturizePrefixes,
    ScoreGenerated,
    ScoreHuman,
)

# What the result of a job is stored as.
ROWS_TYPES: dict[JobKind, type[Rows]] = {spec.kind: spec.rows_type for spec in KINDS}


__all__ = [
    "KINDS",
    "LOCAL",
    "RESULT_VERSION",
    "ROWS_TYPES",
    "CorpusIdentity",
    "FeatureRows",
    "FeaturizeGenerated",
    "FeaturizeHuman",
    "FeaturizePrefixes",
    "Generate",
    "GenerationEntry",
    "GenerationRows",
    "HumanLikelihood",
    "HumanText",
    "ImportTexts",
    "ImportedFile",
    "Inputs",
    "Job",
    "JobKind",
    "JobLabels",
    "JobSpec",
    "MeasureHumanText",
    "MeasurementRows",
    "ModelIdentity",
    "PrefixEntry",
    "PrefixRange",
    "PrefixRows",
    "Results",
    "Rows",
    "ScoreGenerated",
    "ScoreHuman",
    "ScoreRows",
    "SpecJson",
    "TextsJob",
    "Trial",
    "canonical_json",
    "is_commit",
    "job_id",
    "parse_job",
    "sha256_of",
    "storable",
]
