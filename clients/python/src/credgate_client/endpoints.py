"""Which gateway to ask: the first of the list that is healthy, as far as its health stream and its last answers tell."""

from __future__ import annotations

from typing import Optional, Union

from .answers import NotFound, Password, Unavailable

#: How one question to one gateway ended.
Ending = Union[Password, NotFound, Unavailable]


class Endpoints:
    """What is known of each gateway."""

    def __init__(self, count: int) -> None:
        #: What its health stream said last; None while that is not known.
        self._serving: list[Optional[bool]] = [None] * count
        self._avoid_until = [float("-inf")] * count

    def __len__(self) -> int:
        return len(self._serving)

    def choose(self, now: float, but: Optional[int] = None) -> int:
        """The best one; another than `but` where there is one. When all look bad the best of them is tried anyway."""
        candidates = [index for index in range(len(self)) if index != but] or [0]
        return min(candidates, key=lambda index: (self._rank(index, now), index))

    def _rank(self, index: int, now: float) -> int:
        if now < self._avoid_until[index] or self._serving[index] is False:
            return 2
        return 0 if self._serving[index] else 1

    def heard(self, index: int, ending: Ending, now: float) -> None:
        """Learns from an answer. Only what tells of the gateway itself counts, not of the store behind it."""
        if not isinstance(ending, Unavailable):
            return
        if ending.reason in ("DRAINING", "NO_CONNECTION"):
            self._avoid_until[index] = now + _AWAY
        elif ending.reason == "NO_ANSWER":
            # A gateway answers a little before the deadline: whoever does not is cut off from us.
            self._avoid_until[index] = now + _SILENT

    def watched(self, index: int, serving: Optional[bool], fresh: bool = False) -> None:
        """What its health stream says; `fresh` when a new stream says its first word."""
        self._serving[index] = serving
        if serving and fresh:
            self._avoid_until[index] = float("-inf")


#: A gateway that went is left until its health stream is back, or this long where no stream can be had.
_AWAY = 1.0

#: Below the time (25 s) after which keepalive finds a dead connection.
_SILENT = 5.0
