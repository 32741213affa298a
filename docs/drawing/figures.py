"""The tables of measured figures: what ``bktx bench --json`` printed, as it lies in ``docs/_extra/figures``."""

import json
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from statistics import median
from typing import Any

from bookkeeper_tx.config import LEDGER_STORAGE_CLASSES

FIGURES = "docs/_extra/figures"
CLIENT, BOOKIE = "client_cpu_us_per_entry", "bookie_cpu_us_per_entry"
MIB = 2**20

WHOLE = ("start", "stop")
"""What ``bktx bench storage`` measures of a storage, and not of an entry."""

NOISY_CORES = 0.3
"""Cores kept busy by other processes; above this, rates are not to be trusted."""

LOADS = "| | entries/s | p50 ms | p99 ms | max ms | client µs | bookies µs |\n|---|--:|--:|--:|--:|--:|--:|"
RATIOS = (
    "| | entries/s, ours | Java's | ratio | client µs, ours | Java's | bookie µs, ours | Java's | both, ratio |\n"
    "|---|--:|--:|--:|--:|--:|--:|--:|--:|"
)


def loads(root: Path, names: str) -> str:
    """Return a table of each file of ``bktx bench``: a row for each workload, with the medians."""
    return "\n".join("\n".join(_of_file(root, name)) + "\n" for name in names.split())


def faces(root: Path, names: str) -> str:
    """Return a table of files of ``bktx bench`` with several faces: CPU of the client, and its ratio to the first."""
    rows, sources = [], []
    for name in names.split():
        report = _read(root, name)
        series = report["series"]
        sources.append(_source(report, name, (run for each in series for run in _runs(each))))
        ledgers = f"{series[0]['ledgers']:,} ledger{'s' if series[0]['ledgers'] > 1 else ''}"
        for workloads in zip(*(each["workloads"] for each in series), strict=True):
            used = [each["median"][CLIENT] for each in workloads]
            ratios = [cell for each in used[1:] for cell in (_number(each), f"{each / used[0]:.2f}")]
            title = f"{workloads[0]['workload'].replace('_', ' ')}, {ledgers}"
            rows.append(f"| {title} | {_number(used[0])} | {' | '.join(ratios)} |")
    head = " | ".join([series[0]["face"], *(f"{each['face']} | ratio" for each in series[1:])])
    columns = "--:|" * (2 * len(series) - 1)
    text = f"µs of the client's CPU an entry, {_runs_of(series[0])}; {'; '.join(sources)}."
    return "\n".join([text, "", f"| | {head} |", f"|---|{columns}", *rows, ""])


def ratios(root: Path, name: str) -> str:
    """Return the table of a file of ``bktx bench compare``: ours, Java's, and how many times Java's ours is."""
    report = _read(root, name)
    rows = "\n".join(map(_compared, report["rows"]))
    runs = [run for row in report["rows"] for side in ("ours", "java") for run in row["runs"][side]]
    return (
        f"{report['payload_size']:,} B, {report['protocol'].upper()}, E=Qw=Qa=1, {_runs_of(report)};"
        f" BookKeeper {report['machine']['java']} on {report['machine']['jvm']}; {_source(report, name, runs)}.\n\n"
        f"{RATIOS}\n{rows}\n"
    )


def storages(root: Path, names: str) -> str:
    """Return a table of each file of ``bktx bench storage``: the medians of each class, and the ratio to the first."""
    return "\n".join("\n".join(_of_storage(root, name)) + "\n" for name in names.split())


def _read(root: Path, name: str) -> dict[str, Any]:
    report = json.loads((root / FIGURES / f"{name}.json").read_text(encoding="utf-8"))
    assert isinstance(report, dict)
    return report


def _source(report: Mapping[str, Any], name: str, runs: Iterable[Mapping[str, Any]]) -> str:
    machine = report["machine"]
    text = f"{machine['cores']} cores, Python {machine['python']}"
    if (others := max(run["other_cores"] for run in runs)) > NOISY_CORES:
        text += f", up to {others:.1f} of them busy with other work: trust the µs, not the rates"
    return f'{text}; <a href="../figures/{name}.json">all that it printed</a>'


def _of_file(root: Path, name: str) -> Iterator[str]:
    report = _read(root, name)
    for series in report["series"]:
        yield f"{series['title']}{_class_of(series)}, {_runs_of(series)}; {_source(report, name, _runs(series))}."
        yield f"\n{LOADS}"
        yield from map(_worked, series["workloads"])
        yield f"\n{_memory(series)}"


def _class_of(series: Mapping[str, Any]) -> str:
    """Return the words for a class of ledger storage that is not the default."""
    storage_class = (series.get("bookie_settings") or {}).get("ledgerStorageClass", LEDGER_STORAGE_CLASSES[0])
    return "" if storage_class == LEDGER_STORAGE_CLASSES[0] else f", `{storage_class}`"


def _runs_of(measured: Mapping[str, Any]) -> str:
    return "one run" if measured["runs"] == 1 else f"medians of {measured['runs']} runs"


def _runs(series: Mapping[str, Any]) -> list[Mapping[str, Any]]:
    return [run for workload in series["workloads"] for run in workload["runs"]]


def _worked(workload: Mapping[str, Any]) -> str:
    figures = workload["median"]
    latencies = [_number(figures[f"latency_{which}_ms"]) for which in ("p50", "p99", "max")]
    cells = [f"{figures['entries_per_s']:,.0f}", *latencies, _number(figures[CLIENT]), _number(figures[BOOKIE])]
    return f"| {workload['workload'].replace('_', ' ')} | {' | '.join(cells)} |"


def _memory(series: Mapping[str, Any]) -> str:
    runs = _runs(series)
    client = max(run["client_rss_bytes_max"] for run in runs) / MIB
    text = f"Memory at most: a client {client:,.0f} MiB"
    if bookies := [run["bookie_rss_bytes_max"] for run in runs if run["bookie_rss_bytes_max"] is not None]:
        text += f", a bookie {max(bookies) / MIB:,.0f} MiB"
    if restarts := series.get("restarts"):
        text += (
            f". After SIGKILL the bookie served again in {restarts['start_after_sigkill_s']:.1f} s;"
            f" at SIGTERM it ended in {restarts['stop_at_sigterm_s']:.1f} s"
        )
        if (again_s := restarts.get("start_after_stop_s")) is not None:  # it was not always measured
            text += f", and it served again in {again_s:.1f} s"
    return f"{text}. The loop that makes the load is {series['loop_cpu_us_per_entry']:.2f} µs of the client's."


def _compared(row: Mapping[str, Any]) -> str:
    ours, java, found = row["ours"], row["java"], row["ratios"]
    cells = [
        f"{ours['entries_per_s']:,.0f}",
        f"{java['entries_per_s']:,.0f}",
        _number(found["entries_per_s"]),
        *(_number(side[name]) for name in (CLIENT, BOOKIE) for side in (ours, java)),
        _number(found["cpu_us_per_entry"]),
    ]
    return f"| {row['row']} | {' | '.join(cells)} |"


def _of_storage(root: Path, name: str) -> Iterator[str]:
    report = _read(root, name)
    classes = report["classes"]
    source = _source(report, name, (run for runs in classes.values() for run in runs))
    ledgers = f"{report['ledgers']:,} ledger{'s' if report['ledgers'] > 1 else ''}"
    yield f"{report['entries']:,} entries of {report['size']:,} B in {ledgers}, {_runs_of(report)}; {source}."
    yield f"\n| | {' | '.join(f'`{each}`' for each in classes)} | ratio |\n|---|{'--:|' * (len(classes) + 1)}"
    measured = list(classes.values())
    for workload in (key for key, value in measured[0][0].items() if isinstance(value, dict)):
        used = [median(run[workload]["cpu_us"] for run in runs) for runs in measured]
        rates = [median(run[workload]["per_s"] for run in runs) for runs in measured]
        if workload in WHOLE:
            cells = [*(f"{_number(each / 1e6)} s" for each in used), ""]
        else:
            cells = [f"{_number(cpu)} µs ({rate:,.0f}/s)" for cpu, rate in zip(used, rates, strict=True)]
            cells.append(f"{used[-1] / used[0]:.2f}")
        yield f"| {workload.replace('_', ' ')} | {' | '.join(cells)} |"
    waits = [max(run["slowest_add_s"] for run in runs) for runs in measured]
    yield f"| longest wait of an add | {' | '.join(f'{_number(each)} s' for each in waits)} |  |"


def _number(value: float | None) -> str:
    """Return three digits of a figure, or none of it if it is not known."""
    if value is None:
        return ""
    return f"{value:,.0f}" if value >= 100 else f"{value:.1f}" if value >= 10 else f"{value:.2f}"
