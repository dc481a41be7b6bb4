"""Every decision of a registrar, without input or output: what the cache may answer, who asks, whom, and how often.

Two drivers use it, `sync` and `aio`. A driver carries out the steps of a flight and keeps the flight's promise; it
calls this code from one thread at a time. The clock and chance are handed in.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Callable, Dict, Generator, Generic, NamedTuple, Optional, Tuple, TypeVar, Union

from .answers import Answer, Credential, NotFound, Password, Unavailable, Verdict
from .cache import Cache
from .endpoints import Ending, Endpoints
from .settings import Mode, Settings

#: What the driver's callers wait on until a flight lands.
Promise = TypeVar("Promise")


class Ask(NamedTuple):
    """A step: ask this gateway, and send back how it ended."""

    endpoint: int
    timeout: float


class Pause(NamedTuple):
    """A step: let this time pass, then send None."""

    seconds: float


Steps = Generator[Union[Ask, Pause], Optional[Ending], Ending]


@dataclass(frozen=True)
class Flight(Generic[Promise]):
    """One question under way, shared by all who ask about that node meanwhile. It runs on when they leave."""

    node_id: str
    steps: Steps
    promise: Promise


class Core(Generic[Promise]):
    """See the module."""

    def __init__(self, settings: Settings, clock: Callable[[], float], chance: Callable[[], float]) -> None:
        self.endpoints = Endpoints(len(settings.endpoints))
        self._settings, self._clock, self._chance = settings, clock, chance
        self._cache = Cache(settings.ttl, settings.ttl_jitter, settings.capacity, chance)
        self._flights: Dict[str, Flight[Promise]] = {}
        #: When the gateway was last asked, per flight: a password counts from there.
        self._asked: Dict[str, float] = {}

    def enter(
        self, node_id: str, verify: bool, promise: Callable[[], Promise]
    ) -> Union[Answer, Tuple[Flight[Promise], bool]]:
        """The answer at once, or the flight to wait for and whether the caller has to start it.

        `verify`: the node's answer did not fit a cached password.
        """
        if not self._settings.node_ids.accept(node_id):
            return NotFound()
        now = self._clock()
        entry = self._cache.live(node_id, now)
        if entry is not None:
            if verify and now >= entry.verify_after:
                entry.verify_after = now + self._settings.verify_interval
            elif verify or self._settings.mode is Mode.CACHE_FIRST:
                return Credential(entry.password, cached=True)
        flight = self._flights.get(node_id)
        if flight is not None:
            return flight, False
        flight = self._flights[node_id] = Flight(node_id, self._steps(node_id), promise())
        return flight, True

    def land(self, flight: Flight[Promise], ending: Ending) -> None:
        """The flight has ended; keeps or forgets what it learned."""
        self._flights.pop(flight.node_id, None)
        asked = self._asked.pop(flight.node_id, None)
        if isinstance(ending, Password) and asked is not None:
            self._cache.store(flight.node_id, ending, asked)
        elif isinstance(ending, NotFound):
            self._cache.remove(flight.node_id)

    def answer(self, node_id: str, ending: Ending) -> Answer:
        """What one caller is told: an unexpired password bridges whatever could not be found out."""
        if isinstance(ending, Password):
            return Credential(ending, cached=False)
        if isinstance(ending, NotFound):
            return ending
        entry = self._cache.live(node_id, self._clock())
        return ending if entry is None else Credential(entry.password, cached=True)

    @staticmethod
    def verdict(answer: Answer, matches: Callable[[str], bool]) -> Union[Verdict, Unavailable]:
        """What follows for the node."""
        if isinstance(answer, Unavailable):
            return answer
        fits = isinstance(answer, Credential) and matches(answer.password.expose())
        return Verdict.ACCEPTED if fits else Verdict.REFUSED

    def patience(self, timeout: Optional[float]) -> float:
        """How long a caller waits: its own time, which may only be shorter."""
        longest = self._settings.timeout + _ALLOWANCE
        return longest if timeout is None else max(0.0, min(timeout, longest))

    def _steps(self, node_id: str) -> Steps:
        """Asks once, and once more where that may help, all before one deadline."""
        began = self._clock()
        deadline = began + self._settings.timeout
        first = self.endpoints.choose(began)
        ending = yield from self._ask(node_id, first, deadline)
        pause = self._pause(ending, deadline - self._clock())
        if pause is None:
            return ending
        if pause > 0:
            yield Pause(pause)
        if self._clock() >= deadline:
            return ending
        second = yield from self._ask(node_id, self.endpoints.choose(self._clock(), but=first), deadline)
        # A gateway's own word says more than that another one cannot be reached.
        if isinstance(second, Unavailable) and second.reason in ("NO_CONNECTION", "NO_ANSWER"):
            return ending
        return second

    def _ask(self, node_id: str, endpoint: int, deadline: float) -> Generator[Ask, Optional[Ending], Ending]:
        now = self._asked[node_id] = self._clock()
        ending = yield Ask(endpoint, deadline - now)
        assert ending is not None
        self.endpoints.heard(endpoint, ending, self._clock())
        return ending

    def _pause(self, ending: Ending, left: float) -> Optional[float]:
        """How long to wait before the one retry; None when there is to be none."""
        if not isinstance(ending, Unavailable):
            return None
        if ending.code not in ("UNAVAILABLE", "CANCELLED", "RESOURCE_EXHAUSTED"):
            return None
        if ending.retry_after is not None:
            # Never earlier than asked for, and not all in the same moment.
            pause = ending.retry_after * (1 + 0.2 * self._chance())
        elif ending.code == "RESOURCE_EXHAUSTED":
            return None
        else:
            pause = 0.0 if len(self.endpoints) > 1 else _PAUSE * (0.5 + self._chance())
        return pause if pause < left else None


#: The registrar was closed.
CLOSED = Unavailable("CANCELLED", "CLOSED")

#: The code of this package is at fault.
DEFECT = Unavailable("INTERNAL", "CLIENT_DEFECT")

#: The caller's time is over before the flight landed.
NO_ANSWER = Unavailable("DEADLINE_EXCEEDED", "NO_ANSWER")

#: How much longer than the gateway we wait, so that its own status arrives before we give up.
_ALLOWANCE = 0.1

#: Before the same gateway is asked again: time to dial a new connection, or for a restart to be over.
_PAUSE = 0.05
