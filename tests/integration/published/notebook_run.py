"""Notebooks, run in a kernel of this interpreter and in a directory of their own, and the files that they leave."""

import base64
import time
import uuid
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from tempfile import TemporaryDirectory

import nbformat
from attrs import field, frozen
from ipykernel.kernelspec import write_kernel_spec
from jupyter_client.kernelspec import KernelSpecManager
from jupyter_client.manager import AsyncKernelManager
from nbclient import NotebookClient

from compat_tests.targets.jvm import SMALL_JVM
from tests.cli.bktx_process import environment

CELL_TIMEOUT_S = 300
START_TIMEOUT_S = 120
END_TIMEOUT_S = 60
POLL_S = 0.1

_MARK = "NOTEBOOK_RUN"


@frozen
class NotebookRun:
    """A place to run notebooks in.

    ``directory`` should have a short name, since sockets are made in it.  Its parts: ``cwd``, where the kernel is;
    ``tmp``, the temporary files of the kernel and of the JVMs that it starts; ``settings``, of Jupyter and of what
    draws.
    """

    directory: Path
    mark: str = field(factory=lambda: uuid.uuid4().hex)
    """A mark in the environment of every process that is started here."""

    @classmethod
    @contextmanager
    def in_new_directory(cls) -> "Iterator[NotebookRun]":
        with TemporaryDirectory(prefix="nb-") as directory:
            run = cls(Path(directory))
            for part in (run.cwd, run.tmp, run.settings):
                part.mkdir()
            yield run

    @property
    def cwd(self) -> Path:
        return self.directory / "cwd"

    @property
    def tmp(self) -> Path:
        return self.directory / "tmp"

    @property
    def settings(self) -> Path:
        return self.directory / "settings"

    def execute(self, notebook: nbformat.NotebookNode) -> None:
        """Run all cells; their outputs are in the notebook then, and the kernel has ended.

        Raises CellExecutionError, with the source of the cell and its error, and CellTimeoutError.
        """
        client = NotebookClient(
            notebook, self._kernel(), timeout=CELL_TIMEOUT_S, startup_timeout=START_TIMEOUT_S, coalesce_streams=True
        )
        client.execute(cleanup_kc=True, cwd=str(self.cwd), env=self._environment())

    def files_left(self) -> list[str]:
        """Return the files in the kernel's directory, and among the temporary files."""
        parts = (self.cwd, self.tmp)
        return sorted(str(path.relative_to(self.directory)) for part in parts for path in part.rglob("*"))

    def processes_left(self, timeout_s: float = END_TIMEOUT_S) -> dict[int, str]:
        """Return the processes that were started here, and their commands; some of them may be about to end."""
        deadline = time.monotonic() + timeout_s
        while (found := self._processes()) and time.monotonic() < deadline:
            time.sleep(POLL_S)
        return found

    def _processes(self) -> dict[int, str]:
        found = {}
        for process in Path("/proc").glob("[0-9]*"):
            try:
                if f"{_MARK}={self.mark}".encode() in (process / "environ").read_bytes().split(b"\0"):
                    found[int(process.name)] = (process / "cmdline").read_bytes().replace(b"\0", b" ").decode()
            except OSError:
                continue  # it has ended meanwhile
        return found

    def _kernel(self) -> AsyncKernelManager:
        """Return the manager of a kernel that nobody has to install: its specification lies among the settings."""
        write_kernel_spec(str(self.settings / "kernels" / "python3"))
        specs = KernelSpecManager(kernel_dirs=[str(self.settings / "kernels")], ensure_native_kernel=False)
        connection = str(self.settings / f"{uuid.uuid4().hex}.json")
        return AsyncKernelManager(kernel_name="python3", kernel_spec_manager=specs, connection_file=connection)

    def _environment(self) -> dict[str, str]:
        return {
            **environment(),
            _MARK: self.mark,
            "TMPDIR": str(self.tmp),
            "JDK_JAVA_OPTIONS": " ".join([*SMALL_JVM, f"-Djava.io.tmpdir={self.tmp}"]),
            "IPYTHONDIR": str(self.settings / "ipython"),
            "JUPYTER_CONFIG_DIR": str(self.settings / "jupyter"),
            "JUPYTER_DATA_DIR": str(self.settings / "data"),
            "JUPYTER_RUNTIME_DIR": str(self.settings),
            "MPLCONFIGDIR": str(self.settings / "matplotlib"),
        }


def printed(cell: nbformat.NotebookNode) -> str:
    """Return the printed output of a cell."""
    return "".join(each.text for each in cell.outputs if each.output_type == "stream" and each.name == "stdout")


def drawn(cell: nbformat.NotebookNode) -> list[bytes]:
    """Return the pictures that a cell has drawn, as PNG."""
    shown = [each.data for each in cell.outputs if each.output_type in ("display_data", "execute_result")]
    return [base64.b64decode(data["image/png"]) for data in shown if "image/png" in data]


def one_cell(source: str) -> nbformat.NotebookNode:
    """Return a notebook with a cell."""
    return nbformat.v4.new_notebook(cells=[nbformat.v4.new_code_cell(source)])
