"""Errors of a store, besides invalid input (InvalidInputError).

BatError
└── StoreError                  the database reported an error
    ├── StoreUnavailableError   it cannot be opened or written: no folder, disk full, no server...
    │   ├── NoStoreError        it does not exist yet: no file, or no tables
    │   └── StoreLostError      its server cannot be reached, or ended the connection: it may come back
    └── SchemaVersionError      its tables are older or newer than this version of bat-harness
"""

from __future__ import annotations

from bat.errors import BatError


class StoreError(BatError):
    """The database reported an error."""


class StoreUnavailableError(StoreError):
    """The database cannot be opened or written."""


class NoStoreError(StoreUnavailableError):
    """The database does not exist yet, or is empty."""


class StoreLostError(StoreUnavailableError):
    """The server of the database cannot be reached, or it ended the connection. It may come back."""

    def __init__(self, sentence: str, reason: str) -> None:
        super().__init__(sentence)
        self.reason = reason  # in the words of the database


class SchemaVersionError(StoreError):
    """The tables are older or newer than this version of bat-harness."""
