"""An authentication plugin for tests: user and password in clear, in as many rounds as wanted, at once or later."""

from collections.abc import Callable

from attrs import define, field

from bookkeeper_tx.errors import AuthenticationFailed
from bookkeeper_tx.security.authentication import Answer, Completed, ConnectionPeer

Later = Callable[[Callable[[], None]], object]
"""Has something done, at once or later."""


def at_once(job: Callable[[], None]) -> None:
    job()


@define
class PlainBookie:
    """Takes ``user NUL password`` after ``rounds`` - 1 questions; ``peers`` are those that came."""

    users: dict[str, str]
    rounds: int = 1
    later: Later = at_once
    role: bytes | None = None
    """If set, only a client that shows this certificate (DER) is let in, and no token is asked for."""
    peers: list[ConnectionPeer] = field(factory=list)
    closed: int = 0

    plugin_name = "plain"

    def new_provider(self, peer: ConnectionPeer, completed: Completed) -> "PlainBookieProvider":
        self.peers.append(peer)
        return PlainBookieProvider(self, peer, completed)


@define
class PlainBookieProvider:
    plugin: PlainBookie
    peer: ConnectionPeer
    completed: Completed
    round: int = 0

    def process(self, token: bytes, answer: Answer) -> None:
        self.plugin.later(lambda: self._process(token, answer))

    def _process(self, token: bytes, answer: Answer) -> None:
        self.round += 1
        if self.round < self.plugin.rounds:
            answer(None, b"more")
            return
        user, _, password = token.decode().partition("\0")
        if self.plugin.users.get(user) != password:
            answer(AuthenticationFailed(f"wrong password of {user}"), b"")
            return
        self.peer.principal = user
        answer(None, b"welcome")
        self.completed(None)

    def secured(self) -> None:
        if self.plugin.role is not None:
            known = self.peer.certificate == self.plugin.role
            self.completed(None if known else AuthenticationFailed("a certificate that is not for this"))

    def close(self) -> None:
        self.plugin.closed += 1


@define
class PlainClient:
    """Sends its name and password whenever it is asked; ``peers`` are the bookies, as they were when asked first."""

    user: str = "reader"
    password: str = "secret"
    later: Later = at_once
    peers: list[ConnectionPeer] = field(factory=list)
    closed: int = 0

    plugin_name = "plain"

    def new_provider(self, peer: ConnectionPeer, completed: Completed) -> "PlainClientProvider":
        self.peers.append(peer)
        return PlainClientProvider(self, completed)


@define
class PlainClientProvider:
    plugin: PlainClient
    completed: Completed

    def start(self, answer: Answer) -> None:
        self.process(b"more", answer)

    def process(self, token: bytes, answer: Answer) -> None:
        if token == b"welcome":
            self.completed(None)
        elif token == b"more":
            credentials = f"{self.plugin.user}\0{self.plugin.password}".encode()
            self.plugin.later(lambda: answer(None, credentials))
        else:
            answer(AuthenticationFailed("not understood"), b"")

    def close(self) -> None:
        self.plugin.closed += 1
