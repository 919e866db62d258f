"""What the exit code of a command says."""

from __future__ import annotations

DONE = 0
MISTAKE = 1
USAGE = 2
UNFINISHED = 3
INTERRUPTED = 130

MEANINGS = {
    DONE: "all is well",
    MISTAKE: "a mistake in what was asked for, or in how the machine is set up; one sentence says which",
    USAGE: "an option or argument that the command does not have",
    UNFINISHED: "the sweep cannot go on by itself: jobs were set aside (`run`, and `status --check`)",
    INTERRUPTED: "stopped by Ctrl-C before the end",
}
