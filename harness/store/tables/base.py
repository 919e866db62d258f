"""What all tables share: names of constraints, portable types, the database's clock."""

from __future__ import annotations

from collections.abc import Iterable
from datetime import UTC, datetime
from typing import Any

from sqlalchemy import JSON, BigInteger, CheckConstraint, DateTime, Dialect, Integer, MetaData, literal
from sqlalchemy.ext.compiler import compiles
from sqlalchemy.orm import DeclarativeBase
from sqlalchemy.sql.compiler import SQLCompiler
from sqlalchemy.sql.functions import FunctionElement
from sqlalchemy.types import TypeDecorator

ID_LENGTH = 64  # a SHA-256 in hexadecimal digits


class Base(DeclarativeBase):
    """The root of all tables. Constraints are named, so that migrations can find them on every database."""

    metadata = MetaData(
        naming_convention={
            "ix": "ix_%(table_name)s_%(column_0_N_name)s",
            "uq": "uq_%(table_name)s_%(column_0_N_name)s",
            "ck": "ck_%(table_name)s_%(constraint_name)s",
            "fk": "fk_%(table_name)s_%(column_0_N_name)s",
            "pk": "pk_%(table_name)s",
        }
    )


class UtcTime(TypeDecorator[datetime]):
    """A moment in UTC, read back with its time zone, which SQLite does not store."""

    impl = DateTime(timezone=True)
    cache_ok = True

    def process_result_value(self, value: datetime | None, dialect: Dialect) -> datetime | None:
        if value is None:
            return None
        return value.replace(tzinfo=UTC) if value.tzinfo is None else value.astimezone(UTC)


# SQLite numbers rows by itself only in a column of type INTEGER, which has 64 bits there.
Key = BigInteger().with_variant(Integer, "sqlite")

# A missing value is NULL, never the JSON word null.
Json = JSON(none_as_null=True)


class utc_now(FunctionElement[datetime]):
    """The database's clock, some seconds ahead: every time in a store is read from this one clock."""

    type = UtcTime()
    inherit_cache = True
    name = "utc_now"

    def __init__(self, seconds: Any = 0.0) -> None:
        super().__init__(literal(seconds) if isinstance(seconds, int | float) else seconds)


@compiles(utc_now, "sqlite")
def _sqlite_now(element: utc_now, compiler: SQLCompiler, **keywords: Any) -> str:
    seconds = compiler.process(element.clauses, **keywords)
    # SQLAlchemy's format of a DateTime, but with three decimals: text that sorts in the order of time.
    return f"strftime('%Y-%m-%d %H:%M:%f', 'now', printf('%+.3f seconds', {seconds}))"


@compiles(utc_now, "postgresql")
def _postgresql_now(element: utc_now, compiler: SQLCompiler, **keywords: Any) -> str:
    seconds = compiler.process(element.clauses, **keywords)
    # Not now(), which is when the transaction began: waiting for a lock must not shorten a lease.
    return f"(clock_timestamp() + make_interval(secs => CAST({seconds} AS double precision)))"


def one_of(column: str, values: Iterable[str]) -> CheckConstraint:
    """Restrict a text column to the values of an enumeration."""
    listed = ", ".join(f"'{value}'" for value in values)
    return CheckConstraint(f"{column} IN ({listed})", name=column)
