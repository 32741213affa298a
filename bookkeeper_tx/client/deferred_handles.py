"""The handles as the client on Twisted gives them, for those who check types: their promises are Deferreds."""

from typing import TYPE_CHECKING

from bookkeeper_tx.client import ledger_reader, ledger_writer, ledger_writer_adv
from bookkeeper_tx.client.promised import OnTwisted

if TYPE_CHECKING:

    class LedgerWriter(ledger_writer.LedgerWriter, OnTwisted): ...

    class LedgerWriterAdv(ledger_writer_adv.LedgerWriterAdv, OnTwisted): ...

    class LedgerReader(ledger_reader.LedgerReader, OnTwisted): ...

else:
    LedgerReader, LedgerWriter = ledger_reader.LedgerReader, ledger_writer.LedgerWriter
    LedgerWriterAdv = ledger_writer_adv.LedgerWriterAdv
