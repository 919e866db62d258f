"""What jobs are for: the instances of a run, the role of each job in them, and the stage that asks for it;
one word for the position of a row in a result (item), and for the constraints of a program.

Runs of older databases have none yet; harness.planning.older_runs fills them in.
"""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

revision = "0004"
down_revision = "0003"

KEY = sa.BigInteger().with_variant(sa.Integer(), "sqlite")


def upgrade() -> None:
    """Add two tables and a column."""
    op.create_table(
        "instances",
        sa.Column("id", KEY, nullable=False),
        sa.Column("run_id", KEY, nullable=False),
        sa.Column("name", sa.Text(), nullable=False),
        sa.Column("position", sa.Integer(), nullable=False),
        sa.Column("kind", sa.String(8), nullable=False),
        sa.Column("stage", sa.Text(), nullable=False),
        sa.Column("stage_position", sa.Integer(), nullable=False),
        sa.Column("split", sa.Text(), nullable=False),
        sa.Column("model", sa.Text(), nullable=False),
        sa.Column("method", sa.Text(), nullable=True),
        sa.Column("seed", sa.BigInteger(), nullable=True),
        sa.Column("asked", sa.JSON(), nullable=True),
        sa.Column("rule", sa.Text(), nullable=True),
        sa.Column("parameter", sa.Float(53), nullable=True),
        sa.Column("constraints", sa.Integer(), nullable=True),
        sa.Column("state", sa.String(16), nullable=False),
        sa.Column("problem", sa.Text(), nullable=True),
        sa.Column("resolution", sa.Text(), nullable=True),
        sa.Column("prefix_set", sa.String(64), nullable=True),
        sa.CheckConstraint("kind IN ('measure', 'human', 'generate')", name="ck_instances_kind"),
        sa.CheckConstraint("state IN ('known', 'open', 'unresolvable')", name="ck_instances_state"),
        sa.ForeignKeyConstraint(["run_id"], ["runs.id"], name="fk_instances_run_id"),
        sa.PrimaryKeyConstraint("id", name="pk_instances"),
        sa.UniqueConstraint("run_id", "name", name="uq_instances_run_id_name"),
    )
    op.create_table(
        "instance_jobs",
        sa.Column("instance_id", KEY, nullable=False),
        sa.Column("job_key", KEY, nullable=False),
        sa.Column("role", sa.Text(), nullable=False),
        sa.ForeignKeyConstraint(["instance_id"], ["instances.id"], name="fk_instance_jobs_instance_id"),
        sa.ForeignKeyConstraint(["job_key"], ["jobs.key"], name="fk_instance_jobs_job_key"),
        sa.PrimaryKeyConstraint("instance_id", "job_key", name="pk_instance_jobs"),
        sqlite_with_rowid=False,
    )
    op.create_index("ix_instance_jobs_job_key", "instance_jobs", ["job_key"])
    op.add_column("run_jobs", sa.Column("stage", sa.Integer(), nullable=True))
    # Both databases rename a column in keys, indexes and references, too.
    for table in ("measurements", "measurement_thresholds", "features", "generations", "token_traces"):
        op.execute(f"ALTER TABLE {table} RENAME COLUMN place TO item")
    op.execute("ALTER TABLE prefixes RENAME COLUMN place TO item")
    for table in ("jobs", "measurement_thresholds"):
        op.execute(f"ALTER TABLE {table} RENAME COLUMN basis_size TO constraints")
