"""Servers that are no bookies."""

import socket
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager

Serve = Callable[[socket.socket], None]

_FLOOD_CHUNK = bytes.fromhex("00000014 02020000 00000001") * 4096


def say_nothing(connection: socket.socket) -> None:
    while connection.recv(1 << 16):
        pass


def close_at_once(connection: socket.socket) -> None:
    connection.close()


def answer_http(connection: socket.socket) -> None:
    connection.recv(1 << 16)
    connection.sendall(b"HTTP/1.1 400 Bad Request\r\nContent-Length: 0\r\nConnection: close\r\n\r\n")


def flood(connection: socket.socket) -> None:
    while True:
        connection.sendall(_FLOOD_CHUNK)


def promise_more(connection: socket.socket) -> None:
    connection.recv(1 << 16)
    connection.sendall(bytes.fromhex("000fffff 0202"))
    say_nothing(connection)


def echo(connection: socket.socket) -> None:
    while data := connection.recv(1 << 16):
        connection.sendall(data)


def answer_any_read_with_success(connection: socket.socket) -> None:
    while connection.recv(1 << 16):
        connection.sendall(bytes.fromhex("00000018 02020000 00000000 0000000000000001 0000000000000002"))


BAD = (close_at_once, answer_http, flood, promise_more, echo, answer_any_read_with_success, say_nothing)


@contextmanager
def serving(serve: Serve) -> Iterator[int]:
    """A server on loopback; gives its port."""
    server = socket.create_server(("127.0.0.1", 0))
    connections: list[socket.socket] = []

    def answer(connection: socket.socket) -> None:
        try:
            serve(connection)
        except OSError:
            pass  # the suite has closed its end
        finally:
            connection.close()

    def accept() -> None:
        while True:
            try:
                connection, _ = server.accept()
            except OSError:
                return
            connections.append(connection)
            threading.Thread(target=answer, args=(connection,), daemon=True).start()

    threading.Thread(target=accept, daemon=True).start()
    try:
        yield server.getsockname()[1]
    finally:
        server.close()
        for connection in connections:
            connection.close()
