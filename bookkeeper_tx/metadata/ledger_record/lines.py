"""Form 1 of ledger metadata: lines of tab-separated text.  It knows neither digest type, password nor ack quorum."""

import re

from bookkeeper_tx.errors import InvalidArgument
from bookkeeper_tx.model import Fragment, LedgerMetadata, LedgerState
from protocol_specs import fields
from protocol_specs.metadata import ledger as spec

_INTEGER = re.compile(r"-?[0-9]{1,19}")
"""Integers of up to 64 bits."""


def serialize(metadata: LedgerMetadata) -> bytes:
    """Return the lines; raises InvalidArgument for values that this form cannot hold."""
    if metadata.ack_quorum_size != metadata.write_quorum_size or metadata.custom_metadata:
        raise InvalidArgument("form 1 of ledger metadata holds no ack quorum size and no custom metadata")
    lines = [f"{number}" for number in (metadata.write_quorum_size, metadata.ensemble_size, metadata.length)]
    lines += ["\t".join((str(each.first_entry_id), *each.ensemble)) for each in metadata.fragments]
    if metadata.state is LedgerState.CLOSED:
        lines.append(f"{metadata.last_entry_id}\t{spec.CLOSED_TAG}")
    elif metadata.state is LedgerState.IN_RECOVERY:
        lines.append(f"{spec.IN_RECOVERY_LAST_ENTRY}\t{spec.CLOSED_TAG}")
    return "\n".join(lines).encode("utf-8")


def parse(body: bytes) -> LedgerMetadata:
    """Return the value of the lines; raises ValueError or InvalidArgument when they break a rule."""
    lines = [line for line in body.decode("utf-8").split("\n") if line]
    if len(lines) < 4:
        raise ValueError(f"form 1 has at least 4 lines after the first, here are {len(lines)}")
    write_quorum_size, ensemble_size, length = map(_integer, lines[:3])
    if length < 0:
        raise ValueError(f"length is {length}")
    state, last_entry_id, ends = _end(lines)
    closed = state is LedgerState.CLOSED
    return LedgerMetadata(
        ensemble_size=ensemble_size,
        write_quorum_size=write_quorum_size,
        ack_quorum_size=write_quorum_size,
        fragments=[_fragment(line) for line in lines[3:ends]],
        digest_type=None,
        password=None,
        state=state,
        last_entry_id=last_entry_id,
        length=length if closed else 0,
        format_version=spec.TEXT_LINES,
    )


def _end(lines: list[str]) -> tuple[LedgerState, int, int]:
    """Return state, last entry id, and the number of lines before the one that has them."""
    values = lines[-1].split("\t")
    if len(values) != 2 or values[1] != spec.CLOSED_TAG:
        return LedgerState.OPEN, fields.NO_ENTRY, len(lines)
    last_entry_id = _integer(values[0])
    if last_entry_id == spec.IN_RECOVERY_LAST_ENTRY:
        return LedgerState.IN_RECOVERY, fields.NO_ENTRY, len(lines) - 1
    if last_entry_id < fields.NO_ENTRY:
        raise ValueError(f"the last entry id is {last_entry_id}")
    return LedgerState.CLOSED, last_entry_id, len(lines) - 1


def _fragment(line: str) -> Fragment:
    first, *ensemble = line.split("\t")
    first_entry_id = _integer(first)
    if first_entry_id < 0:
        raise ValueError(f"a fragment starts at entry {first_entry_id}")
    return Fragment(first_entry_id, ensemble)


def _integer(text: str) -> int:
    if not _INTEGER.fullmatch(text):
        raise ValueError(f"{text[:40]!r} is no integer")
    return int(text)
