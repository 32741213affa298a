"""The report that ``bktx demo`` shows at its end."""

from rich.console import Console, Group
from rich.panel import Panel
from rich.table import Table
from rich.text import Text

from bookkeeper_tx.cli.demo.steps import Pace
from bookkeeper_tx.model import BookieId, LedgerMetadata


def show_summary(
    console: Console, ledger_id: int, metadata: LedgerMetadata, killed: BookieId, paces: dict[str, Pace], seconds: float
) -> None:
    """Print rates side by side, the fragments with the bookie that was killed marked, and the proof."""
    written = next(iter(paces.values()))
    proof = Text.assemble(
        ("✓ ", "bold green"), "all bytes read back are the bytes written: sha256 ", (written.sha256[:16] + "…", "bold")
    )
    console.print(
        Panel(
            Group(_rates(paces), Text(), _fragments(ledger_id, metadata, killed), Text(), proof),
            title="bookkeeper_tx",
            subtitle=f"{seconds:.1f} s in all",
            border_style="green",
            expand=False,
        )
    )


def _rates(paces: dict[str, Pace]) -> Table:
    table = Table("", "entries", "entries/s", "MB/s", "seconds", box=None, pad_edge=False, padding=(0, 2, 0, 0))
    for column in table.columns[1:]:
        column.justify = "right"
    for name, pace in paces.items():
        table.add_row(
            name,
            f"{pace.entries:,}",
            f"[bold]{pace.entries_per_s:,.0f}[/]",
            f"{pace.mb_per_s:,.1f}",
            f"{pace.seconds:.2f}",
        )
    return table


def _fragments(ledger_id: int, metadata: LedgerMetadata, killed: BookieId) -> Table:
    table = Table(box=None, pad_edge=False, show_header=False, padding=(0, 2, 0, 0))
    digest = metadata.digest_type.name if metadata.digest_type else "?"
    quorums = f"E={metadata.ensemble_size} Qw={metadata.write_quorum_size} Qa={metadata.ack_quorum_size}"
    table.add_row(f"ledger {ledger_id}", f"{metadata.state.name.lower()}, {quorums}, {digest}, fragments:")
    ends = [fragment.first_entry_id - 1 for fragment in metadata.fragments[1:]] + [metadata.last_entry_id]
    for fragment, last in zip(metadata.fragments, ends, strict=True):
        bookies = Text("  ").join(_bookie(bookie_id, killed) for bookie_id in fragment.ensemble)
        table.add_row(f"{fragment.first_entry_id:,}…{last:,}", bookies)
    return table


def _bookie(bookie_id: BookieId, killed: BookieId) -> Text:
    return Text(f"{bookie_id} killed", style="red") if bookie_id == killed else Text(bookie_id)
