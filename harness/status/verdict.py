"""How a run stands, in a sentence or two."""

from __future__ import annotations

from datetime import UTC, datetime

from harness.status.run_status import RunState, RunStatus
from harness.words import counted, duration


def say(status: RunStatus) -> str:
    """The whole status in a sentence or two, with what to do next."""
    done, total = status.count("done"), status.count("total")
    # Rounded down: 100% is when all is done.
    numbers = f"{done:,} of {counted(total, 'job')} done ({100 * done // max(total, 1)}%)"
    first = _SENTENCES[status.state].format(numbers=numbers, total=counted(total, "job"))
    if status.state is RunState.RUNNING and status.seconds_left is not None:
        at = "at least" if status.seconds_left_is_least else "about"
        first = f"{first[:-1]}, {at} {duration(status.seconds_left)} left."
    if status.state is RunState.WAITING:
        driver = status.drivers[0]
        heard = duration((datetime.now(UTC) - driver.seen_at).total_seconds())
        first += f" A driver is {driver.doing}, last heard of {heard} ago."
    sentences = [first]
    if status.count("failed"):
        blocked = status.count("blocked")
        waiting = f", {counted(blocked, 'job')} cannot start without them" if blocked else ""
        sentences.append(f"{counted(status.count('failed'), 'job')} set aside{waiting}.")
    if status.state is RunState.FAILED:
        sentences.append("When the reason is gone: bat-harness retry, then the same run command again.")
    if status.open_parameters and status.stages:
        parameters = counted(len(status.open_parameters), "parameter")
        sentences.append(f"{parameters} still to be found out, such as that of {status.open_parameters[0]}.")
    for name, problem in status.unresolvable:
        sentences.append(f"The parameter of {name} cannot be resolved: {problem}")
    return " ".join(sentences)


_AGAIN = "The same run command again goes on."
_SENTENCES = {
    RunState.EMPTY: "Nothing is planned yet.",
    RunState.RUNNING: "Running: {numbers}.",
    RunState.WAITING: "Waiting: {numbers}, none at work.",
    RunState.SILENT: "Silent: {numbers}, and whoever holds the leases is gone. " + _AGAIN,
    RunState.STOPPED: "Stopped: {numbers}. " + _AGAIN,
    RunState.FAILED: "Failed: {numbers}, and nothing more can be.",
    RunState.UNRESOLVED: "Not finished: all {total} planned so far are done. The same run command again goes "
    "on, or says why it cannot.",
    RunState.DONE: "Done: all {total}.",
}
