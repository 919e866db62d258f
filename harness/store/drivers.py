"""Drivers that are there, whether or not they hold leases: while they plan, for one, nothing is leased."""

from __future__ import annotations

from sqlalchemy import Connection, select, update

from harness.store.records import DriverPresence
from harness.store.statements import add_rows
from harness.store.tables import DriverRow, utc_now


def beat(connection: Connection, owner: str, run_id: int, doing: str) -> None:
    """Note that a driver is there, and what it does."""
    add_rows(connection, DriverRow, [{"owner": owner, "run_id": run_id, "doing": doing}])
    seen = update(DriverRow).where(DriverRow.owner == owner).values(doing=doing, seen_at=utc_now())
    connection.execute(seen)


def leave(connection: Connection, owner: str) -> None:
    """Note that a driver has ended."""
    still_there = (DriverRow.owner == owner, DriverRow.ended_at.is_(None))
    connection.execute(update(DriverRow).where(*still_there).values(ended_at=utc_now()))


def list_present(connection: Connection, run_id: int) -> list[DriverPresence]:
    """The drivers of a run that have not said that they ended; the last to be heard of first."""
    statement = (
        select(DriverRow.owner, DriverRow.doing, DriverRow.started_at, DriverRow.seen_at)
        .where(DriverRow.run_id == run_id, DriverRow.ended_at.is_(None))
        .order_by(DriverRow.seen_at.desc(), DriverRow.owner)
    )
    return [DriverPresence(*row) for row in connection.execute(statement)]
