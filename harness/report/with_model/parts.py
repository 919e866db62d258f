"""The parts of a report that need a run's first model, which is loaded here."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping

import bat
from bat.errors import InvalidInputError
from bat.rules import Rule
from harness.config.methods import DEFAULT_CONSTRAINTS
from harness.config.schema import SweepConfig
from harness.report.names import by_name, name_of, with_method
from harness.report.parts import Missing, Picture, Table
from harness.report.results import Results
from harness.report.tables.labels import shown
from harness.report.with_model.next_tokens import next_token_parts, paper_table
from harness.report.with_model.prompts import PROMPTS
from harness.report.with_model.rank import default_counts, rank_picture
from workers import models
from workers.corpora import open_corpus
from workers.models import LanguageModel
from workers.positions import TokenizedDocument, draw_from_corpus

Stage = Callable[[str, int], Callable[[int], None]]

# As in the paper's tables, if a run has no settings of its own.
_RULES = (("ba-eta", 0.024), ("eta", 0.002), ("epsilon", 0.0009), ("nucleus", 0.92))
_MAX_RULES = 6  # columns that fit a page
_PREFIXES_PER_DOCUMENT = 64


def model_parts(
    results: Results,
    revisions: Mapping[str, str],
    device: str,
    stage: Stage,
    *,
    paper: bool = True,
) -> Iterator[Table | Picture | Missing]:
    """Next tokens after the paper's prompts, and the rank of the outputs before and after truncation.

    `revisions` are the commits of the hub models that wrote the texts. With `paper`, its own tables of next
    tokens follow ours.
    """
    config = results.configs[0]
    model = config.models[0]
    progress = stage(f"Loading {model.title}", 1)
    loaded = models.load(model.name, device, model.dtype, revisions.get(model.name, model.revision))
    progress(1)
    rules, constraints = _rules(results, model.title)
    parts = next_token_parts(loaded, rules, constraints, stage("Next tokens", len(PROMPTS)))
    tables = [part for part in parts if isinstance(part, Table)]
    yield from (part for part in parts if not isinstance(part, Table))
    for number, table in enumerate(tables, start=1):
        yield table
        if paper:
            yield paper_table(number)
    truncating = {
        title: rule for title, rule in rules.items() if not rule.basis_aware and not rule.takes_no_parameter
    }
    most = max(default_counts(loaded.info.hidden_size, loaded.info.vocabulary_size))
    progress = stage("Rank of the outputs", 1 + len(truncating))
    try:
        yield rank_picture(loaded, _documents(config, loaded, most), truncating, progress)
    except InvalidInputError as error:  # a corpus with too little text
        command = "bat-harness report --with-model, for a run with a larger corpus"
        yield Missing("Rank of the outputs (Figure 10 of the paper)", str(error).rstrip("."), command)


def _rules(results: Results, model: str) -> tuple[dict[str, Rule], int]:
    """The run's own methods on a model, the first setting of each by its label, and the constraints of the
    basis-aware ones."""
    by_label: dict[str, Rule] = {}
    methods: set[str] = set()
    constraints: int | None = None
    for result in shown(results):
        is_own = result.model == model and not result.is_imported
        if is_own and result.method not in methods and len(by_label) < _MAX_RULES:
            rule = bat.get_rule(result.setting.rule, result.parameter)
            by_label[with_method(result.method, rule.name, name_of(rule))] = rule
            methods.add(result.method)
            constraints = constraints or result.setting.constraints
    usual = by_name(bat.get_rule(*rule) for rule in _RULES)
    return by_label or usual, constraints or DEFAULT_CONSTRAINTS


def _documents(config: SweepConfig, loaded: LanguageModel, positions: int) -> list[TokenizedDocument]:
    """Human text of the sweep's corpus, enough for the largest number of prefixes."""
    corpus = config.corpus
    opened = open_corpus(
        corpus.name,
        split=config.measurement.split,
        revision=corpus.revision,
        source_split=corpus.source_split,
        column=corpus.column,
        config=corpus.config,
        split_on=corpus.split_on,
    )
    documents, _ = draw_from_corpus(opened, loaded.tokenizer, positions, _PREFIXES_PER_DOCUMENT)
    return list(documents)
