"""Sweeps as YAML: read, checked, and expanded into the settings to run.

load_config        a sweep from a file, with overrides; errors give the line       loading.py
SweepConfig        every key, its default and its meaning                          schema.py, experiment.py
Method, Stage      where parameters come from; the steps of a sweep                methods.py, stages.py
Resources          how the work is done, which enters no identity                  schema.py
expand             each stage x model x method x parameter x constraints x seed    expansion.py
run_identity       what identifies a run: equal for runs that resume each other    canonical.py
from_identity      the sweep with a stored identity                                canonical.py
summarize          the size of a sweep                                             summary.py
"""

from harness.config.canonical import as_written, from_identity, run_identity, to_yaml
from harness.config.errors import ConfigError, Problem
from harness.config.expansion import (
    AtRate,
    BestOf,
    EqualRate,
    MeasureInstance,
    MethodInstance,
    Parameter,
    Resolved,
    Setting,
    expand,
    measurements,
)
from harness.config.loading import LoadedConfig, load_config, parse_config
from harness.config.paths import SweepPathWarning
from harness.config.schema import SweepConfig
from harness.config.summary import StageSummary, SweepSummary, summarize

__all__ = [
    "AtRate",
    "BestOf",
    "ConfigError",
    "EqualRate",
    "LoadedConfig",
    "MeasureInstance",
    "MethodInstance",
    "Parameter",
    "Problem",
    "Resolved",
    "Setting",
    "StageSummary",
    "SweepConfig",
    "SweepPathWarning",
    "SweepSummary",
    "as_written",
    "expand",
    "from_identity",
    "load_config",
    "measurements",
    "parse_config",
    "run_identity",
    "summarize",
    "to_yaml",
]
