"""The first tables: runs, jobs and attempts, prefixes and texts, measurements, features, scores."""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

revision = "0001"
down_revision = None

# SQLite numbers rows by itself only in a column of type INTEGER, which has 64 bits there.
KEY = sa.BigInteger().with_variant(sa.Integer(), "sqlite")
TIME = sa.DateTime(timezone=True)
NUMBER = sa.Float(precision=53)


def upgrade() -> None:
    """Create all tables."""
    op.create_table(
        "jobs",
        sa.Column("key", KEY, nullable=False),
        sa.Column("id", sa.String(length=64), nullable=False),
        sa.Column("kind", sa.String(length=16), nullable=False),
        sa.Column("spec", sa.JSON(), nullable=False),
        sa.Column("model", sa.Text(), nullable=True),
        sa.Column("corpus", sa.Text(), nullable=True),
        sa.Column("method", sa.Text(), nullable=True),
        sa.Column("parameter", NUMBER, nullable=True),
        sa.Column("basis_size", sa.Integer(), nullable=True),
        sa.Column("state", sa.String(length=8), nullable=False),
        sa.Column("priority", sa.Integer(), nullable=False),
        sa.Column("attempt", sa.Integer(), nullable=False),
        sa.Column("failures", sa.Integer(), nullable=False),
        sa.Column("losses", sa.Integer(), nullable=False),
        sa.Column("owner", sa.Text(), nullable=True),
        sa.Column("lease_expires_at", TIME, nullable=True),
        sa.Column("not_before", TIME, nullable=True),
        sa.Column("adjustment", sa.JSON(), nullable=True),
        sa.Column("created_at", TIME, nullable=False),
        sa.Column("finished_at", TIME, nullable=True),
        sa.CheckConstraint(
            "(state = 'leased') = (owner IS NOT NULL AND lease_expires_at IS NOT NULL)", name="ck_jobs_lease"
        ),
        sa.CheckConstraint("kind IN ('measure', 'generate', 'featurize', 'score')", name="ck_jobs_kind"),
        sa.CheckConstraint("state IN ('waiting', 'leased', 'done', 'failed')", name="ck_jobs_state"),
        sa.PrimaryKeyConstraint("key", name="pk_jobs"),
        sa.UniqueConstraint("id", name="uq_jobs_id"),
    )
    op.create_index("ix_jobs_state_model", "jobs", ["state", "model", "priority", "key"])
    op.create_index("ix_jobs_state_priority", "jobs", ["state", "priority", "key"])
    op.create_table(
        "prefix_sets",
        sa.Column("key", KEY, nullable=False),
        sa.Column("id", sa.String(length=64), nullable=False),
        sa.Column("fingerprint", sa.String(length=64), nullable=False),
        sa.Column("corpus", sa.Text(), nullable=False),
        sa.Column("revision", sa.Text(), nullable=False),
        sa.Column("split", sa.Text(), nullable=False),
        sa.Column("counts", sa.JSON(), nullable=False),
        sa.Column("created_at", TIME, nullable=False),
        sa.PrimaryKeyConstraint("key", name="pk_prefix_sets"),
        sa.UniqueConstraint("id", name="uq_prefix_sets_id"),
    )
    op.create_table(
        "runs",
        sa.Column("id", KEY, nullable=False),
        sa.Column("identity", sa.String(length=64), nullable=False),
        sa.Column("name", sa.Text(), nullable=False),
        sa.Column("config", sa.JSON(), nullable=False),
        sa.Column("versions", sa.JSON(), nullable=False),
        sa.Column("created_at", TIME, nullable=False),
        sa.Column("started_at", TIME, nullable=False),
        sa.PrimaryKeyConstraint("id", name="pk_runs"),
        sa.UniqueConstraint("identity", name="uq_runs_identity"),
    )
    op.create_index("ix_runs_name", "runs", ["name"])
    op.create_table(
        "attempts",
        sa.Column("job_key", KEY, nullable=False),
        sa.Column("number", sa.Integer(), nullable=False),
        sa.Column("owner", sa.Text(), nullable=False),
        sa.Column("outcome", sa.String(length=8), nullable=False),
        sa.Column("error", sa.Text(), nullable=True),
        sa.Column("started_at", TIME, nullable=False),
        sa.Column("ended_at", TIME, nullable=True),
        sa.CheckConstraint(
            "outcome IN ('running', 'done', 'failed', 'lost', 'released')", name="ck_attempts_outcome"
        ),
        sa.ForeignKeyConstraint(["job_key"], ["jobs.key"], name="fk_attempts_job_key"),
        sa.PrimaryKeyConstraint("job_key", "number", name="pk_attempts"),
    )
    op.create_index("ix_attempts_ended_at", "attempts", ["ended_at"])
    op.create_table(
        "features",
        sa.Column("job_key", KEY, nullable=False),
        sa.Column("place", sa.Integer(), nullable=False),
        sa.Column("vector", sa.LargeBinary(), nullable=False),
        sa.ForeignKeyConstraint(["job_key"], ["jobs.key"], name="fk_features_job_key"),
        sa.PrimaryKeyConstraint("job_key", "place", name="pk_features"),
    )
    op.create_table(
        "job_needs",
        sa.Column("job_key", KEY, nullable=False),
        sa.Column("needed_key", KEY, nullable=False),
        sa.ForeignKeyConstraint(["job_key"], ["jobs.key"], name="fk_job_needs_job_key"),
        sa.ForeignKeyConstraint(["needed_key"], ["jobs.key"], name="fk_job_needs_needed_key"),
        sa.PrimaryKeyConstraint("job_key", "needed_key", name="pk_job_needs"),
        sqlite_with_rowid=False,
    )
    op.create_index("ix_job_needs_needed_key", "job_needs", ["needed_key"])
    op.create_table(
        "measurements",
        sa.Column("job_key", KEY, nullable=False),
        sa.Column("place", sa.Integer(), nullable=False),
        sa.Column("document", sa.String(length=64), nullable=False),
        sa.Column("position", sa.Integer(), nullable=False),
        sa.Column("token", sa.Integer(), nullable=False),
        sa.Column("probability", NUMBER, nullable=False),
        sa.Column("entropy", NUMBER, nullable=False),
        sa.Column("maximum", NUMBER, nullable=False),
        sa.Column("rank", sa.Integer(), nullable=False),
        sa.Column("mass_above", NUMBER, nullable=False),
        sa.Column("mass_nearer", NUMBER, nullable=False),
        sa.ForeignKeyConstraint(["job_key"], ["jobs.key"], name="fk_measurements_job_key"),
        sa.PrimaryKeyConstraint("job_key", "place", name="pk_measurements"),
        sa.UniqueConstraint(
            "job_key", "document", "position", name="uq_measurements_job_key_document_position"
        ),
        sqlite_with_rowid=False,
    )
    op.create_table(
        "prefixes",
        sa.Column("prefix_set_key", KEY, nullable=False),
        sa.Column("id", sa.String(length=64), nullable=False),
        sa.Column("place", sa.Integer(), nullable=False),
        sa.Column("text", sa.Text(), nullable=False),
        sa.Column("token_ids", sa.JSON(), nullable=False),
        sa.Column("continuation", sa.Text(), nullable=False),
        sa.Column("continuation_ids", sa.JSON(), nullable=False),
        sa.ForeignKeyConstraint(["prefix_set_key"], ["prefix_sets.key"], name="fk_prefixes_prefix_set_key"),
        sa.PrimaryKeyConstraint("prefix_set_key", "id", name="pk_prefixes"),
        sa.UniqueConstraint("prefix_set_key", "place", name="uq_prefixes_prefix_set_key_place"),
    )
    op.create_table(
        "resolutions",
        sa.Column("id", KEY, nullable=False),
        sa.Column("run_id", KEY, nullable=False),
        sa.Column("parameter", sa.Text(), nullable=False),
        sa.Column("asked", sa.JSON(), nullable=False),
        sa.Column("how", sa.Text(), nullable=False),
        sa.Column("value", sa.JSON(), nullable=False),
        sa.Column("created_at", TIME, nullable=False),
        sa.ForeignKeyConstraint(["run_id"], ["runs.id"], name="fk_resolutions_run_id"),
        sa.PrimaryKeyConstraint("id", name="pk_resolutions"),
        sa.UniqueConstraint("run_id", "parameter", name="uq_resolutions_run_id_parameter"),
    )
    op.create_table(
        "run_jobs",
        sa.Column("run_id", KEY, nullable=False),
        sa.Column("job_key", KEY, nullable=False),
        sa.ForeignKeyConstraint(["job_key"], ["jobs.key"], name="fk_run_jobs_job_key"),
        sa.ForeignKeyConstraint(["run_id"], ["runs.id"], name="fk_run_jobs_run_id"),
        sa.PrimaryKeyConstraint("run_id", "job_key", name="pk_run_jobs"),
        sqlite_with_rowid=False,
    )
    op.create_index("ix_run_jobs_job_key", "run_jobs", ["job_key"])
    op.create_table(
        "scores",
        sa.Column("job_key", KEY, nullable=False),
        sa.Column("name", sa.Text(), nullable=False),
        sa.Column("value", NUMBER, nullable=True),
        sa.Column("low", NUMBER, nullable=True),
        sa.Column("high", NUMBER, nullable=True),
        sa.Column("detail", sa.JSON(), nullable=True),
        sa.ForeignKeyConstraint(["job_key"], ["jobs.key"], name="fk_scores_job_key"),
        sa.PrimaryKeyConstraint("job_key", "name", name="pk_scores"),
    )
    op.create_table(
        "generations",
        sa.Column("job_key", KEY, nullable=False),
        sa.Column("place", sa.Integer(), nullable=False),
        sa.Column("prefix_set_key", KEY, nullable=False),
        sa.Column("prefix_id", sa.String(length=64), nullable=False),
        sa.Column("random_key", sa.JSON(), nullable=False),
        sa.Column("text", sa.Text(), nullable=False),
        sa.Column("stop_reason", sa.String(length=8), nullable=False),
        sa.Column("token_count", sa.Integer(), nullable=False),
        sa.Column("solver_seconds", NUMBER, nullable=False),
        sa.CheckConstraint("stop_reason IN ('end', 'length', 'context')", name="ck_generations_stop_reason"),
        sa.ForeignKeyConstraint(["job_key"], ["jobs.key"], name="fk_generations_job_key"),
        sa.ForeignKeyConstraint(
            ["prefix_set_key", "prefix_id"],
            ["prefixes.prefix_set_key", "prefixes.id"],
            name="fk_generations_prefix_set_key_prefix_id",
        ),
        sa.PrimaryKeyConstraint("job_key", "place", name="pk_generations"),
        sa.UniqueConstraint("job_key", "prefix_id", name="uq_generations_job_key_prefix_id"),
    )
    op.create_index("ix_generations_prefix", "generations", ["prefix_set_key", "prefix_id"])
    op.create_table(
        "measurement_thresholds",
        sa.Column("job_key", KEY, nullable=False),
        sa.Column("place", sa.Integer(), nullable=False),
        sa.Column("basis_size", sa.Integer(), nullable=False),
        sa.Column("lower", NUMBER, nullable=False),
        sa.Column("upper", NUMBER, nullable=False),
        sa.Column("lower_rank", sa.Integer(), nullable=False),
        sa.Column("upper_rank", sa.Integer(), nullable=False),
        sa.Column("lower_mass", NUMBER, nullable=False),
        sa.Column("upper_mass", NUMBER, nullable=False),
        sa.Column("status", sa.String(length=16), nullable=False),
        sa.Column("pivots", sa.Integer(), nullable=False),
        sa.Column("passes", sa.Integer(), nullable=False),
        sa.Column("seconds", NUMBER, nullable=False),
        sa.CheckConstraint(
            "status IN ('closed', 'decided', 'above cap', 'unfinished', 'failed')",
            name="ck_measurement_thresholds_status",
        ),
        sa.ForeignKeyConstraint(
            ["job_key", "place"],
            ["measurements.job_key", "measurements.place"],
            name="fk_measurement_thresholds_job_key_place",
        ),
        sa.PrimaryKeyConstraint("job_key", "place", "basis_size", name="pk_measurement_thresholds"),
        sqlite_with_rowid=False,
    )
    op.create_table(
        "resolution_jobs",
        sa.Column("resolution_id", KEY, nullable=False),
        sa.Column("job_key", KEY, nullable=False),
        sa.ForeignKeyConstraint(["job_key"], ["jobs.key"], name="fk_resolution_jobs_job_key"),
        sa.ForeignKeyConstraint(
            ["resolution_id"], ["resolutions.id"], name="fk_resolution_jobs_resolution_id"
        ),
        sa.PrimaryKeyConstraint("resolution_id", "job_key", name="pk_resolution_jobs"),
        sqlite_with_rowid=False,
    )
    op.create_table(
        "token_traces",
        sa.Column("job_key", KEY, nullable=False),
        sa.Column("place", sa.Integer(), nullable=False),
        sa.Column("trace", sa.LargeBinary(), nullable=False),
        sa.ForeignKeyConstraint(
            ["job_key", "place"],
            ["generations.job_key", "generations.place"],
            name="fk_token_traces_job_key_place",
        ),
        sa.PrimaryKeyConstraint("job_key", "place", name="pk_token_traces"),
    )
