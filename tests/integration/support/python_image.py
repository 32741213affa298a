"""An image with a Python, to build others on: the official one, or one made of this machine's Python.

The local one is a copy: the interpreter that runs the tests, its library without what is installed beside it, the
shared libraries that they load, a shell, ``useradd``, and how pip reaches a package index from here.
"""

import ast
import configparser
import io
import os
import re
import shutil
import ssl
import subprocess
import sys
import sysconfig
from collections.abc import Iterable, Iterator
from itertools import chain
from pathlib import Path

from compat_tests.targets.docker.daemon import Daemon
from compat_tests.targets.docker.image import Image, archive, import_image, system_links, why_local
from compat_tests.targets.unavailable import Unavailable

_TOOLS = ("sh", "useradd")
_SYSTEM_PATH = "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"
_LEFT_OUT = {"site-packages", "dist-packages", "__pycache__", "test", "idlelib", "turtledemo"}
_BESIDE_THE_C_LIBRARY = (
    *("libdl.so.2", "libgcc_s.so.1", "libm.so.6", "libnsl.so.1", "libpthread.so.0", "libresolv.so.2", "librt.so.1"),
    *("libstdc++.so.6", "libutil.so.1", "libnss_dns.so.2", "libnss_files.so.2"),
)
"""What every manylinux wheel may load, and what the C library itself looks names up by."""
_LIBRARY = re.compile(r"(/\S+) \(0x")
_REACHES = {"cert", "default-timeout", "extra-index-url", "index-url", "proxy", "retries", "timeout", "trusted-host"}
"""Those of pip's settings that say where packages come from."""


def python_image(daemon: Daemon, official: str) -> Image:
    """The official image, pulled if need be, else a local one with this machine's Python."""
    why = why_local(daemon, official)
    if why is None:
        return Image(official, f"the official image {official}")
    python = Path(sys.executable).resolve()
    links = {**system_links(), "usr/local/bin/python": str(python), "usr/local/bin/python3": str(python)}
    programs = [python, *_tools()]
    copied = {_inside(path): path.read_bytes() for path in _paths(programs)}
    files = {**copied, **_written(pip_settings())}
    data = archive(links, files, {_inside(path) for path in programs} | {each for each in files if ".so" in each})
    name = import_image(daemon, "python", data, [f"ENV PATH={_SYSTEM_PATH}"])
    version = sys.version.split()[0]
    return Image(name, f"a local image of this machine's Python {version}, not the official image ({why})", ours=True)


def pip_settings() -> dict[str, str]:
    """How pip reaches a package index from here, whatever says so."""
    command = [sys.executable, "-m", "pip", "config", "list"]
    listed = subprocess.run(command, capture_output=True, text=True, check=False)
    if listed.returncode:
        raise Unavailable(f"no image with Python: {' '.join(command)} failed: {listed.stderr.strip()}")
    found = {}
    for line in listed.stdout.splitlines():
        key, _, value = line.partition("=")
        name = key.rpartition(".")[2]
        if name in _REACHES:
            found[name] = str(ast.literal_eval(value))
    bundle = os.environ.get("REQUESTS_CA_BUNDLE") or os.environ.get("SSL_CERT_FILE")
    if bundle:
        found.setdefault("cert", bundle)
    return found


def _tools() -> list[Path]:
    found = {name: shutil.which(name, path=_SYSTEM_PATH) for name in (*_TOOLS, "ldd")}
    if missing := [name for name, path in found.items() if path is None]:
        raise Unavailable(f"no image with Python: this machine has no {' and no '.join(missing)}")
    return [Path(str(found[name])) for name in _TOOLS]


def _paths(programs: list[Path]) -> Iterator[Path]:
    """All that is copied: the programs first, then the library of Python, and what both load."""
    folders = [sysconfig.get_path("stdlib"), *map(sysconfig.get_config_var, ("DESTSHARED", "WHEEL_PKG_DIR"))]
    library = list(chain.from_iterable(_files_below(Path(folder)) for folder in folders if folder))
    loading = [*programs, *(path for path in library if ".so" in path.name)]
    bundles = [pip_settings().get("cert"), ssl.get_default_verify_paths().openssl_cafile]
    yield from programs
    yield from library
    yield from _libraries(loading)
    yield from (Path(bundle) for bundle in bundles if bundle and Path(bundle).is_file())


def _files_below(folder: Path) -> Iterator[Path]:
    for path, folders, names in os.walk(folder):
        folders[:] = [each for each in folders if each not in _LEFT_OUT]
        yield from (Path(path, name) for name in names if not name.endswith(".a") and Path(path, name).is_file())


def _libraries(loading: Iterable[Path]) -> Iterator[Path]:
    said = subprocess.run(["ldd", *map(str, loading)], capture_output=True, text=True, check=False).stdout
    found = {Path(path) for path in _LIBRARY.findall(said)}
    yield from found
    for folder in {path.parent for path in found if path.name.startswith("libc.")}:
        yield from (folder / name for name in _BESIDE_THE_C_LIBRARY if (folder / name).exists())


def _inside(path: Path) -> str:
    """Its name in the archive: no folder of it is a link."""
    return str(path.parent.resolve() / path.name).lstrip("/")


def _written(settings: dict[str, str]) -> dict[str, bytes]:
    pip = configparser.ConfigParser(interpolation=None)
    pip["global"] = settings
    text = io.StringIO()
    pip.write(text)
    return {
        "etc/passwd": b"root:x:0:0:root:/root:/bin/sh\n",
        "etc/group": b"root:x:0:\n",
        "etc/pip.conf": text.getvalue().encode(),
    }
