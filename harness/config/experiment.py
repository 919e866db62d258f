"""The sections of a sweep that results depend on: all but the names in them enters the ids of jobs."""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import Field

from harness.config.methods import DEFAULT_CONSTRAINTS
from harness.config.sections import (
    DISTINCT,
    Added,
    BasisSizes,
    Dtype,
    Enters,
    Fallback,
    Label,
    Natural,
    Positive,
    Section,
    Seeds,
    Solver,
    Split,
    Statistic,
    Text,
    Unordered,
)
from harness.scoring.statistics import STATISTIC_NAMES


class Model(Section):
    """A causal language model."""

    name: Text
    """smollm2-135m (embedded), a model of the hub, a folder, a .gguf file, or fake:v=1000,d=16 for tests."""

    revision: Text | None = None
    """Branch, tag or commit, for models of the hub; the newest by default."""

    dtype: Dtype = "float32"
    """The precision of its weights and passes."""

    label: Annotated[Label | None, Enters.RUN] = None
    """What stages and reports call it; its name by default."""

    @property
    def title(self) -> str:
        """What the model is called."""
        return self.label or self.name


class Corpus(Section):
    """Human text. Each document belongs to the validation or the test half by the hash of its text."""

    name: Text
    """openwebtext, news or movie-reviews (embedded), datasets:NAME, the path of a file or folder, or a
    plug-in."""

    revision: Text | None = None
    """Commit, branch or tag of a hub dataset; the one that `openwebtext` is pinned to, else the newest."""

    source_split: Text = "train"
    """The split of a hub dataset that is divided into our halves."""

    column: Text = "text"
    """The column or field that holds the text."""

    prefix_column: Annotated[Text | None, Added] = None
    """For a .jsonl or .parquet file that says where each text is to be cut: the column with the prefix. What
    people wrote is then the text behind it. By default, prefixes are the first `prefixes.tokens` tokens."""

    config: Text | None = None
    """The configuration of a hub dataset that has several."""


class Prefixes(Section):
    """The openings of documents that models continue. Which half they are from is a stage's `split`."""

    count: Annotated[int, Field(ge=2)] = 5000
    """How many prefixes, the first of their half that are long enough; MAUVE compares two at least. 5,000 in
    the paper."""

    tokens: Positive = 35
    """Tokens of a prefix. 35 in the paper."""

    min_continuation_tokens: Natural = 93
    """How many tokens a document must have behind its prefix; shorter ones are skipped and counted."""

    shard_size: Positive = 256
    """Prefixes in one job. Batches are cut from a shard, so results depend on it in their last bits."""


class Generation(Section):
    """How texts are made from prefixes."""

    max_tokens: Positive = 256
    """Tokens of a continuation at most. Human continuations are cut to the same length before scoring."""

    max_tries: Positive = 10
    """Candidates a basis-aware rule may reject for one token before the fallback."""

    fallback: Fallback = "greedy"
    """Then: `greedy` takes the most likely token, `exact` draws from the exact candidate set."""

    solver: Solver = "certified"
    """Who solves the programs of basis-aware rules."""

    batch_size: Positive = 64
    """Prefixes in one forward pass."""

    seeds: Seeds = (0,)
    """Every setting is run once with each seed; a seed gives all methods the same random numbers. A stage
    may have its own."""

    samples: Positive = 1
    """Texts for each prefix and seed."""


class Measurement(Section):
    """The human text that rejection rates are measured on, once for each model."""

    tokens: Positive = 10_000
    """How many human tokens are asked about. 10,000 in the paper."""

    per_document: Positive = 4
    """Tokens from one document at most: tokens of one document are alike."""

    basis_sizes: BasisSizes = (DEFAULT_CONSTRAINTS,)
    """The numbers of constraints for which basis-aware rules are measured. Each costs a program a token."""

    split: Split = "validation"
    """The half of the corpus the tokens are from."""

    seed: Natural = 0
    """Which documents and tokens are drawn."""

    tolerance: Annotated[float, Field(ge=1e-12, lt=1)] = 1e-6
    """How far the intervals of critical thresholds are closed, relative to their size."""

    shard_size: Positive = 64
    """Documents in one job. Batches are cut from a shard, so results depend on it in their last bits."""


class Features(Section):
    """The vectors that MAUVE compares: a model's last hidden state at the end of each text."""

    model: Text = "smollm2-135m"
    """The model that reads the texts, named as in `models`. MAUVE's own default is gpt2-large."""

    revision: Text | None = None
    """Branch, tag or commit, for a model of the hub."""

    dtype: Dtype = "float32"
    """Its precision."""

    max_tokens: Positive = 1024
    """How much of each text it reads."""

    include_prefix: bool = True
    """Whether it reads the prefix before the continuation, of people and models alike."""

    batch_size: Positive = 16
    """Texts in one forward pass."""

    shard_size: Positive = 256
    """Texts in one job. Batches are cut from a shard, so results depend on it in their last bits."""


class Mauve(Section):
    """MAUVE, as mauve-text computes it; the defaults are its own, but for more than one seed."""

    buckets: Literal["auto"] | Annotated[int, Field(ge=2)] = "auto"
    """Clusters of k-means; auto is a tenth of the number of texts."""

    scaling_factor: Annotated[float, Field(gt=0)] = 5.0
    """The constant c of the MAUVE paper."""

    kmeans_seeds: Seeds = (25, 26, 27, 28, 29)
    """The clustering is repeated with each seed. 25 is the one that mauve-text uses by itself."""

    kmeans_redo: Positive = 5
    """Starts of k-means for each seed; the best is kept."""

    kmeans_max_iterations: Positive = 500
    """Steps of each start at most."""

    explained_variance: Annotated[float, Field(gt=0, lt=1)] = 0.9
    """Share of the variance that is kept before clustering."""

    curve_points: Annotated[int, Field(ge=2)] = 25
    """Points of the divergence curve."""


class Scoring(Section):
    """What is computed from the texts."""

    mauve: Mauve = Mauve()
    """Settings of MAUVE."""

    statistics: Annotated[tuple[Statistic, ...], DISTINCT, Unordered] = STATISTIC_NAMES
    """What else is reported; all of the project's own by default, [] for none. `sampling` is how tokens came
    to be accepted."""

    resamples: Natural = 1000
    """Resamplings of the prefixes, for intervals; 0 for none."""

    resample_seed: Natural = 0
    """Which resamplings."""
