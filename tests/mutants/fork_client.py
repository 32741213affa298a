"""Starts one mutant through the fork server: ``python -I -S fork_client.py SOCKET NAME -- WORDS…``, as for ``launch``.

This process stands for the mutant: it lends the server its standard files, passes SIGTERM on, and ends as the mutant
ends; if it is killed, the mutant is killed too.  It imports next to nothing, because there is one such process for each
start.
"""

import json
import os
import signal
import socket
import sys


def main(place: str, *words: str) -> None:
    """Have the mutant started, and wait for its end."""
    with socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET) as fork_server:
        fork_server.connect(place)
        request = {"words": words, "folder": os.getcwd(), "environment": dict(os.environ)}
        socket.send_fds(fork_server, [json.dumps(request).encode()], [0, 1, 2])
        signal.signal(signal.SIGTERM, lambda *_: fork_server.send(b"end"))
        status = int(fork_server.recv(64) or 1 << 8)
    if os.WIFSIGNALED(status):
        signal.signal(os.WTERMSIG(status), signal.SIG_DFL)
        os.kill(os.getpid(), os.WTERMSIG(status))
    sys.exit(os.waitstatus_to_exitcode(status))


if __name__ == "__main__":
    main(*sys.argv[1:])
