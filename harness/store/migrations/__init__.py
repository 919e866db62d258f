"""The history of the tables, run by Alembic; docs/design/queue.md describes how to add to it."""
