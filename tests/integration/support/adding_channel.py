"""A blocking channel that adds entries to a bookie as they are, sealed or not, without the checks of a writer."""

import math
from collections.abc import Sequence

from bookkeeper_tx.errors import BookKeeperError
from bookkeeper_tx.transport.blocking import BlockingChannel


class AddingChannel(BlockingChannel):
    """The channel, which itself only reads."""

    def add_entries(
        self, ledger_id: int, first_entry_id: int, entries: Sequence[bytes], master_key: bytes, flags: int = 0
    ) -> None:
        """Add entries with ids from ``first_entry_id`` on, all in flight at once.

        Raises the first error that the bookie answers, once every entry is answered.
        """
        tokens = []
        for entry_id, entry in enumerate(entries, first_entry_id):
            token = self._new_token(ledger_id)
            self._connection.add_entry(token, math.inf, ledger_id, entry_id, entry, master_key, flags)
            tokens.append(token)
        self._wait(tokens, self._config.add_timeout_s)
        errors: list[BookKeeperError] = []
        for token in tokens:
            try:
                self.result(token)
            except BookKeeperError as error:
                errors.append(error)
        if errors:
            raise errors[0]
