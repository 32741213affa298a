"""What every store for programs without a reactor is: open in a ``with`` block, and in one process."""

from abc import ABC, abstractmethod
from typing import Any, Self


class Opened(ABC):
    """A store that is closed at the end of its ``with`` block."""

    @abstractmethod
    def close(self) -> None:
        """Give up the connection; later calls raise MetadataUnavailable."""

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def __reduce__(self) -> Any:
        raise TypeError("a metadata store cannot be pickled: send its URI, and open it where it is used")
