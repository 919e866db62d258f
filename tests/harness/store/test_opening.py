"""Opening: what would stop a sweep later is said at once, in one sentence."""

from __future__ import annotations

import os
import shutil
import sqlite3
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from types import SimpleNamespace

import pytest
from sqlalchemy import event

from bat.errors import BatError, InvalidInputError
from harness.store import Store, StoreError, StoreUnavailableError, addresses, open_reader, open_store
from tests.harness.store import examples

NOBODY = 65534


@contextmanager
def ordinary_user() -> Iterator[None]:
    """Without the rights of root, whom no permission stops."""
    if os.geteuid() != 0:
        yield
        return
    os.seteuid(NOBODY)
    try:
        yield
    finally:
        os.seteuid(0)


@pytest.fixture
def open_folder() -> Iterator[Path]:
    """A folder that every user may enter; those of pytest are closed to others."""
    folder = Path(tempfile.mkdtemp(prefix="bat-store-"))
    folder.chmod(0o777)
    yield folder
    folder.chmod(0o777)
    shutil.rmtree(folder)


def complaint(address: str, *, reader: bool = False, create: bool = True) -> str:
    """The sentence that opening raises."""
    with pytest.raises(BatError) as caught:
        open_reader(address) if reader else open_store(address, create)
    assert isinstance(caught.value, StoreUnavailableError | InvalidInputError)
    assert "\n" not in str(caught.value)
    return str(caught.value)


def test_a_new_file_gets_its_tables_and_is_found_again(tmp_path: Path) -> None:
    address = f"sqlite:///{tmp_path / 'new.db'}"
    with open_store(address) as store:
        run_id = store.add_run("demo", {}, {})
    with open_store(address, create=False) as store, open_reader(address) as reader:
        assert store.get_run("demo").id == reader.get_run("demo").id == run_id
        assert repr(reader) == f"Reader({address!r})"


def test_a_relative_path_is_from_where_one_stands(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    with open_store("sqlite:///a b#c?%25.db"):
        pass
    assert list(tmp_path.glob("a b#c*"))


def test_a_path_alone_is_an_sqlite_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    with open_store("r.db") as store:
        assert store.address == "sqlite:///r.db"
    for address in ("r.db", tmp_path / "r.db", str(tmp_path / "r.db"), f"sqlite:///{tmp_path}/r.db"):
        with open_reader(address) as reader:
            assert reader.runs() == []
    assert "SQLite database must be a file" in complaint("")


def test_how_sqlite_is_set_up(sqlite_address: str) -> None:
    with open_store(sqlite_address) as store, store._database.writing() as connection:
        settings = {
            name: connection.exec_driver_sql(f"PRAGMA {name}").scalar()
            for name in ("journal_mode", "synchronous", "foreign_keys", "busy_timeout")
        }
    assert settings == {"journal_mode": "wal", "synchronous": 1, "foreign_keys": 1, "busy_timeout": 60_000}


@pytest.mark.parametrize(
    ("address", "sentence"),
    [
        ("mysql://localhost/x", "must be SQLite or PostgreSQL; got 'mysql'"),
        ("postgresql+psycopg2://localhost/x", "must be SQLite or PostgreSQL; got 'postgresql+psycopg2'"),
        ("postgresql://localhost:abc/x", "the database must be a URL; got 'postgresql://localhost:abc/x'."),
        ("sqlite://", "SQLite database must be a file"),
        ("sqlite:///:memory:", "SQLite database must be a file"),
    ],
)
def test_addresses(address: str, sentence: str) -> None:
    assert sentence in complaint(address)
    assert sentence in complaint(address, reader=True)


def test_postgresql_is_spelled_in_two_ways_and_spoken_by_psycopg() -> None:
    for address in (
        "postgres://u:secret@h/d",
        "postgresql://u:secret@h/d",
        "postgresql+psycopg://u:secret@h/d",
    ):
        url = addresses.parse_address(address)
        assert url.drivername == "postgresql+psycopg"
        assert addresses.shown(url) == "postgresql://u:***@h/d"


def test_a_folder_that_is_not_there(tmp_path: Path) -> None:
    address = f"sqlite:///{tmp_path}/missing/results.db"
    assert f"the folder {tmp_path}/missing of the database must exist" in complaint(address)
    assert "it is a folder" in complaint(f"sqlite:///{tmp_path}")


def test_a_file_that_is_not_there_is_not_made_for_questions(tmp_path: Path) -> None:
    address = f"sqlite:///{tmp_path}/results.db"
    assert f"there is no database at {tmp_path}/results.db" in complaint(address, reader=True)
    assert "there is no database" in complaint(address, create=False)
    assert list(tmp_path.iterdir()) == []
    (tmp_path / "results.db").touch()
    assert "is empty" in complaint(address, reader=True)
    assert "is empty" in complaint(address, create=False)


def test_a_file_that_is_no_database(tmp_path: Path) -> None:
    path = tmp_path / "notes.txt"
    path.write_text("remember the milk\n" * 100)
    sentence = f"the file {path} must be an SQLite database; it is something else"
    assert sentence in complaint(f"sqlite:///{path}")
    assert sentence in complaint(f"sqlite:///{path}", reader=True)
    assert path.read_text().startswith("remember")


def test_a_database_of_something_else(tmp_path: Path) -> None:
    path = tmp_path / "other.db"
    with sqlite3.connect(path) as connection:
        connection.execute("CREATE TABLE recipes (name)")
    connection.close()
    assert "it holds other tables, such as 'recipes'" in complaint(f"sqlite:///{path}")
    assert "it holds other tables, such as 'recipes'" in complaint(f"sqlite:///{path}", reader=True)


def test_a_folder_that_may_not_be_written(open_folder: Path) -> None:
    address = f"sqlite:///{open_folder}/results.db"
    open_folder.chmod(0o555)
    with ordinary_user():
        assert f"{open_folder}/results.db cannot be opened or created" in complaint(address)
    open_folder.chmod(0o777)
    with open_store(address) as store:
        run_id = examples.add(store, examples.score_job(1))
    Path(open_folder, "results.db").chmod(0o444)
    open_folder.chmod(0o555)
    with ordinary_user():
        assert f"{open_folder}/results.db must be writable" in complaint(address)
        # Questions can still be asked: nobody writes, so nothing has to be shared with a writer.
        with open_reader(address) as reader:
            assert reader.progress(run_id)[0].waiting == 1


def test_a_full_disk_is_noticed_before_and_while_writing(
    sqlite_address: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    with open_store(sqlite_address) as store:
        run_id = examples.add(store, examples.score_job(1))

        @event.listens_for(store._database.engine, "begin")
        def fill_the_disk(connection) -> None:  # type: ignore[no-untyped-def]
            connection.exec_driver_sql("PRAGMA max_page_count = 1")  # no page more than there are

        with pytest.raises(StoreUnavailableError, match=r"disk of the database .* is full"):
            store.add_jobs(run_id, [examples.score_job(number) for number in range(2000)])
        event.remove(store._database.engine, "begin", fill_the_disk)
        store._database.close()
        assert store.progress(run_id)[0].total == 1
    monkeypatch.setattr(shutil, "disk_usage", lambda _: SimpleNamespace(free=5 * 2**20))
    assert "must have 32 MB free; it has 5.0 MB" in complaint(sqlite_address)
    with open_reader(sqlite_address) as reader:  # questions take no room
        assert reader.progress(run_id)[0].total == 1


MOUNTS = """\
/dev/vda / ext4 rw 0 0
server:/home /home nfs4 rw 0 0
/dev/vdb /home/local xfs rw 0 0
//nas/share /mnt/with\\040space cifs rw 0 0
C: /mnt/c 9p rw 0 0
me@host: /mnt/far fuse.sshfs rw 0 0
/dev/sdc /mnt/stick fuseblk rw 0 0
/dev/vdc /mnt/far/near ext4 rw 0 0
"""


@pytest.mark.parametrize(
    ("folder", "system"),
    [
        ("/tmp", None),
        ("/home/me", "nfs4"),
        ("/homely", None),
        ("/home/local/data", None),
        ("/mnt/with space/data", "cifs"),
        ("/mnt/c/Users", "9p"),
        ("/mnt/far", "fuse.sshfs"),
        ("/mnt/far/near", None),
        ("/mnt/stick", None),
    ],
)
def test_network_file_systems_are_told_from_local_ones(
    tmp_path: Path, folder: str, system: str | None
) -> None:
    mounts = tmp_path / "mounts"
    mounts.write_text(MOUNTS)
    assert addresses.find_network_file_system(Path(folder), mounts) == system
    assert addresses.find_network_file_system(Path(folder), tmp_path / "none") is None


def test_sqlite_on_a_network_file_system_is_invalid_unless_one_insists(
    sqlite_address: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(addresses, "find_network_file_system", lambda _: "nfs4")
    sentence = complaint(sqlite_address)
    assert "must be on a local disk" in sentence
    assert "is on nfs4" in sentence
    assert "BAT_HARNESS_ALLOW_NETWORK_DB=1" in sentence
    monkeypatch.setenv("BAT_HARNESS_ALLOW_NETWORK_DB", "1")
    with open_store(sqlite_address) as store:
        assert store.runs() == []


def test_a_postgresql_server_that_does_not_answer() -> None:
    sentence = complaint("postgresql://me:secret@127.0.0.1:9/results")
    assert "PostgreSQL must be reachable at postgresql://me:***@127.0.0.1:9/results" in sentence
    assert "refused" in sentence
    assert "secret" not in sentence


@pytest.mark.xdist_group("postgresql")
def test_a_postgresql_database_that_is_not_there(postgresql_server: str) -> None:
    assert 'database "nowhere" does not exist' in complaint(postgresql_server.format("nowhere"))


@pytest.mark.xdist_group("postgresql")
def test_a_postgresql_user_without_rights(postgresql_server: str, postgresql_address: str) -> None:
    import psycopg

    with psycopg.connect(postgresql_address, autocommit=True) as connection:
        connection.execute("CREATE ROLE guest LOGIN")
    guest = postgresql_address.replace("postgres:@", "guest:@")
    assert "guest" in guest
    with pytest.raises(StoreUnavailableError, match="must be allowed to create and write tables"):
        open_store(guest).add_run("demo", {}, {})


@pytest.mark.xdist_group("postgresql")
def test_a_broken_connection_is_told_and_mended(postgresql_address: str) -> None:
    with open_store(postgresql_address) as store:
        with pytest.raises(StoreError, match="must be reachable"), store._database.writing() as connection:
            connection.exec_driver_sql("SELECT pg_terminate_backend(pg_backend_pid())")
        assert store.runs() == []


def test_times_come_with_their_zone(store: Store) -> None:
    store.add_run("demo", {}, {})
    (run,) = store.runs()
    assert str(run.created_at.tzinfo) == "UTC"


def test_opening_does_not_wait_for_torch_or_alembic(sqlite_address: str) -> None:
    code = (
        "import sys; from harness.store import open_reader\n"
        f"with open_reader({sqlite_address!r}) as reader: assert reader.runs() == []\n"
        "print(*({'torch', 'transformers', 'alembic', 'psycopg', 'ray'} & set(sys.modules)))"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == ""


def test_a_reader_takes_the_name_of_a_file(
    sqlite_address: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    for name in ("results.db", Path("results.db"), sqlite_address):
        with open_reader(name) as reader:
            assert reader.runs() == []
