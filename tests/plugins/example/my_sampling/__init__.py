"""A plug-in: a rule, a statistic, a corpus and a solver. docs/extending.md shows its parts."""
