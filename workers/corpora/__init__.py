"""Corpora of human text: documents with an identity, in an order that can be had again.

open_corpus        a corpus by name: hub dataset, local files, embedded       registry.py
Document           a text and the hash that names it; the two halves          documents.py
HubText            datasets of the model hub, streamed                        hub.py
LocalText          JSONL, Parquet and text files                              files.py
EmbeddedText       texts that ship inside packages of the Python index        embedded.py
"""

from workers.corpora.documents import (
    SPLITS,
    Document,
    DocumentCounts,
    DocumentReader,
    Split,
    document_id,
    split_of,
)
from workers.corpora.hub import CorpusUnavailableError
from workers.corpora.registry import Corpus, corpus_names, open_corpus

__all__ = [
    "SPLITS",
    "Corpus",
    "CorpusUnavailableError",
    "Document",
    "DocumentCounts",
    "DocumentReader",
    "Split",
    "corpus_names",
    "document_id",
    "open_corpus",
    "split_of",
]
