"""The budgets that all clients of a bookie share: connections, memory of frames and replies, and time.

**Connections** have a maximum, in total and by address; more are closed at once.  **Frames** that are not complete yet
may have so many bytes together; a client whose long frame has no room is not read from until others are complete.
**Replies** that clients do not take may have so many bytes together; then the client that has taken nothing for longest
is closed.  So is a client that takes nothing, or does not complete a frame, for too long: those are looked for now and
then, which costs the others nothing.
"""

from collections import Counter, deque
from collections.abc import Iterable
from typing import Any, Final, Protocol

from attrs import frozen
from twisted.internet.interfaces import IDelayedCall, IReactorTime
from twisted.logger import Logger

from bookkeeper_tx.config import BookieConfig
from bookkeeper_tx.transport.keepalive import KeepAlive
from bookkeeper_tx.transport.receive_size import RECEIVE_SIZE, receive_size

LOOKS: Final = 4
"""How often clients are looked at within the time that they have."""

FRAME_BYTES_PER_S: Final = 64 * 1024
"""A client has one more second to complete a frame for so many bytes of it that have come."""

TAKES_NOTHING = "it takes no replies"
NOT_COMPLETE = "it does not complete its frame"
TOO_MUCH_UNSENT = "too many replies wait to be taken, and it has taken nothing for longest"

log = Logger()


class Client(Protocol):
    """A connection, as the budget sees it."""

    @property
    def sent_bytes(self) -> int:
        """Bytes of replies handed to the transport so far."""

    @property
    def untaken_bytes(self) -> int:
        """Bytes of them that the client has not taken yet, those in the socket included."""

    @property
    def frame(self) -> tuple[int, int, int]:
        """The number of the frame that is not complete yet, its size, 0 if there is none, and how much has come."""

    @property
    def is_reading(self) -> bool:
        """Whether the bookie reads from it: else its frame cannot become complete."""

    def stop_reading(self) -> None: ...

    def read_on(self) -> None: ...

    def give_up(self, why: str) -> None:
        """Close the connection at once."""


@frozen(kw_only=True)
class ClientLimits:
    """The limits on clients; the defaults are no limits."""

    connections_max: int = 2**31
    connections_per_address_max: int = 2**31
    frames_bytes_max: int = 2**63
    replies_bytes_max: int = 2**63
    timeout_s: float = 1e9
    keepalive: KeepAlive | None = None

    @classmethod
    def of(cls, config: BookieConfig) -> "ClientLimits":
        return cls(
            connections_max=config.connections_max,
            connections_per_address_max=config.connections_per_address_max,
            frames_bytes_max=config.frames_bytes_max,
            replies_bytes_max=config.replies_bytes_max,
            timeout_s=config.client_timeout_s,
            keepalive=KeepAlive(config.keepalive_idle_s, config.keepalive_interval_s, config.keepalive_count)
            if config.keepalive_enabled
            else None,
        )


class ClientAccount:
    """The share of one client."""

    __slots__ = (
        "_budget",
        "client",
        "frame",
        "frame_age",
        "idle",
        "is_waiting",
        "receive_size",
        "taken_bytes",
        "transport",
        "unsent_bytes",
        "wanted",
    )

    def __init__(self, budget: "ClientBudget", client: Client) -> None:
        self._budget = budget
        self.client = client
        self.transport: Any = None
        self.receive_size = RECEIVE_SIZE
        """Bytes asked of the socket at once; longer frames have to have room."""
        self.wanted = 0
        """Bytes of a long frame that is not complete yet."""
        self.is_waiting = False
        """Whether there is no room for this frame yet."""
        self.unsent_bytes = 0
        """Bytes of replies, while the client does not take them."""
        self.taken_bytes = 0
        self.idle = 0
        """Looks since the client has taken any byte."""
        self.frame = 0
        self.frame_age = 0
        """Looks since the frame has begun."""

    def opened(self, transport: Any) -> None:
        """Ask no more of the socket at once than all may bring, and let the system notice when the client vanishes."""
        self.transport = transport
        self.ask_for(receive_size(self._budget.connections))
        if self._budget.limits.keepalive is not None:
            self._budget.limits.keepalive.switch_on(transport.getHandle())

    def ask_for(self, size: int) -> None:
        """Ask so many bytes of the socket at once; the transport has one size for this and for unsent replies."""
        self.receive_size = size
        if self.transport is not None:
            self.transport.bufferSize = size

    def wants(self, size: int) -> None:
        """Take room for a frame of this size, in the place of the last one; the client may have to wait for it."""
        if size <= self.receive_size:
            size = 0
        if size != self.wanted:
            self._budget.give_back(self)
            self.wanted = size
            self._budget.make_room(self)

    def has_unsent(self, size: int) -> None:
        """Note how many bytes of replies the client has not taken."""
        self._budget.unsent(self, size)

    def close(self) -> None:
        """Give back all."""
        self._budget.give_back(self)
        self._budget.forget(self)


class ClientBudget:
    """The clients of one bookie, within ``limits``; ``clock`` is needed to look at them now and then."""

    def __init__(self, limits: ClientLimits | None = None, clock: IReactorTime | None = None) -> None:
        self.limits = limits or ClientLimits()
        self._clock = clock
        self._timer: IDelayedCall | None = None
        self._accounts: dict[ClientAccount, None] = {}
        self._addresses: Counter[str] = Counter()
        self._is_refusing = False
        self.connections = 0
        self.refused = 0
        """How many connections were closed at once because there were too many."""
        self.closed: Counter[str] = Counter()
        """How many connections were closed, by why."""
        self.frames_bytes = 0
        """Bytes of the long frames that have room and are not complete."""
        self.replies_bytes = 0
        """Bytes of replies that slow clients have not taken."""
        self._slow: dict[ClientAccount, None] = {}
        self._waiting: deque[ClientAccount] = deque()

    def memory(self) -> dict[str, tuple[int, int]]:
        """Return the bytes of frames and replies, and how many may be, by kind."""
        limits = self.limits
        return {
            "frames": (self.frames_bytes, limits.frames_bytes_max),
            "replies": (self.replies_bytes, limits.replies_bytes_max),
        }

    # Connections -----------------------------------------------------------------------------------------------------

    def admit(self, host: str) -> bool:
        """Count one more connection from an address, unless there are too many."""
        limits = self.limits
        if self.connections >= limits.connections_max or self._addresses[host] >= limits.connections_per_address_max:
            self.refused += 1
            if not self._is_refusing:
                log.warn("refusing connections, as from {host}: there are {count}", host=host, count=self.connections)
            self._is_refusing = True
            return False
        self.connections += 1
        self._addresses[host] += 1
        return True

    def left(self, host: str) -> None:
        """Count one connection less."""
        self._is_refusing = False
        self.connections -= 1
        self._addresses[host] -= 1
        if not self._addresses[host]:
            del self._addresses[host]

    def open(self, client: Client) -> ClientAccount:
        """Return the account of a new client."""
        account = ClientAccount(self, client)
        self._accounts[account] = None
        return account

    def forget(self, account: ClientAccount) -> None:
        """Do not look at a client any more."""
        self.unsent(account, 0)
        self._accounts.pop(account, None)

    # Frames ----------------------------------------------------------------------------------------------------------

    def make_room(self, account: ClientAccount) -> None:
        """Take the bytes of a client's frame, or stop reading from the client until there is room."""
        if not account.wanted:
            return
        if not self._waiting and self._has_room(account):
            self.frames_bytes += account.wanted
        else:
            account.is_waiting = True
            self._waiting.append(account)
            account.client.stop_reading()

    def give_back(self, account: ClientAccount) -> None:
        """Give the bytes of a client's frame to those that wait."""
        wanted, account.wanted = account.wanted, 0
        if account.is_waiting:
            account.is_waiting = False
            self._waiting.remove(account)
            account.client.read_on()
        else:
            self.frames_bytes -= wanted
        while self._waiting and self._has_room(self._waiting[0]):
            waiting = self._waiting.popleft()
            waiting.is_waiting = False
            self.frames_bytes += waiting.wanted
            waiting.client.read_on()

    def _has_room(self, account: ClientAccount) -> bool:
        return not self.frames_bytes or self.frames_bytes + account.wanted <= self.limits.frames_bytes_max

    # Replies ---------------------------------------------------------------------------------------------------------

    def unsent(self, account: ClientAccount, size: int) -> None:
        """Note the bytes that a client has not taken; close clients while it is too much of all."""
        self.replies_bytes += size - account.unsent_bytes
        account.unsent_bytes = size
        if size:
            self._slow[account] = None
        else:
            self._slow.pop(account, None)
        while self.replies_bytes > self.limits.replies_bytes_max:
            worst = max(self._slow, key=lambda each: (each.idle, each.unsent_bytes))
            self.unsent(worst, 0)
            self._close(worst, TOO_MUCH_UNSENT)

    # Time ------------------------------------------------------------------------------------------------------------

    def start(self) -> None:
        """Begin to look at the clients now and then."""
        if self._clock is not None:
            self._timer = self._clock.callLater(self.limits.timeout_s / LOOKS, self._look)

    def stop(self) -> None:
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None

    def _look(self) -> None:
        self.start()
        self.look_at(list(self._accounts))

    def look_at(self, accounts: Iterable[ClientAccount]) -> None:
        """Close the clients that take no replies or do not complete a frame."""
        size = receive_size(self.connections)
        for account in accounts:
            account.ask_for(size)
            self._note(account)
            more = account.client.frame[2] / FRAME_BYTES_PER_S / self.limits.timeout_s
            if account.idle >= LOOKS:
                self._close(account, TAKES_NOTHING)
            elif account.frame_age >= LOOKS * (1 + more):
                self._close(account, NOT_COMPLETE)

    @staticmethod
    def _note(account: ClientAccount) -> None:
        untaken = account.client.untaken_bytes
        taken = account.client.sent_bytes - untaken
        account.idle = account.idle + 1 if untaken and taken == account.taken_bytes else 0
        account.taken_bytes = taken
        number, size, _ = account.client.frame
        same = size and number == account.frame and account.client.is_reading and not account.is_waiting
        account.frame_age = account.frame_age + 1 if same else 0
        account.frame = number

    def _close(self, account: ClientAccount, why: str) -> None:
        self.closed[why] += 1
        account.client.give_up(why)
