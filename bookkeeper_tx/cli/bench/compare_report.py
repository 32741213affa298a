"""The figures of ``bktx bench compare`` for people."""

from typing import Any

from rich.console import Console
from rich.table import Table

from bookkeeper_tx.cli.bench.comparison import BP_62, INTERLEAVED, WARM_UP_ENTRIES
from bookkeeper_tx.cli.bench.report import NOISY_CORES

TITLES = {
    INTERLEAVED: "{window:,} in flight, the ledgers in turns",
    BP_62: "the table of BP-62: one ledger, one request in flight",
}

COLUMNS = {
    "entries/s": ("entries_per_s", "{:,.0f}"),
    "p99 ms": ("latency_p99_ms", "{:,.2f}"),
    "client µs": ("client_cpu_us_per_entry", "{:,.2f}"),
    "bookie µs": ("bookie_cpu_us_per_entry", "{:,.2f}"),
}


def show(report: dict[str, Any], console: Console) -> None:
    """Print the tables."""
    where = report["machine"]
    console.print(
        f"Python {where['python']}, {where['system']}, {where['cores']} cores; Java's BookKeeper {where['java']} on"
        f" {where['jvm']}; {report['payload_size']:,} B, {report['protocol'].upper()}, E=Qw=Qa=1, CRC32C verified",
        soft_wrap=True,
    )
    for name, title in TITLES.items():
        rows = [row for row in report["rows"] if row["table"] == name]
        if rows:
            console.print()
            console.print(
                _table(rows, f"{title.format(**report)}; median of {report['runs']} runs, after one to warm up")
            )
    console.print("\nratio: ours to Java's; of CPU less is better, of a rate more; both: client and bookie together")
    if report["warm_up_entries"] < WARM_UP_ENTRIES:
        console.print("[yellow]Java has not warmed up: for its figures, leave out --quick[/]")
    others = max(run["other_cores"] for row in report["rows"] for side in ("ours", "java") for run in row["runs"][side])
    if others > NOISY_CORES:
        console.print(f"[yellow]other processes kept up to {others:.1f} cores busy: trust the µs, not the rates[/]")


def _table(rows: list[dict[str, Any]], title: str) -> Table:
    table = Table("", "", *COLUMNS, "both µs", title=title, title_justify="left", box=None, pad_edge=False)
    for column in table.columns[2:]:
        column.justify = "right"
    for row in rows:
        for side in ("ours", "java"):
            table.add_row(row["row"] if side == "ours" else "", side, *_cells(row[side]))
        table.add_row("", "ratio", *_ratios(row["ratios"]), style="bold")
    return table


def _cells(figures: dict[str, Any]) -> list[str]:
    cells = ["" if figures[name] is None else form.format(figures[name]) for name, form in COLUMNS.values()]
    return [*cells, f"{figures['client_cpu_us_per_entry'] + figures['bookie_cpu_us_per_entry']:,.2f}"]


def _ratios(ratios: dict[str, float | None]) -> list[str]:
    names = [*(name for name, _ in COLUMNS.values()), "cpu_us_per_entry"]
    found = [ratios[name] for name in names]
    return ["" if ratio is None else f"{ratio:.2f}" for ratio in found]
