"""Jobs: units of work that are run, retried and resumed independently. One module for each kind:

    measure_human_text.py    rows about human tokens, from which all rejection rates are computed
    likelihood.py            the same for human continuations, for their perplexity
    generate.py              texts that continue prefixes under a setting
    import_texts.py          texts made elsewhere that continue prefixes
                             (texts.py has what both share)
    featurize_human.py       vectors of human continuations        }
    featurize_generated.py   vectors of generated texts            } featurize.py has what they share
    featurize_prefixes.py    vectors of prefixes alone             }
    score_generated.py       MAUVE and statistics of a setting     } score.py has what both share
    score_human.py           the same statistics of human text     }

A module has everything about its kind: the typed specification, what it needs, how much work it is, the
request to a worker, what is stored of the answer, and its description for people. base.py defines what every
kind implements; nothing outside this package reads a key of a specification.

To add a kind: write its module, add it to KINDS, and let planning/instances.py plan it.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from bat.errors import InvalidInputError
from harness.jobs.base import HumanText, Inputs, Job, JobKind, JobLabels, JobSpec, Results, Trial
from harness.jobs.featurize_generated import FeaturizeGenerated
from harness.jobs.featurize_human import FeaturizeHuman
from harness.jobs.featurize_prefixes import FeaturizePrefixes
from harness.jobs.generate import Generate
from harness.jobs.identity import LOCAL, RESULT_VERSION, SpecJson, canonical_json, sha256_of
from harness.jobs.import_texts import ImportedFile, ImportTexts
from harness.jobs.likelihood import HumanLikelihood
from harness.jobs.measure_human_text import MeasureHumanText
from harness.jobs.parts import CorpusIdentity, ModelIdentity, PrefixRange, is_commit
from harness.jobs.rows import Rows
from harness.jobs.score_generated import ScoreGenerated
from harness.jobs.score_human import ScoreHuman
from harness.jobs.texts import TextsJob

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


def parse_job(kind: JobKind, spec: SpecJson) -> JobSpec[Any]:
    """The typed specification of a stored job."""
    for candidate in KINDS:
        if candidate.kind is kind and _has(spec, candidate.marker):
            return candidate.parse(spec)
    raise InvalidInputError(
        f"a {kind} job with the keys {', '.join(sorted(spec))} is of no kind that this version knows. "
        "A newer bat-harness may have written it: use that."
    )


def _has(spec: Any, path: tuple[str, ...]) -> bool:
    for key in path:
        if not isinstance(spec, Mapping) or key not in spec:
            return False
        spec = spec[key]
    return True


__all__ = [
    "KINDS",
    "LOCAL",
    "RESULT_VERSION",
    "ROWS_TYPES",
    "CorpusIdentity",
    "FeaturizeGenerated",
    "FeaturizeHuman",
    "FeaturizePrefixes",
    "Generate",
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
    "ModelIdentity",
    "PrefixRange",
    "Results",
    "ScoreGenerated",
    "ScoreHuman",
    "SpecJson",
    "TextsJob",
    "Trial",
    "canonical_json",
    "is_commit",
    "parse_job",
    "sha256_of",
]
