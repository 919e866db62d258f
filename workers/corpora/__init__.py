"""Corpora of human text: documents with an identity, in an order that can be had again.

open_corpus        a corpus by name: hub dataset, local files, embedded       registry.py
Document           a text and the hash that names it; the two halves          documents.py
TextSource         what a corpus of your own derives from                     documents.py
HubText            datasets of the model hub, streamed                        hub.py
LocalText          JSONL, Parquet and text files                              files.py
EmbeddedText       texts that ship inside packages of the Python index        embedded.py
"""

from workers.corpora.documents import (
    Document,
    DocumentCounts,
    DocumentReader,
    TextSource,
    document_id,
    split_of,
)
from workers.corpora.hub import CorpusUnavailableError
from workers.corpora.registry import Corpus, corpus_names, open_corpus, provenance
from workers.names import SPLITS, Split

__all__ = [
    "SPLITS",
    "Corpus",
    "CorpusUnavailableError",
    "Document",
    "DocumentCounts",
    "DocumentReader",
    "Split",
    "TextSource",
    "corpus_names",
    "document_id",
    "open_corpus",
    "provenance",
    "split_of",
]
