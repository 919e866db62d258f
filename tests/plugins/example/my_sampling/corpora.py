from collections.abc import Iterator

from workers.corpora import TextSource


class Reports(TextSource):
    """Forty short reports."""

    revision = "reports 1"  # enters the ids of jobs: change it when the texts change

    def texts(self) -> Iterator[str]:
        for number in range(40):
            places = " and ".join(f"the {number + step} bridges over river {step}" for step in range(8))
            yield f"Report {number}: the mayor opened {places}."
