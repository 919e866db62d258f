"""What Alembic runs first: hand it the transaction that harness.store.versions has open."""

from __future__ import annotations

from alembic import context

context.configure(connection=context.config.attributes["connection"])
context.run_migrations()
