"""The pages on PostgreSQL, which plans queries differently and is stricter about types."""

from __future__ import annotations

import pytest

from bat.errors import InvalidInputError
from harness.api.merging import merge_databases
from harness.store import migrate, open_reader
from tests.harness.store.conftest import postgresql_address, postgresql_server  # noqa: F401
from tests.harness.view.sites import visitor
from tests.harness.view.test_pages import PAGES, shown

pytestmark = pytest.mark.xdist_group("postgresql")


def test_every_page(site_db: str, postgresql_address: str) -> None:  # noqa: F811
    migrate(postgresql_address)
    merge_databases(site_db, postgresql_address)
    (here, _), (there, _) = visitor(site_db), visitor(postgresql_address)
    (run,) = {link for link in (1, 2, 3) if there.get(f"/runs/{link}").status_code == 200}
    searches = (
        "/runs/1/texts?words=MAYOR",
        "/runs/1/texts?having=certified",
        "/runs/1/results/trace?row=eta%3D0.01&score=mauve",
    )
    for path in (*PAGES, *searches):
        answer = there.get(path.replace("/runs/1", f"/runs/{run}"))
        assert answer.status_code == 200, (path, shown(answer.text)[:300])
        if "texts" in path and "ask" not in path:
            mine, others = (shown(page.text).partition("Rejection")[2] for page in (here.get(path), answer))
            assert others == mine
    with (
        open_reader(postgresql_address) as reader,
        pytest.raises(InvalidInputError, match=r"must end within 0\.3 s"),
        reader.query("SELECT pg_sleep(20)", seconds=0.3) as answer,
    ):
        list(answer.rows)
