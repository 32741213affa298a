"""Changing the cookies of the metadata store."""

from pathlib import Path

import pytest
from twisted.internet.defer import Deferred, succeed

from bookkeeper_tx.bookie.cookie import Cookie
from bookkeeper_tx.bookie.disk import Disk
from bookkeeper_tx.bookie.offline import cookies
from bookkeeper_tx.bookie.offline.places import Places
from bookkeeper_tx.errors import IllegalOperation, InvalidArgument, RefusedToStart

COOKIE = Cookie.of("b:1", "/j", "/l", "an-id").encode()


class Store:
    """The cookies of a metadata store, with versions."""

    def __init__(self) -> None:
        self.cookies: dict[str, tuple[bytes, int]] = {}
        self.registered: frozenset[str] = frozenset()
        self.read_only: frozenset[str] = frozenset()

    def read_cookie(self, bookie_id):
        return succeed(self.cookies.get(bookie_id))

    def write_cookie(self, bookie_id, cookie, version):
        assert version == (self.cookies[bookie_id][1] if bookie_id in self.cookies else None)
        self.cookies[bookie_id] = (cookie, (version or 0) + 1)
        return succeed(self.cookies[bookie_id][1])

    def delete_cookie(self, bookie_id, version):
        assert self.cookies.pop(bookie_id)[1] == version
        return succeed(None)

    def writable_bookies(self):
        return succeed(self.registered)

    def read_only_bookies(self):
        return succeed(self.read_only)


@pytest.fixture
def store():
    return Store()


@pytest.fixture
def done(result_of):
    return lambda coroutine: result_of(Deferred.fromCoroutine(coroutine))


def test_a_cookie_is_created_once(store, done):
    assert done(cookies.create_cookie(store, "b:1", COOKIE)) == 1
    assert done(cookies.read_cookie(store, "b:1")) == (COOKIE, 1)
    with pytest.raises(IllegalOperation, match="already"):
        done(cookies.create_cookie(store, "b:1", COOKIE))


def test_a_cookie_is_replaced_and_deleted_at_its_version(store, done):
    done(cookies.create_cookie(store, "b:1", COOKIE))
    assert done(cookies.update_cookie(store, "b:1", COOKIE + b"#")) == 2
    assert store.cookies["b:1"] == (COOKIE + b"#", 2)
    assert done(cookies.delete_cookie(store, "b:1")) == 2
    assert not store.cookies
    for change in (cookies.update_cookie(store, "b:1", COOKIE), cookies.delete_cookie(store, "b:1")):
        with pytest.raises(InvalidArgument, match="has no cookie of bookie b:1"):
            done(change)


@pytest.mark.parametrize("kind", ["registered", "read_only"])
def test_the_cookie_of_a_bookie_that_runs_is_left_alone(store, done, kind):
    done(cookies.create_cookie(store, "b:1", COOKIE))
    setattr(store, kind, frozenset(["b:1"]))
    for change in (cookies.update_cookie(store, "b:1", b""), cookies.delete_cookie(store, "b:1")):
        with pytest.raises(IllegalOperation, match="stop it first"):
            done(change)
    assert store.cookies["b:1"] == (COOKIE, 1)


def test_a_file_that_is_no_cookie_of_the_bookie_is_refused():
    cookies.check_cookie("b:1", COOKIE, "file")
    with pytest.raises(InvalidArgument, match="file is that of bookie b:1, not of b:2"):
        cookies.check_cookie("b:2", COOKIE, "file")
    with pytest.raises(RefusedToStart, match="file cannot be read"):
        cookies.check_cookie("b:1", b"junk", "file")


def test_directories_tell_their_bookie(tmp_path: Path):
    places = Places((f"{tmp_path}/j",), (f"{tmp_path}/l",))
    for name in ("j", "l"):
        (tmp_path / name / "current").mkdir(parents=True)
    with pytest.raises(InvalidArgument, match="there is no cookie"):
        cookies.bookie_id_of(cookies.cookie_files(Disk(), places))
    (tmp_path / "j" / "current" / "VERSION").write_bytes(COOKIE)
    assert cookies.bookie_id_of(cookies.cookie_files(Disk(), places)) == "b:1"
    (tmp_path / "l" / "current" / "VERSION").write_bytes(Cookie.of("b:2", "/j", "/l", None).encode())
    with pytest.raises(InvalidArgument, match="several bookies"):
        cookies.bookie_id_of(cookies.cookie_files(Disk(), places))
