"""The figures of ``bktx bench`` for people."""

import os
import platform
from typing import Any

from rich.console import Console
from rich.table import Table

NOISY_CORES = 0.3
"""Cores kept busy by other processes; above this, rates are not to be trusted."""

COLUMNS = {
    "entries/s": ("entries_per_s", "{:,.0f}"),
    "MB/s": ("mb_per_s", "{:,.1f}"),
    "p50 ms": ("latency_p50_ms", "{:,.2f}"),
    "p99 ms": ("latency_p99_ms", "{:,.2f}"),
    "max ms": ("latency_max_ms", "{:,.0f}"),
    "client µs": ("client_cpu_us_per_entry", "{:,.2f}"),
    "bookie µs": ("bookie_cpu_us_per_entry", "{:,.2f}"),
}


def machine() -> dict[str, Any]:
    """Return the Python, the system and the cores of the measurement."""
    return {
        "python": platform.python_version(),
        "system": f"{platform.system()} {platform.release()} {platform.machine()}",
        "cores": os.cpu_count(),
    }


def show(report: dict[str, Any], console: Console) -> None:
    """Print a table for each series."""
    where = report["machine"]
    console.print(f"Python {where['python']}, {where['system']}, {where['cores']} cores; CRC32C verified")
    for series in report["series"]:
        console.print()
        console.print(_table(series))
        console.print(_notes(series), soft_wrap=True)


def _table(series: dict[str, Any]) -> Table:
    table = Table(
        "",
        *COLUMNS,
        title=f"{series['title']}; best and median of {series['runs']} runs",
        title_justify="left",
        box=None,
        pad_edge=False,
    )
    for column in table.columns[1:]:
        column.justify = "right"
    for workload in series["workloads"]:
        table.add_row(workload["workload"].replace("_", " "), *_cells(workload["best"]))
        table.add_row("", *_cells(workload["median"]), style="dim")
    return table


def _cells(figures: dict[str, Any]) -> list[str]:
    return ["" if figures[name] is None else form.format(figures[name]) for name, form in COLUMNS.values()]


def _notes(series: dict[str, Any]) -> str:
    runs = [run for workload in series["workloads"] for run in workload["runs"]]
    lines = [*_of_one_add(series["one_add"]), *_of_bookies(series["bookie_after_adds"])]
    memory = max(run["client_rss_bytes_max"] for run in runs) / 2**20
    lines.append(
        f"client: {memory:,.0f} MiB of memory at most; of its µs, {series['loop_cpu_us_per_entry']:.2f} are the loop"
        " that makes the load, where each operation has a Deferred"
    )
    if restarts := series.get("restarts"):
        lines.append(
            f"bookies: serve {restarts['start_after_sigkill_s']:.1f} s after a start that follows SIGKILL,"
            f" end {restarts['stop_at_sigterm_s']:.1f} s after SIGTERM,"
            f" and serve {restarts['start_after_stop_s']:.1f} s after a start that follows that"
        )
    others = max(run["other_cores"] for run in runs)
    if others > NOISY_CORES:
        lines.append(f"[yellow]other processes kept up to {others:.1f} cores busy: trust the µs, not the rates[/]")
    return "\n".join(lines) + "\n"


def _of_one_add(one_add: dict[str, Any] | None) -> list[str]:
    if one_add is None:
        return []
    run = min(one_add["runs"], key=lambda each: each["ratio"])
    return [
        f"p50 of one add at a time: {run['p50_us']:,.0f} µs, {run['ratio']:.1f} times the sum of"
        f" fdatasync ({run['fdatasync_p50_us']:,.0f} µs)"
        f" and loopback round trip ({run['loopback_round_trip_p50_us']:,.0f} µs)"
    ]


def _of_bookies(after: list[dict[str, int]]) -> list[str]:
    if not after:
        return []
    memory = max(each["rss_bytes_max"] for each in after) / 2**20
    flushes = ", ".join(f"{each['flushes_seen']}/{each['log_rolls']}" for each in after)
    return [f"bookie: {memory:,.0f} MiB of memory at most; flushes seen/log rolls in each run: {flushes}"]
