"""The tables, one class each; docs/database.md is generated from them."""

from harness.store.tables.base import Base, utc_now
from harness.store.tables.judging import (
    StudyAnswerRow,
    StudyAssignmentRow,
    StudyItemRow,
    StudyJudgeRow,
    StudyRow,
)
from harness.store.tables.numbers import FeatureRow, MeasurementRow, MeasurementThresholdRow, ScoreRow
from harness.store.tables.queue import (
    AttemptRow,
    DriverRow,
    InstanceJobRow,
    InstanceRow,
    JobNeedRow,
    JobRow,
    ResolutionJobRow,
    ResolutionRow,
    RunInputRow,
    RunJobRow,
    RunRow,
    RunTagRow,
)
from harness.store.tables.texts import GenerationRow, PrefixRow, PrefixSetRow, TokenTraceRow

__all__ = [
    "AttemptRow",
    "Base",
    "DriverRow",
    "FeatureRow",
    "GenerationRow",
    "InstanceJobRow",
    "InstanceRow",
    "JobNeedRow",
    "JobRow",
    "MeasurementRow",
    "MeasurementThresholdRow",
    "PrefixRow",
    "PrefixSetRow",
    "ResolutionJobRow",
    "ResolutionRow",
    "RunInputRow",
    "RunJobRow",
    "RunRow",
    "RunTagRow",
    "ScoreRow",
    "StudyAnswerRow",
    "StudyAssignmentRow",
    "StudyItemRow",
    "StudyJudgeRow",
    "StudyRow",
    "TokenTraceRow",
    "utc_now",
]
