"""The compiler of Kaitai Struct, fetched once: it turns ``.ksy`` files into Python."""

import importlib.util
import os
import shutil
import subprocess
from pathlib import Path
from types import ModuleType

from compat_tests.targets.cache import exclusive
from compat_tests.targets.unavailable import Unavailable

PACKAGES = ("kaitai-struct-compiler@0.11.0", "js-yaml@4.1.0")
SCRIPT = Path(__file__).with_name("compile_ksy.js")
INSTALL_TIMEOUT_S = 120
COMPILE_TIMEOUT_S = 60


def compiled(files: list[Path], out: Path) -> dict[str, ModuleType]:
    """Compile ``.ksy`` files into ``out`` and return the parsers by name.

    Raises :class:`Unavailable` without Node.js, or where its packages cannot be had.
    """
    node, npm = shutil.which("node"), shutil.which("npm")
    if node is None or npm is None:
        raise Unavailable("the Kaitai Struct compiler needs Node.js with npm: install them")
    with exclusive("kaitai-struct-compiler-0.11.0") as folder:
        if not (folder / "installed").exists():
            _install(npm, folder)
        environment = {**os.environ, "NODE_PATH": str(folder / "node_modules")}
        command = [node, str(SCRIPT), str(out), *map(str, files)]
        subprocess.run(command, env=environment, check=True, timeout=COMPILE_TIMEOUT_S)
    return {file.stem: _imported(out / f"{file.stem}.py") for file in files}


def _install(npm: str, folder: Path) -> None:
    command = [npm, "install", "--silent", "--no-audit", "--no-fund", "--ignore-scripts", "--prefix", str(folder)]
    try:
        subprocess.run([*command, *PACKAGES], check=True, timeout=INSTALL_TIMEOUT_S, stdin=subprocess.DEVNULL)
    except (subprocess.SubprocessError, OSError) as error:
        raise Unavailable(f"npm cannot install {' '.join(PACKAGES)}: {error}") from error
    (folder / "installed").touch()


def _imported(path: Path) -> ModuleType:
    spec = importlib.util.spec_from_file_location(path.stem, path)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module
