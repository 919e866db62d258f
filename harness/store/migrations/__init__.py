"""The history of the tables, run by Alembic; docs/design/queue.md tells how to add to it."""
