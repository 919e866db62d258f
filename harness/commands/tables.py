"""The look of the tables that commands print."""

from __future__ import annotations

from rich import box
from rich.table import Table


def plain_table() -> Table:
    """A table with a line below its heading, and two spaces between its columns."""
    return Table(
        box=box.SIMPLE,
        show_edge=False,
        pad_edge=False,
        padding=(0, 1, 0, 0),
        header_style="bold",
    )
