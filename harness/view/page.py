"""What a page is to the application."""

from __future__ import annotations

from dataclasses import dataclass

from starlette.routing import Route


@dataclass(frozen=True, slots=True)
class Page:
    """An entry of the navigation, and the routes behind it."""

    title: str
    path: str  # "/ask", or with the number of a run: "/runs/{run}/texts"
    routes: tuple[Route, ...]

    @property
    def is_about_a_run(self) -> bool:
        return "{run}" in self.path

    def address(self, run_id: int | None) -> str:
        """Where the navigation leads."""
        return self.path.replace("{run}", str(run_id))
