"""The registrar for threads. Any number of them may share one; calls run on gRPC's own threads.

Nothing is opened before the first question, so that a process may make one and fork: the first question of each child
opens its own. After that a fork is refused, since gRPC does not survive one.
"""

from __future__ import annotations

import os
import random
import threading
import time
from concurrent.futures import Future
from concurrent.futures import TimeoutError as FutureTimeout
from typing import Any, Callable, NoReturn, Optional, Union

import grpc

from . import clock, wire
from .answers import Answer, Credential, Unavailable, Verdict
from .core import CLOSED, DEFECT, NO_ANSWER, Ask, Core, Flight, Pause
from .endpoints import Ending
from .settings import Settings


class Registrar:
    """Asks credgate gateways for node passwords, with a cache that bridges their outages."""

    def __init__(
        self, settings: Settings, clock: Callable[[], float] = clock.now, chance: Callable[[], float] = random.random
    ) -> None:
        """Reads the files; raises SettingsError with every problem. `clock` and `chance` are for tests."""
        self._settings, self._files = settings, settings.read_files()
        self._metadata = (("authorization", self._files.authorization),)
        self._lock = threading.Lock()
        self._core: Core[Future[Ending]] = Core(settings, clock, chance)
        self._pid: Optional[int] = None
        self._channels: list[Any] = []
        self._lookups: list[Any] = []
        self._closed = threading.Event()

    def get(self, node_id: str, timeout: Optional[float] = None) -> Answer:
        """The node's password, or why there is none. Never raises for what a gateway or the network does.

        `timeout` may shorten the settings' own; the question runs on for others, and its answer is cached.
        """
        return self._get(node_id, timeout, verify=False)

    def verify_failed(self, node_id: str, timeout: Optional[float] = None) -> Answer:
        """The node's answer did not fit a cached password: asks the gateway now, unless it just did for this node."""
        return self._get(node_id, timeout, verify=True)

    def verify(
        self, node_id: str, matches: Callable[[str], bool], timeout: Optional[float] = None
    ) -> Union[Verdict, Unavailable]:
        """All of it: whether the node's answer fits its password, now or as it was changed since it was cached."""
        answer = self.get(node_id, timeout)
        if isinstance(answer, Credential) and answer.cached and not matches(answer.password.expose()):
            answer = self.verify_failed(node_id, timeout)
        return self._core.verdict(answer, matches)

    def close(self) -> None:
        """Ends the connections. Who waits is told what is cached, or CLOSED; who asks later, CLOSED."""
        with self._lock:
            self._closed.set()
            channels, self._channels = self._channels, []
        if self._pid in (None, os.getpid()):
            for channel in channels:
                channel.close()

    def __enter__(self) -> Registrar:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def __repr__(self) -> str:
        return f"Registrar({', '.join(self._settings.endpoints)})"

    def __reduce__(self) -> NoReturn:
        raise TypeError("a registrar is not to be pickled or copied")

    def _get(self, node_id: str, timeout: Optional[float], verify: bool) -> Answer:
        end = time.monotonic() + self._core.patience(timeout)
        if self._pid is not None and self._pid != os.getpid():
            raise RuntimeError("this registrar was used before the fork: make one in each child process")
        with self._lock:
            if self._closed.is_set():
                return CLOSED
            if self._pid is None:
                self._open()
            entered = self._core.enter(node_id, verify, Future)
        if not isinstance(entered, tuple):
            return entered
        flight, leads = entered
        if leads:
            self._advance(flight, None)
        try:
            ending: Ending = flight.promise.result(max(0.0, end - time.monotonic()))
        except FutureTimeout:
            ending = NO_ANSWER
        with self._lock:
            return self._core.answer(node_id, ending)

    def _advance(self, flight: Flight[Future[Ending]], heard: Optional[Ending]) -> None:
        """Carries the flight's next step out, or lands it. Runs on the caller's thread, then on gRPC's or a timer's."""
        if self._closed.is_set():
            return self._land(flight, CLOSED)
        try:
            with self._lock:
                step = flight.steps.send(heard)
            if isinstance(step, Pause):
                timer = threading.Timer(step.seconds, self._advance, (flight, None))
                timer.daemon = True
                timer.start()
            else:
                self._ask(flight, step)
        except StopIteration as landed:
            self._land(flight, landed.value)
        except Exception:  # Whoever waits must be told. A closed channel is one reason.
            self._land(flight, CLOSED if self._closed.is_set() else DEFECT)

    def _ask(self, flight: Flight[Future[Ending]], step: Ask) -> None:
        call = self._lookups[step.endpoint].future(flight.node_id, timeout=step.timeout, metadata=self._metadata)
        call.add_done_callback(lambda done: self._advance(flight, _ended(done)))

    def _land(self, flight: Flight[Future[Ending]], ending: Ending) -> None:
        with self._lock:
            self._core.land(flight, ending)
        flight.promise.set_result(ending)

    def _open(self) -> None:
        """Makes the channels and begins to watch each gateway's health."""
        self._pid = os.getpid()
        options = wire.channel_options(self._settings.server_name)
        for index, endpoint in enumerate(self._settings.endpoints):
            if self._settings.plaintext:
                channel = grpc.insecure_channel(endpoint, options)
            else:
                tls = grpc.ssl_channel_credentials(self._files.ca, self._files.key, self._files.cert)
                channel = grpc.secure_channel(endpoint, tls, options)
            self._channels.append(channel)
            self._lookups.append(channel.unary_unary(wire.LOOKUP, wire.lookup_request, wire.lookup_response))
            watch = channel.unary_stream(wire.WATCH, wire.watch_request, wire.watch_response)
            threading.Thread(target=self._watch, args=(index, watch), name="credgate-health", daemon=True).start()

    def _watch(self, index: int, watch: Any) -> None:
        """Follows one gateway's health for as long as this registrar lives; threads of it are daemons."""
        while not self._closed.is_set():
            fresh, pause = True, wire.HEALTH_PAUSE
            try:
                for serving in watch("readiness", metadata=self._metadata):
                    with self._lock:
                        self._core.endpoints.watched(index, serving, fresh)
                    fresh = False
            except (grpc.RpcError, ValueError) as error:  # ValueError: the channel was closed.
                if not isinstance(error, grpc.Call):
                    return
                serving, pause = wire.health_lost(error)
                with self._lock:
                    self._core.endpoints.watched(index, serving)
            self._closed.wait(pause * (0.5 + random.random()))


def _ended(call: Any) -> Ending:
    if call.code() is grpc.StatusCode.OK:
        answer: Ending = call.result()
        return answer
    return wire.ending(call)
