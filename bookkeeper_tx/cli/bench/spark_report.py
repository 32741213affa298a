"""The figures of ``bktx bench spark`` for people."""

from typing import Any

from rich.console import Console
from rich.table import Table

from bookkeeper_tx.cli.bench.report import NOISY_CORES

COLUMNS = {
    "rows/s": ("rows_per_s", "{:,.0f}"),
    "worker µs": ("worker_cpu_us_per_row", "{:,.2f}"),
    "JVM µs": ("jvm_cpu_us_per_row", "{:,.2f}"),
    "bookie µs": ("bookie_cpu_us_per_row", "{:,.2f}"),
    "planner µs": ("planner_cpu_us_per_row", "{:,.2f}"),
}
MICROSECONDS = 1e6


def show(report: dict[str, Any], console: Console) -> None:
    """Print a table of the workloads, one of planning, and the other figures."""
    where = report["machine"]
    console.print(
        f"Spark {where['pyspark']}, local[2], and one bookie of ours; pyarrow {where['pyarrow']}, numpy "
        f"{where['numpy']}, Python {where['python']}, {where['system']}, {where['cores']} cores; CRC32C verified",
        soft_wrap=True,
    )
    console.print(
        f"{report['entries']:,} entries of {report['payload_size']:,} B, {report['sink_rows']:,} to the sink; "
        f"medians of {report['runs']} runs, CPU per row\n",
        soft_wrap=True,
    )
    console.print(_workloads(report))
    console.print(_notes(report), soft_wrap=True)
    planning = report["planning"]
    console.print(f"metadata of {planning['ledgers']:,} ledgers in {planning['store']}; medians\n", soft_wrap=True)
    console.print(_planning(planning))


def _workloads(report: dict[str, Any]) -> Table:
    table = _table(*COLUMNS)
    for workload in report["workloads"]:
        figures = workload["median"]
        cells = [form.format(figures[name]) for name, form in COLUMNS.values()]
        table.add_row(workload["workload"].replace("_", " "), *cells)
    return table


def _notes(report: dict[str, Any]) -> str:
    ratio, memory = report["single_to_batch"], report["worker_memory"]
    filled = report["fill_without_spark"]
    lines = [
        f"the ledger was written by one process without Spark: {filled['entries_per_s']:,.0f} entries/s, "
        f"CPU {filled['client_cpu_us_per_entry']:.2f} µs, the bookie's {filled['bookie_cpu_us_per_entry']:.2f} µs",
        f"single reads against batch reads: {ratio['rows_per_s']:.2f} times the rows/s, "
        f"{ratio['bookie_cpu_us_per_row']:.1f} times the bookie's CPU",
        f"highest memory of a Python worker: {memory['after_part_bytes'] / 2**20:,.0f} MiB after "
        f"{memory['entries_of_part']:,} entries, {memory['after_all_bytes'] / 2**20:,.0f} MiB after all",
    ]
    others = max(run["other_cores"] for workload in report["workloads"] for run in workload["runs"])
    if others > NOISY_CORES:
        lines.append(f"[yellow]other processes kept up to {others:.1f} cores busy: trust the µs, not the rates[/]")
    return "\n".join(lines) + "\n"


def _planning(planning: dict[str, Any]) -> Table:
    median, count = planning["median"], planning["ledgers"]
    table = _table("s", "µs a ledger", "times raw")
    rows = {
        "raw reads": (median["raw_s"], 1.0),
        "metadata read": (median["read_s"], median["read_ratio"]),
        "listed and read": (median["listed_and_read_s"], median["listed_and_read_ratio"]),
        "load() in Spark": (median["load_s"], None),
        "partitions cut": (median["plan_s"], None),
        "both": (median["load_s"] + median["plan_s"], median["planned_ratio"]),
    }
    for text, (seconds, ratio) in rows.items():
        times = "" if ratio is None else f"{ratio:.2f}"
        table.add_row(text, f"{seconds:,.2f}", f"{seconds / count * MICROSECONDS:,.1f}", times)
    return table


def _table(*columns: str) -> Table:
    table = Table("", *columns, box=None, pad_edge=False)
    for column in table.columns[1:]:
        column.justify = "right"
    return table
