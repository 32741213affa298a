"""Run the product with one defect: ``python -m tests.mutants.launch NAME -- WORDS…``.

For a bookie, WORDS are the arguments of ``twistd``, options first; for a client, the name of the module that drives it.
The process ends when its standard input ends, because the process that started it may be killed.
"""

import os
import runpy
import signal
import sys
import threading

from tests.mutants.all_mutants import MUTANTS

AS_IT_IS = "as-it-is"
"""The NAME that runs the product without a defect."""


def main(words: list[str]) -> None:
    """Put the defect in, and run."""
    name, dashes, *rest = words
    assert dashes == "--", "usage: python -m tests.mutants.launch NAME -- WORDS..."
    if name != AS_IT_IS:
        MUTANTS[name].patch()
    if rest[0].startswith("-"):
        threading.Thread(target=_end_with_the_suite, daemon=True).start()
        from twisted.scripts.twistd import run

        sys.argv = ["twistd", *rest]
        run()
    else:
        sys.argv = rest
        runpy.run_module(rest[0], run_name="__main__", alter_sys=True)


def _end_with_the_suite() -> None:
    os.read(0, 1)
    os.kill(os.getpid(), signal.SIGTERM)


if __name__ == "__main__":
    main(sys.argv[1:])
