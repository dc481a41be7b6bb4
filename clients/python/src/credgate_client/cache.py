"""The passwords a registrar keeps for a while. Knows nodes, passwords and moments; asks nobody."""

from __future__ import annotations

from collections import OrderedDict
from typing import Callable, Optional

from .answers import Password


class Entry:
    """One node's password and until when it may be used."""

    __slots__ = ("expires", "password", "verify_after")

    def __init__(self, password: Password, expires: float, verify_after: float) -> None:
        self.password = password
        self.expires = expires
        #: Before this moment a node's wrong answer is no reason to ask the gateway again.
        self.verify_after = verify_after


class Cache:
    """In the order in which entries were asked for, so the first is the one that makes room, and about the first to
    expire."""

    def __init__(self, ttl: float, jitter: float, capacity: int, chance: Callable[[], float]) -> None:
        self._ttl, self._jitter, self._capacity, self._chance = ttl, jitter, capacity, chance
        self._entries: OrderedDict[str, Entry] = OrderedDict()

    def live(self, node_id: str, now: float) -> Optional[Entry]:
        """The entry, unless it has expired; then it is gone."""
        entry = self._entries.get(node_id)
        if entry is not None and entry.expires <= now:
            del self._entries[node_id]
            return None
        return entry

    def store(self, node_id: str, password: Password, asked: float) -> None:
        """Keeps what the gateway said, counted from the moment it was asked: no password outlives its TTL."""
        old = self._entries.pop(node_id, None)
        verify_after = old.verify_after if old is not None else asked
        ttl = self._ttl * (1 - self._jitter * self._chance())
        while self._entries and (
            len(self._entries) >= self._capacity or next(iter(self._entries.values())).expires <= asked
        ):
            self._entries.popitem(last=False)
        if ttl > 0:
            self._entries[node_id] = Entry(password, asked + ttl, verify_after)

    def remove(self, node_id: str) -> None:
        """The gateway says that there is no such node."""
        self._entries.pop(node_id, None)

    def __len__(self) -> int:
        return len(self._entries)

    def __repr__(self) -> str:
        return f"Cache({len(self)} entries)"
