"""What starts a mutant sees of it: ``python -I -S stand_in.py SOCKET NAME -- WORDS…``, the words of the launcher.

It gives its files to the nursery, passes SIGTERM on, ends as the mutant does, and the mutant with it.  A file of its
own that imports next to nothing, as there is one process for each start.
"""

import json
import os
import signal
import socket
import sys


def main(place: str, *words: str) -> None:
    """Have the mutant started, and wait for its end."""
    with socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET) as nursery:
        nursery.connect(place)
        request = {"words": words, "folder": os.getcwd(), "environment": dict(os.environ)}
        socket.send_fds(nursery, [json.dumps(request).encode()], [0, 1, 2])
        signal.signal(signal.SIGTERM, lambda *_: nursery.send(b"end"))
        status = int(nursery.recv(64) or 1 << 8)
    if os.WIFSIGNALED(status):
        signal.signal(os.WTERMSIG(status), signal.SIG_DFL)
        os.kill(os.getpid(), os.WTERMSIG(status))
    sys.exit(os.waitstatus_to_exitcode(status))


if __name__ == "__main__":
    main(*sys.argv[1:])
