"""What can go wrong with a store, beside values that cannot be used (InvalidInputError).

BatError
└── StoreError                  the database refused or lost something
    ├── StoreUnavailableError   it cannot be opened or written: no folder, no room, no server...
    │   └── NoStoreError        there is nothing yet: no file, or no tables
    └── SchemaVersionError      its tables are older or newer than this version of bat-harness
"""

from __future__ import annotations

from bat.errors import BatError


class StoreError(BatError):
    """The database refused or lost something."""


class StoreUnavailableError(StoreError):
    """The database cannot be opened, or not be written to."""


class NoStoreError(StoreUnavailableError):
    """There is no database yet, or nothing in it."""


class SchemaVersionError(StoreError):
    """The tables are older or newer than this version of bat-harness."""
