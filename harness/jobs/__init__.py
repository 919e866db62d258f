"""Jobs: units of work that are run, retried and resumed independently. A module for each kind, or for two:

    measure_human_text.py    rows about human tokens, from which all rejection rates are computed; and
                             the same for human continuations, for their perplexity
    generate.py              texts that continue prefixes under a setting
    import_texts.py          texts made elsewhere that continue prefixes
    featurize.py             vectors of human continuations, and of generated texts
    score_generated.py       MAUVE and statistics of a setting                    } score.py has what
    score_human.py           the same statistics of human text                    } both share

A module has everything about its kind: the typed specification, what it needs, how much work it is, the
request to a worker, what is stored of the answer, and its description for people. base.py defines what every
kind implements, and collects the kinds; parts.py has what several kinds share. Nothing outside this package
reads a key of a specification.

To add a kind: write its module, decorate it with `register`, import it here, and plan it in
planning/planner.py.
"""

from __future__ import annotations

from harness.jobs.base import (
    KINDS,
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
    register,
    rows_type_of,
    sha256_of,
)
from harness.jobs.featurize import FeatureRows, FeaturizeGenerated, FeaturizeHuman
from harness.jobs.generate import Generate
from harness.jobs.import_texts import ImportedFile, ImportTexts
from harness.jobs.measure_human_text import HumanLikelihood, MeasureHumanText, MeasurementRows
from harness.jobs.parts import (
    CorpusIdentity,
    GenerationEntry,
    GenerationRows,
    HumanText,
    Inputs,
    ModelIdentity,
    PrefixEntry,
    PrefixRange,
    PrefixRows,
    Results,
    TextsJob,
    Trial,
    is_commit,
    storable,
)
from harness.jobs.score import ScoreRows
from harness.jobs.score_generated import ScoreGenerated
from harness.jobs.score_human import ScoreHuman

__all__ = [
    "KINDS",
    "LOCAL",
    "RESULT_VERSION",
    "CorpusIdentity",
    "FeatureRows",
    "FeaturizeGenerated",
    "FeaturizeHuman",
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
    "register",
    "rows_type_of",
    "sha256_of",
    "storable",
]
