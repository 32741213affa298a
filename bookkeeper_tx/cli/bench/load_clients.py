"""The client processes of ``bktx bench``: all get each request at once, and work on it at the same time."""

import os
import subprocess
from collections.abc import Sequence
from pathlib import Path
from types import TracebackType
from typing import IO

from attrs import define, field

import bookkeeper_tx
from bookkeeper_tx.cli.bench.load_lines import LoadFailed, numbers, parse_reply, render
from bookkeeper_tx.cli.bench.measurement import Measured, Stopwatch

MICROSECONDS = 1e6
STOP_TIMEOUT_S = 10.0
LOG_CHARACTERS_SHOWN = 2000


@define
class LoadClients:
    """Processes that make load; a context manager that starts and ends them.

    They end by themselves when this process does, in any way: it holds the other end of their standard input.
    """

    commands: Sequence[list[str]]
    """The command of each."""
    directory: Path
    """For their logs."""
    name: str = "client"
    _processes: list["subprocess.Popen[str]"] = field(factory=list, init=False)

    @property
    def count(self) -> int:
        return len(self.commands)

    @property
    def pids(self) -> list[int]:
        return [process.pid for process in self._processes]

    def __enter__(self) -> "LoadClients":
        self.directory.mkdir(parents=True, exist_ok=True)
        root = str(Path(bookkeeper_tx.__file__).parent.parent)
        paths = os.pathsep.join([root, *filter(None, [os.environ.get("PYTHONPATH")])])
        for index, command in enumerate(self.commands):
            with self._log(index).open("wb") as log:
                self._processes.append(
                    subprocess.Popen(
                        command,
                        stdin=subprocess.PIPE,
                        stdout=subprocess.PIPE,
                        stderr=log,
                        text=True,
                        env={**os.environ, "PYTHONPATH": paths},
                        start_new_session=True,  # Ctrl-C is for the bench, which then ends them
                    )
                )
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        for process in self._processes:
            _stdin(process).close()
        for process in self._processes:
            try:
                process.wait(STOP_TIMEOUT_S if error is None else 0)
            except subprocess.TimeoutExpired:
                process.kill()
                process.wait()
        self._processes.clear()

    def ask(self, verb: str, **values: object) -> list[dict[str, str]]:
        """Send a request to every client and return all replies.  Raises LoadFailed for the first error."""
        line = render(verb, values) + "\n"
        for index, process in enumerate(self._processes):
            try:
                _stdin(process).write(line)
                _stdin(process).flush()
            except OSError:
                raise self._ended(index) from None
        return [parse_reply(self._line(index), f"{self.name} {index}") for index in range(self.count)]

    def measure(self, bookie_pids: Sequence[int], verb: str, **values: object) -> Measured:
        """Have every client do a workload; return the figures of all together."""
        watch = Stopwatch(bookie_pids, self.pids)
        replies = self.ask(verb, **values)
        lap = watch.lap()
        latencies_us: list[int] = []
        slowest_us = 0
        for each in self.ask("latencies"):
            latencies_us += numbers(each["sampled_us"])
            slowest_us = max(slowest_us, int(each["slowest_us"]))
        return lap.measured(
            sum(int(each["entries"]) for each in replies),
            sum(int(each["bytes"]) for each in replies),
            [each / MICROSECONDS for each in latencies_us],
            slowest_us / MICROSECONDS,
        )

    def _line(self, index: int) -> str:
        output: IO[str] | None = self._processes[index].stdout
        assert output is not None
        line = output.readline()
        if not line:
            raise self._ended(index)
        return line

    def _ended(self, index: int) -> LoadFailed:
        text = self._log(index).read_text(errors="replace").strip()[-LOG_CHARACTERS_SHOWN:]
        return LoadFailed(f"{self.name} {index} has ended: {text or 'it has said nothing'}")

    def _log(self, index: int) -> Path:
        return self.directory / f"{self.name}-{index}.log"


def _stdin(process: "subprocess.Popen[str]") -> IO[str]:
    assert process.stdin is not None
    return process.stdin
