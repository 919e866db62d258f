"""The sections of a sweep that results depend on: everything in them except labels enters job ids."""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import Field

from harness.config.methods import DEFAULT_CONSTRAINTS
from harness.config.sections import (
    DISTINCT,
    Added,
    AtLeastTwo,
    ConstraintCounts,
    Dtype,
    Engine,
    EngineOption,
    Enters,
    Fallback,
    Formerly,
    Label,
    Natural,
    Positive,
    Section,
    Seeds,
    Solver,
    Split,
    SplitOn,
    Statistic,
    Text,
    Unordered,
)
from harness.scoring.statistics import DEFAULT_STATISTICS


class Model(Section):
    """A causal language model."""

    name: Text
    """smollm2-135m (included), a Hugging Face model id, a folder, a .gguf file, package:NAME for the GGUF
    file of an installed package, or fake:v=1000,d=16 for tests."""

    revision: Text | None = None
    """Branch, tag or commit of a model on the Hugging Face Hub; default: the latest."""

    dtype: Dtype = "float32"
    """Precision of the weights and of forward passes."""

    label: Annotated[Label | None, Enters.RUN] = None
    """Name used in stages and reports; default: `name`."""

    @property
    def title(self) -> str:
        """The name used in stages and reports."""
        return self.label or self.name


class Corpus(Section):
    """Human text. The hash of a document's text decides whether it is in the validation or the test half."""

    name: Text
    """news or movie-reviews (both included), openwebtext, datasets:NAME, the path of a file or folder, or a
    plug-in."""

    revision: Text | None = None
    """Commit, branch or tag of a Hub dataset; default: the pinned commit for `openwebtext`, otherwise the
    latest."""

    source_split: Text = "train"
    """The split of a Hub dataset that is divided into the validation and test halves."""

    column: Text = "text"
    """The column or field with the text."""

    prefix_column: Annotated[Text | None, Added] = None
    """For a .jsonl or .parquet file that defines its own prefixes: the column with the prefix of each text.
    The human continuation is the text after it. Default: prefixes are the first `prefixes.tokens` tokens."""

    split_on: Annotated[SplitOn, Added] = "file"
    """What one document of a .txt file is: the whole `file`, a `paragraph` (up to an empty line) or a `line`.
    In .jsonl and .parquet files it is always a row."""

    config: Text | None = None
    """The configuration to use of a Hub dataset that has several."""


class Prefixes(Section):
    """The beginnings of documents, which models continue. A stage's `split` selects the half."""

    count: AtLeastTwo = 5000
    """Number of prefixes: the first documents of the half that are long enough. MAUVE needs at least two.
    5,000 in the paper."""

    tokens: Positive = 35
    """Tokens per prefix. 35 in the paper."""

    min_continuation_tokens: Natural = 93
    """Tokens that a document must have after its prefix; shorter documents are skipped and counted."""

    shard_size: Positive = 256
    """Prefixes per job. Batches do not cross jobs, so a different size can change the last bits of
    results."""


class Generation(Section):
    """How models continue prefixes."""

    max_tokens: Positive = 256
    """Maximum number of tokens per continuation. Human continuations are cut to the same length before
    scoring."""

    max_tries: Positive = 10
    """How many candidates a basis-aware rule can reject for one token before the fallback is used."""

    fallback: Fallback = "greedy"
    """What happens after `max_tries`: `greedy` takes the most likely token, `exact` samples from the exact
    candidate set."""

    solver: Solver = "certified"
    """The solver for the linear programs of basis-aware rules."""

    batch_size: Positive = 64
    """Prefixes per forward pass."""

    seeds: Seeds = (0,)
    """Every setting is run once per seed. With the same seed, all methods use the same random numbers. A
    stage can set its own seeds."""

    samples: Positive = 1
    """Texts per prefix and seed."""

    engine: Annotated[Engine, Added] = "transformers"
    """What runs the model: `transformers`, with our own loop, or `vllm`, which is faster on GPUs and must be
    installed. With vLLM, `batch_size` is the maximum number of texts per forward pass, and texts are not
    promised to be bit-identical when they are generated again."""

    engine_options: Annotated[dict[str, EngineOption] | None, Added] = None
    """Options of `vllm.LLM`, such as `gpu_memory_utilization: 0.8`. They are part of job ids, as is the
    version of vLLM."""


class Measurement(Section):
    """The human text on which rejection rates are measured, once per model."""

    tokens: Positive = 10_000
    """Number of human tokens to measure. 10,000 in the paper."""

    per_document: Positive = 4
    """Maximum number of tokens per document, because tokens of the same document are correlated."""

    constraints: Annotated[ConstraintCounts, Formerly("basis_sizes")] = (DEFAULT_CONSTRAINTS,)
    """The numbers of constraints for which basis-aware rules are measured. Each adds one linear program per
    token."""

    split: Split = "validation"
    """The half of the corpus that the tokens come from."""

    seed: Natural = 0
    """Seed for drawing documents and tokens."""

    tolerance: Annotated[float, Field(ge=1e-12, lt=1)] = 1e-6
    """Relative width to which the intervals of critical thresholds are narrowed."""

    shard_size: Positive = 64
    """Documents per job. Batches do not cross jobs, so a different size can change the last bits of
    results."""


class Features(Section):
    """The vectors that MAUVE compares: a model's last hidden state at the end of each text."""

    model: Text = "smollm2-135m"
    """The model that reads the texts, named as in `models`. MAUVE's own default is gpt2-large."""

    revision: Text | None = None
    """Branch, tag or commit of a model on the Hugging Face Hub; default: the latest."""

    dtype: Dtype = "float32"
    """Precision of its weights and of forward passes."""

    max_tokens: Positive = 1024
    """Maximum number of tokens that it reads of each text."""

    include_prefix: bool = True
    """Whether it reads the prefix before each continuation, human or generated."""

    batch_size: Positive = 16
    """Texts per forward pass."""

    shard_size: Positive = 256
    """Texts per job. Batches do not cross jobs, so a different size can change the last bits of results."""


class Mauve(Section):
    """MAUVE, as mauve-text computes it. The defaults are those of mauve-text, but with more seeds."""

    buckets: Literal["auto"] | AtLeastTwo = "auto"
    """Number of k-means clusters; auto: a tenth of the number of texts."""

    scaling_factor: Annotated[float, Field(gt=0)] = 5.0
    """The constant c of the MAUVE paper."""

    kmeans_seeds: Seeds = (25, 26, 27, 28, 29)
    """The clustering is repeated with each seed. mauve-text uses 25."""

    kmeans_redo: Positive = 5
    """k-means runs per seed; the best is kept."""

    kmeans_max_iterations: Positive = 500
    """Maximum number of iterations of a k-means run."""

    explained_variance: Annotated[float, Field(gt=0, lt=1)] = 0.9
    """Fraction of the variance that is kept before clustering."""

    curve_points: AtLeastTwo = 25
    """Number of points on the divergence curve."""


class Scoring(Section):
    """What is computed from the texts."""

    mauve: Mauve = Mauve()
    """Options of MAUVE."""

    statistics: Annotated[tuple[Statistic, ...], DISTINCT, Unordered] = DEFAULT_STATISTICS
    """Other scores to report; default: all built-in ones but `coherence`, which needs vectors of prefixes; []
    for none. `sampling` describes how tokens were accepted."""

    resamples: Natural = 1000
    """How often prefixes are resampled to compute intervals; 0 for no intervals."""

    resample_seed: Natural = 0
    """Seed for the resampling."""
