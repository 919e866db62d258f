"""What the jobs of a sweep are made from: model cards, prefixes, human text to measure, texts made elsewhere.

Of a model, the fingerprints and the tokenizer are needed here, and remembered: workers load the weights.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING

from bat.errors import InvalidInputError
from harness.config.schema import Features, Import, Model, SweepConfig
from harness.jobs import (
    LOCAL,
    CorpusIdentity,
    HumanText,
    ImportedFile,
    ModelIdentity,
    PrefixEntry,
    PrefixRows,
    is_commit,
    storable,
)
from harness.store import Reader
from workers.corpora import Corpus, Split, open_corpus
from workers.corpora.tables import check_unique, digest_of, read_table
from workers.encoding import decode, decode_continuation, encode
from workers.given_texts import given_prefixes, without_prefix
from workers.local_files import is_model_path
from workers.model_cards import load_card
from workers.model_info import ModelInfo
from workers.positions import draw_from_corpus
from workers.prefixes import PrefixSet, prefixes
from workers.requests import ModelRequest

if TYPE_CHECKING:
    from transformers import PreTrainedTokenizerBase


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
        fingerprints = (info.dtype, info.weight_fingerprint, info.tokenizer_fingerprint)
        if is_model_path(self.request.name):
            return ModelIdentity(LOCAL, None, *fingerprints, title=info.name)
        return ModelIdentity(info.name, info.revision, *fingerprints)

    @property
    def pinned_request(self) -> ModelRequest:
        """The request for workers: the model of the sweep, at the commit that was loaded for planning."""
        revision = self.info.revision
        return replace(self.request, revision=revision) if is_commit(revision) else self.request


class Materials:
    """Models and texts of a sweep, loaded at first use and cached."""

    def __init__(self, config: SweepConfig) -> None:
        self.config = config
        self._cards: dict[ModelRequest, ModelCard] = {}
        self._corpora: dict[Split, Corpus] = {}
        self._prefix_sets: dict[tuple[str, Split], PrefixSet] = {}
        self._human_text: dict[str, HumanText] = {}
        self._imported: dict[tuple[str, str], ImportedTexts] = {}
        self._matched: set[tuple[str, str, Split]] = set()

    def prepare(self) -> None:
        """Load what any plan of the sweep is made from."""
        for stage in self.config.stages:
            for model in self.config.models_of(stage):
                card = self.card(model)
                if stage.kind == "measure":
                    self.human_text(card)
                else:
                    self.prefix_set(card, stage.text_split)

    def card(self, model: Model | Features) -> ModelCard:
        """The card of a model of the sweep."""
        name = model.name if isinstance(model, Model) else model.model
        request = ModelRequest(name, model.dtype, model.revision)
        if request not in self._cards:
            self._cards[request] = ModelCard(request, *load_card(name, model.dtype, model.revision))
        return self._cards[request]

    def card_of(self, identity: ModelIdentity) -> ModelCard:
        """The card of a job's model, found among the models of the sweep by content."""
        models: list[Model | Features] = [*self.config.models, self.config.features]
        for model in models:
            card = self.card(model)
            if card.identity == identity:
                return card
        raise InvalidInputError(
            f"no model of this sweep is {identity.shown} with weights {identity.weights}. "
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
                split_on=corpus.split_on,
            )
        return self._corpora[split]

    def prefix_set(self, card: ModelCard, split: Split) -> PrefixSet:
        """The prefixes of one half, in the tokens of a model."""
        key = (card.info.tokenizer_fingerprint, split)
        if key not in self._prefix_sets:
            self._prefix_sets[key] = self._make_prefix_set(card, split)
        return self._prefix_sets[key]

    def _make_prefix_set(self, card: ModelCard, split: Split) -> PrefixSet:
        options, corpus = self.config.prefixes, self.config.corpus
        if corpus.prefix_column is not None:
            return given_prefixes(
                self.corpus(split),
                corpus.name,
                (corpus.prefix_column, corpus.column),
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
        """The prefixes of one half with their texts, for the store."""
        prefix_set = self.prefix_set(card, split)
        texts = [decode(card.tokenizer, prefix.token_ids) for prefix in prefix_set.prefixes]
        continuations = [
            decode_continuation(card.tokenizer, prefix.token_ids, prefix.continuation_ids)
            for prefix in prefix_set.prefixes
        ]
        return PrefixRows.of(prefix_set, texts, continuations)

    def imported(self, card: ModelCard, source: Import) -> ImportedTexts:
        """The texts of an import, to match with prefixes in the tokens of a model."""
        key = (card.info.tokenizer_fingerprint, source.name)
        if key not in self._imported:
            tokenizer = card.tokenizer
            self._imported[key] = load_imported(
                source, lambda text: decode(tokenizer, encode(tokenizer, text))
            )
        return self._imported[key]

    def imported_file(self, card: ModelCard, split: Split, source: Import) -> ImportedFile:
        """The file of an import; raise unless it has a text for each prefix of one half."""
        imported = self.imported(card, source)
        key = (card.info.tokenizer_fingerprint, source.name, split)
        if key not in self._matched:
            imported.match(self.prefix_rows(card, split).entries)
            self._matched.add(key)
        return imported.file

    def imported_texts(
        self, file: ImportedFile, model: ModelIdentity, prefixes: Sequence[PrefixEntry]
    ) -> list[str]:
        """The texts in a file that continue these prefixes."""
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
        """The text on which rejection rates are measured, in the tokens of a model."""
        key = card.info.tokenizer_fingerprint
        if key not in self._human_text:
            options = self.config.measurement
            corpus = self.corpus(options.split)
            documents, positions = draw_from_corpus(
                corpus, card.tokenizer, options.tokens, options.per_document, options.seed
            )
            identity = CorpusIdentity.of(corpus.name, corpus.revision, corpus.split)
            self._human_text[key] = HumanText(tuple(documents), positions, identity)
        return self._human_text[key]


@dataclass(frozen=True)
class SweepInputs:
    """What requests are built from: a sweep's materials, and stored results. See harness.jobs.Inputs."""

    materials: Materials
    results: Reader

    def model_request(self, model: ModelIdentity) -> ModelRequest:
        """The request that makes a worker load a model."""
        return self.materials.card_of(model).pinned_request

    def human_text(self, model: ModelIdentity) -> HumanText:
        """The text on which rejection rates are measured, in the tokens of a model."""
        return self.materials.human_text(self.materials.card_of(model))

    def imported_texts(
        self, file: ImportedFile, model: ModelIdentity, prefixes: Sequence[PrefixEntry]
    ) -> list[str]:
        """The texts of a file that continue these prefixes."""
        return self.materials.imported_texts(file, model, prefixes)


@dataclass(frozen=True)
class ImportedTexts:
    """The texts in a column of a file, by the id or the text of their prefix."""

    file: ImportedFile
    path: str
    by_id: dict[str, str]
    by_text: dict[str, str]

    def find(self, prefix: PrefixEntry) -> str | None:
        """The text that continues a prefix, without the prefix."""
        text = self.by_id.get(prefix.id) or self.by_text.get(_comparable(prefix.text))
        return None if text is None else without_prefix(prefix.text, text)

    def match(self, prefixes: Sequence[PrefixEntry]) -> list[str]:
        """The text for each prefix. Raise if a prefix has none, or if it is ambiguous by its text."""
        self.check_distinct(prefixes)
        texts = []
        for prefix in prefixes:
            text = self.find(prefix)
            if text is None:
                raise self._no_text(prefixes, prefix)
            if not text.strip():
                raise InvalidInputError(
                    f"column {self.file.continuation!r} of {self.path} must have text after the prefix; "
                    f"there is none for the prefix that begins {_begin(prefix.text)}."
                )
            texts.append(text)
        return texts

    def check_distinct(self, prefixes: Sequence[PrefixEntry]) -> None:
        """Raise if texts are matched by the text of prefixes and two prefixes have the same text."""
        seen: dict[str, str] = {}
        for prefix in prefixes if self.by_text else ():
            first = seen.setdefault(_comparable(prefix.text), prefix.id)
            if first != prefix.id:
                raise InvalidInputError(
                    f"prefixes {first} and {prefix.id} have the same text, {_begin(prefix.text)}, so it is "
                    f"ambiguous which one {self.path} continues. Match by id: prefix_id in a sweep, "
                    "--prefix-id-column on the command line."
                )

    def _no_text(self, prefixes: Sequence[PrefixEntry], first: PrefixEntry) -> InvalidInputError:
        count = sum(self.find(prefix) is None for prefix in prefixes)
        by = "id" if self.file.prefix_id else "text"
        return InvalidInputError(
            f"{self.path} must have a text for each prefix of the stage; matched by {by}, {count} of "
            f"{len(prefixes)} prefixes have none. The first is {first.id}, which begins "
            f"{_begin(first.text)}. Add the texts, or import the file as a separate run."
        )


def load_imported(
    source: Import, through_tokenizer: Callable[[str], str] = lambda text: text
) -> ImportedTexts:
    """Read the texts of an import. `through_tokenizer` encodes a text with a tokenizer and decodes it."""
    rows = read_table(source.file, (source.prefix_column, source.continuation))
    by_id: dict[str, str] = {}
    by_text: dict[str, str] = {}
    if source.prefix_id is not None:
        check_unique(rows, lambda row: row.texts[0], "prefix id")
        by_id = {row.texts[0]: row.texts[1] for row in rows}
    else:
        check_unique(rows, lambda row: _comparable(row.texts[0]), "prefix")
        for prefix, text in (row.texts for row in rows):
            text = without_prefix(prefix, text)
            by_text[_comparable(through_tokenizer(prefix))] = text
            by_text[_comparable(prefix)] = text
    file = ImportedFile(
        name=Path(source.file).name,
        sha256=digest_of(source.file),
        continuation=source.continuation,
        prefix=None if source.prefix_id else source.prefix_column,
        prefix_id=source.prefix_id,
    )
    return ImportedTexts(file, source.file, by_id, by_text)


def _comparable(text: str) -> str:
    """The text for comparisons: without spaces, because programs decode tokens with different spacing."""
    return "".join(storable(text).split())


def _begin(text: str) -> str:
    return repr(text if len(text) <= 40 else f"{text[:37]}...")
