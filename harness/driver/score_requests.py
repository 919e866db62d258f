"""The requests of score jobs: texts, features and likelihoods as the store has them."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from harness.driver.executor import ScoreRequest
from harness.jobs import Spec
from harness.scoring.resampling import Resampling
from harness.scoring.scorer import FeaturePair
from harness.scoring.texts import FloatArray, TextSet, TokenLikelihood
from harness.store import Reader
from workers.generation import StopReason


def score_request(reader: Reader, spec: Spec) -> ScoreRequest:
    """Ask for the scores of what a model wrote, or of what people did."""
    source = spec["texts"]
    if "generated" in source:
        texts = _generated_texts(reader, source["generated"])
        features = FeaturePair(reader.features(spec["human"]), reader.features(spec["generated"]))
    else:
        texts = _human_texts(reader, source["human"], spec["likelihood"], spec["max_tokens"])
        features = None
    return ScoreRequest(
        texts,
        tuple(spec["statistics"]),
        Resampling(texts.prefixes, spec["resamples"], spec["resample_seed"]),
        features,
        spec.get("mauve"),
    )


def _generated_texts(reader: Reader, job_ids: Sequence[str]) -> TextSet:
    jobs = reader.find_jobs(job_ids)
    prefix_set = jobs[job_ids[0]].spec["prefixes"]["set"]
    place_of = {entry.id: place for place, entry in enumerate(reader.prefixes(prefix_set))}
    generations = [generation for _, generation in reader.generations(job_ids)]
    lengths = [len(generation.trace) for generation in generations]
    probabilities = [generation.trace.probabilities.astype(np.float64) for generation in generations]
    return TextSet(
        prefixes=len(place_of),
        places=np.array([place_of[generation.prefix_id] for generation in generations]),
        token_ids=tuple(generation.token_ids.astype(np.int64) for generation in generations),
        ended=np.array([generation.stop_reason is StopReason.END for generation in generations]),
        likelihood=TokenLikelihood(
            np.repeat(np.arange(len(generations)), lengths), _logs(np.concatenate(probabilities))
        ),
        traces=tuple(generation.trace for generation in generations),
    )


def _human_texts(reader: Reader, prefix_set: str, likelihood: Sequence[str], max_tokens: int) -> TextSet:
    entries = reader.prefixes(prefix_set)
    place_of = {entry.id: place for place, entry in enumerate(entries)}
    texts = np.empty(0, dtype=np.int64)
    log_probs = np.empty(0)
    if likelihood:
        measured = reader.measurement(likelihood)
        texts = np.array([place_of[name] for name in measured.document.tolist()], dtype=np.int64)
        log_probs = _logs(measured.probability)
    return TextSet(
        prefixes=len(entries),
        places=np.arange(len(entries)),
        token_ids=tuple(np.array(entry.continuation_ids, dtype=np.int64) for entry in entries),
        ended=np.array([len(entry.continuation_ids) < max_tokens for entry in entries]),
        likelihood=TokenLikelihood(texts, log_probs),
    )


def _logs(probabilities: FloatArray) -> FloatArray:
    with np.errstate(divide="ignore"):  # who scores them refuses what is infinite, in words
        return np.log(probabilities)
