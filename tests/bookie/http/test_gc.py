"""bookkeeper_tx.bookie.http.gc, gc_details, suspend_compaction, resume_compaction: what they ask of the collection."""

from typing import Any

import pytest
from attrs import define

from tests.bookie.http.asked import BOOKIE, Asked

GC, SUSPEND, RESUME = (f"/api/v1/bookie/gc{rest}" for rest in ("", "/suspend_compaction", "/resume_compaction"))
NAME = f"Bookie Server listening on {BOOKIE} with id {BOOKIE}"


@define
class Status:
    """What a collector has done."""

    forced: bool = False
    major_running: bool = False
    minor_running: bool = True
    major_suspended: bool = False
    minor_suspended: bool = False
    last_major_s: float | None = None
    last_minor_s: float | None = 1795662656.103
    major_count: int = 4
    minor_count: int = 5


class Collection:
    """Notes what it is asked for."""

    def __init__(self) -> None:
        self.status = Status()
        self.statuses = [self.status]
        self.forced: list[tuple[bool | None, bool | None]] = []

    def force(self, major: bool | None = None, minor: bool | None = None) -> None:
        self.forced.append((major, minor))
        self.status.forced = True

    def suspend(self, major: bool = False, minor: bool = False) -> None:
        self.status.major_suspended |= major
        self.status.minor_suspended |= minor

    def resume(self, major: bool = False, minor: bool = False) -> None:
        self.status.major_suspended &= not major
        self.status.minor_suspended &= not minor


@pytest.fixture
def collection(asked: Asked) -> Collection:
    collection = asked.bookie.garbage = Collection()
    return collection


@pytest.mark.parametrize(
    ("body", "forced"),
    [
        (b"", (None, None)),
        (b"{}", (None, None)),
        (b'{"forceMajor": false}', (False, None)),
        (b'{"forceMinor": "TRUE"}', (None, True)),
        (b'{"forceMajor": "x", "forceMinor": 1}', (False, False)),
    ],
)
def test_a_collection_is_forced_with_what_the_body_names(
    asked: Asked, collection: Collection, body: bytes, forced: Any
) -> None:
    assert asked.ask(GC).json == {"is_in_force_gc": "false"}
    assert asked.ask(GC, "PUT", body).json == f"Triggered GC on BookieServer: {BOOKIE}"
    assert collection.forced == [forced]
    assert asked.ask(GC).json == {"is_in_force_gc": "true"}


@pytest.mark.parametrize("body", [b"{", b"[]", b'{"forceMajor": null}'])
def test_a_body_that_asks_for_nothing_forces_nothing(asked: Asked, collection: Collection, body: bytes) -> None:
    refused = asked.ask(GC, "PUT", body)
    assert refused.status == 400
    assert refused.text.startswith("Failed to handle the request, exception: ")
    assert not collection.forced


@pytest.mark.usefixtures("collection")
def test_the_details_have_javas_names(asked: Asked) -> None:
    assert asked.ask("/api/v1/bookie/gc_details").json == [
        {
            "forceCompacting": False,
            "majorCompacting": False,
            "minorCompacting": True,
            "lastMajorCompactionTime": 0,
            "lastMinorCompactionTime": 1795662656103,
            "lastEntryLocationCompactionTime": 0,
            "majorCompactionCounter": 4,
            "minorCompactionCounter": 5,
            "entryLocationCompactionCounter": 0,
        }
    ]


def test_details_are_told_of_each_storage(asked: Asked, collection: Collection) -> None:
    collection.statuses.append(Status(major_count=9))
    details = asked.ask("/api/v1/bookie/gc_details").json
    assert [each["majorCompactionCounter"] for each in details] == [4, 9]


def test_compaction_is_suspended_and_resumed(asked: Asked, collection: Collection) -> None:
    assert asked.put(SUSPEND, {"suspendMajor": True}).json == f"Suspend majorGC on BookieServer: {NAME}"
    assert asked.ask(SUSPEND).json == {"isMinorGcSuspended": "false", "isMajorGcSuspended": "true"}
    assert asked.put(SUSPEND, {"suspendMinor": True}).json == f", Suspend minorGC on BookieServer: {NAME}"
    assert (collection.status.major_suspended, collection.status.minor_suspended) == (True, True)
    assert asked.put(SUSPEND, {"suspendMajor": False, "suspendMinor": False}).json == ""
    assert (collection.status.major_suspended, collection.status.minor_suspended) == (True, True)
    both = f"Resume majorGC on BookieServer: {NAME}, Resume minorGC on BookieServer: {NAME}"
    assert asked.put(RESUME, {"resumeMajor": True, "resumeMinor": True}).json == both
    assert (collection.status.major_suspended, collection.status.minor_suspended) == (False, False)


@pytest.mark.usefixtures("collection")
@pytest.mark.parametrize(("path", "what"), [(SUSPEND, "suspend"), (RESUME, "resume")])
def test_a_body_must_say_what(asked: Asked, path: str, what: str) -> None:
    replies = [asked.ask(path, "PUT", body) for body in (b"", b"{}", f'{{"{what}Major": "true"}}'.encode(), b"{")]
    assert [reply.status for reply in replies] == [400, 400, 500, 500]
    assert [reply.text for reply in replies[:2]] == [
        "Empty request body",
        f"No {what}Major or {what}Minor params found",
    ]


def test_a_storage_without_garbage_collection_answers_as_javas_does(asked: Asked) -> None:
    assert asked.ask(GC).json == {"is_in_force_gc": "false"}
    assert asked.ask(GC, "PUT").json == f"Triggered GC on BookieServer: {BOOKIE}"
    assert asked.ask("/api/v1/bookie/gc_details").json == []
    assert asked.put(SUSPEND, {"suspendMajor": True}).status == asked.put(RESUME, {"resumeMajor": True}).status == 200
    assert asked.ask(SUSPEND).json == {"isMinorGcSuspended": "false", "isMajorGcSuspended": "false"}
