"""The command line of the modules that write pages of the documentation."""

import sys
from collections.abc import Callable, Iterable, Sequence
from pathlib import Path


def run(
    module: str,
    root: Path,
    arguments: Sequence[str],
    *,
    stale: Callable[[Path], Sequence[str]],
    write: Callable[[Path], Iterable[Path]],
) -> int:
    """Write the pages, or with ``--check`` say which are stale; return the exit code.

    :param module: the name of the module that is run, for ``python -m``
    :param root: the root of the checkout
    """
    if not (root / "docs").is_dir():
        print("there are no pages here: run this in a checkout of the repository", file=sys.stderr)
        return 2
    if arguments == ["--check"]:
        wrong = stale(root)
        for line in wrong:
            print(f"{line}; run python -m {module}", file=sys.stderr)
        return 1 if wrong else 0
    if arguments:
        print(f"usage: python -m {module} [--check]", file=sys.stderr)
        return 2
    for path in write(root):
        print(path.relative_to(root))
    return 0
