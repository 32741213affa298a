"""The handles as the client on asyncio gives them, for those who check types: their promises are Futures."""

from typing import TYPE_CHECKING

from bookkeeper_tx.client import ledger_reader, ledger_writer, ledger_writer_adv
from bookkeeper_tx.client.promised import OnAsyncio

if TYPE_CHECKING:

    class LedgerWriter(ledger_writer.LedgerWriter, OnAsyncio): ...

    class LedgerWriterAdv(ledger_writer_adv.LedgerWriterAdv, OnAsyncio): ...

    class LedgerReader(ledger_reader.LedgerReader, OnAsyncio): ...

else:
    LedgerReader, LedgerWriter = ledger_reader.LedgerReader, ledger_writer.LedgerWriter
    LedgerWriterAdv = ledger_writer_adv.LedgerWriterAdv
