"""Waiting to lead: a candidate leads when nobody does, or who did gave no sign of life for as long as its lease."""

import os
import socket
from uuid import uuid4

from bookkeeper_tx.client.core import AnyClient
from bookkeeper_tx.client.tailing import TAIL_WAIT_S
from bookkeeper_tx.driver import pause
from bookkeeper_tx.errors import MetadataConflict, MetadataUnavailable
from bookkeeper_tx.replicated_log.election_record import ELECTIONS, ElectionRecord
from bookkeeper_tx.replicated_log.leadership import Leadership
from bookkeeper_tx.replicated_log.lease import Lease


class Campaign:
    """One candidate of one election."""

    def __init__(self, client: AnyClient, name: str, candidate: str | None, lease_s: float) -> None:
        """Raises InvalidArgument."""
        called = f"{socket.gethostname()}:{os.getpid()}" if candidate is None else candidate
        self._client = client
        self._name = name
        self._record = ElectionRecord(uuid4().hex, called, lease_s)
        self._seen: tuple[bytes, int] | None = None
        """The record of another candidate that was found last, and its version."""
        self._seen_s = 0.0
        """When it was found first."""

    async def won(self) -> Leadership:
        """Return once this candidate leads; raises MetadataUnavailable if the store does not answer for a minute."""
        clock = self._client.driver.clock
        patient_until_s = clock.seconds() + TAIL_WAIT_S
        while True:
            try:
                leadership = await self._client.run(self._try)
                patient_until_s = clock.seconds() + TAIL_WAIT_S
            except MetadataUnavailable:
                if clock.seconds() >= patient_until_s:
                    raise
            else:
                if leadership is not None and leadership.leads():
                    return leadership
            await pause(self._client.driver, self._record.look_s)

    async def _try(self) -> Leadership | None:
        found = await self._client.metadata.read_record((ELECTIONS, self._name))
        if found is not None and not self._may_follow(found):
            return None
        asked_s = self._client.driver.clock.seconds()
        before = None if found is None else found[1]
        self._record = record = self._record.signed()
        try:
            version = await self._client.metadata.write_record((ELECTIONS, self._name), record.serialize(), before)
        except MetadataConflict:
            return None  # another candidate was faster
        lease = Lease(self._client, self._name, record, version, asked_s)
        return Leadership(self._client, self._name, record.candidate, lease)

    def _may_follow(self, found: tuple[bytes, int]) -> bool:
        leader = ElectionRecord.parse(found[0], self._name)
        if leader.resigned or leader.token == self._record.token:  # its own, of which the answer was lost
            return True
        now_s = self._client.driver.clock.seconds()
        if found != self._seen:
            self._seen, self._seen_s = found, now_s
        # The sign of life was given before it was found: who leads knows earlier that its lease is over.
        return now_s - self._seen_s >= leader.lease_s


async def leader(client: AnyClient, name: str) -> str | None:
    """Return what the candidate is called that leads, or did until it died; None if there is none."""
    found = await client.metadata.read_record((ELECTIONS, name))
    record = None if found is None else ElectionRecord.parse(found[0], name)
    return None if record is None or record.resigned else record.candidate
