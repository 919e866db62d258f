"""What the jobs of a sweep are made of: cards of its models, prefixes, and the human text to be measured.

A model is loaded once to learn its fingerprints and tokenizer, and let go: the workers have their own.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

from transformers import PreTrainedTokenizerBase

from bat.errors import InvalidInputError
from harness.config.schema import Features, Import, Model, SweepConfig
from harness.jobs import CorpusIdentity, HumanText, ImportedFile, ModelIdentity, is_commit
from harness.jobs.rows import PrefixEntry, PrefixRows
from harness.planning.imported import ImportedTexts, load_imported
from workers.corpora import Corpus, Split, open_corpus
from workers.encoding import decode, decode_continuation, encode
from workers.given_texts import given_prefixes
from workers.models import LanguageModel, ModelInfo, load
from workers.positions import draw_from_corpus
from workers.prefixes import PrefixSet, prefixes
from workers.requests import ModelRequest


@dataclass(frozen=True)
class ModelCard:
    """A model without its weights."""

    request: ModelRequest
    info: ModelInfo
    tokenizer: PreTrainedTokenizerBase

    @property
    def identity(self) -> ModelIdentity:
        """What results depend on."""
        info = self.info
        return ModelIdentity(
            info.name, info.revision, info.dtype, info.weight_fingerprint, info.tokenizer_fingerprint
        )

    @property
    def pinned_request(self) -> ModelRequest:
        """What to ask a worker for: the model as the sweep names it, at the commit that the plan found."""
        revision = self.info.revision
        return replace(self.request, revision=revision) if is_commit(revision) else self.request


class Materials:
    """Everything is found when first asked for, and kept."""

    def __init__(self, config: SweepConfig, load: Callable[..., LanguageModel] = load) -> None:
        self.config = config
        self._load = load
        self._cards: dict[ModelRequest, ModelCard] = {}
        self._corpora: dict[Split, Corpus] = {}
        self._prefix_sets: dict[tuple[str, Split], PrefixSet] = {}
        self._human_text: dict[str, HumanText] = {}
        self._imported: dict[tuple[str, str], ImportedTexts] = {}
        self._matched: set[tuple[str, str, Split]] = set()

    def card(self, model: Model | Features) -> ModelCard:
        """The card of a model that the sweep names."""
        name = model.name if isinstance(model, Model) else model.model
        request = ModelRequest(name, model.dtype, model.revision)
        if request not in self._cards:
            loaded = self._load(name, "cpu", model.dtype, model.revision)
            self._cards[request] = ModelCard(request, loaded.info, loaded.tokenizer)
        return self._cards[request]

    def card_of(self, identity: ModelIdentity) -> ModelCard:
        """The card of a model that a job is about; the models of the sweep are compared by content."""
        models: list[Model | Features] = [*self.config.models, self.config.features]
        for model in models:
            card = self.card(model)
            if card.identity == identity:
                return card
        raise InvalidInputError(
            f"no model of this sweep is {identity.name} with weights {identity.weights}. "
            "Was the model changed? Start a new run."
        )

    def corpus(self, split: Split) -> Corpus:
        """One half of the sweep's corpus."""
        if split not in self._corpora:
            corpus = self.config.corpus
            self._corpora[split] = open_corpus(
                corpus.name,
                split=split,
                revision=corpus.revision,
                source_split=corpus.source_split,
                column=corpus.column,
                config=corpus.config,
            )
        return self._corpora[split]

    def prefix_set(self, card: ModelCard, split: Split) -> PrefixSet:
        """The prefixes of one half in the tokens of a model."""
        key = (card.info.tokenizer_fingerprint, split)
        if key not in self._prefix_sets:
            self._prefix_sets[key] = self._make_prefix_set(card, split)
        return self._prefix_sets[key]

    def _make_prefix_set(self, card: ModelCard, split: Split) -> PrefixSet:
        options, human = self.config.prefixes, self.config.corpus
        if human.prefix_column is not None:
            return given_prefixes(
                self.corpus(split),
                human.name,
                (human.prefix_column, human.column),
                card.tokenizer,
                options.count,
                continuation_tokens=self.config.generation.max_tokens,
                min_continuation_tokens=options.min_continuation_tokens,
            )
        return prefixes(
            self.corpus(split),
            card.tokenizer,
            options.count,
            options.tokens,
            continuation_tokens=self.config.generation.max_tokens,
            min_continuation_tokens=options.min_continuation_tokens,
        )

    def prefix_rows(self, card: ModelCard, split: Split) -> PrefixRows:
        """The same with their texts, for the store."""
        found = self.prefix_set(card, split)
        openings = [decode(card.tokenizer, prefix.token_ids) for prefix in found.prefixes]
        endings = [
            decode_continuation(card.tokenizer, prefix.token_ids, prefix.continuation_ids)
            for prefix in found.prefixes
        ]
        return PrefixRows.of(found, openings, endings)

    def imported(self, card: ModelCard, source: Import) -> ImportedTexts:
        """The texts of an import, to be matched to prefixes in the tokens of a model."""
        key = (card.info.tokenizer_fingerprint, source.name)
        if key not in self._imported:
            tokenizer = card.tokenizer
            self._imported[key] = load_imported(
                source, lambda text: decode(tokenizer, encode(tokenizer, text))
            )
        return self._imported[key]

    def imported_file(self, card: ModelCard, split: Split, source: Import) -> ImportedFile:
        """The file of an import, which has a text for each prefix of one half."""
        imported = self.imported(card, source)
        key = (card.info.tokenizer_fingerprint, source.name, split)
        if key not in self._matched:
            imported.match(self.prefix_rows(card, split).entries)
            self._matched.add(key)
        return imported.file

    def imported_texts(
        self, file: ImportedFile, model: ModelIdentity, prefixes: Sequence[PrefixEntry]
    ) -> list[str]:
        """The texts of a file that continue these prefixes."""
        card = self.card_of(model)
        for source in self.config.imports:
            imported = self.imported(card, source)
            if imported.file == file:
                return imported.match(prefixes)
        raise InvalidInputError(
            f"no import of this sweep is {file.name} with sha256 {file.sha256[:12]}. Was the file changed? "
            "Restore it, or import it as a new run."
        )

    def human_text(self, card: ModelCard) -> HumanText:
        """The text that rejection rates are measured on, in the tokens of a model."""
        key = card.info.tokenizer_fingerprint
        if key not in self._human_text:
            wanted = self.config.measurement
            corpus = self.corpus(wanted.split)
            documents, positions = draw_from_corpus(
                corpus, card.tokenizer, wanted.tokens, wanted.per_document, wanted.seed
            )
            identity = CorpusIdentity.of(corpus.name, corpus.revision, corpus.split)
            self._human_text[key] = HumanText(tuple(documents), positions, identity)
        return self._human_text[key]
