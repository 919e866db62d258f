from bat.arrays import BoolArray, FloatArray
from bat.rules import Facts, Scale, Summary, ThresholdRule


class TopA(ThresholdRule):
    """Keep tokens with probability at least a times the square of the largest one."""

    parameter: float
    plain_name = "top-a"
    rises = True  # a larger parameter rejects more
    scale = Scale.LOG
    example = 0.2  # for error messages
    takes_tensors = True  # thresholds uses nothing but the summary and operators

    def thresholds(self, probs: FloatArray | Summary) -> FloatArray:
        rows = Summary.of(probs)
        return rows.capped(self.parameter * rows.maximum**2)

    @classmethod
    def invert(cls, rows: Facts, levels: FloatArray, ties_kept: BoolArray) -> FloatArray:
        return levels / rows.maximum**2
