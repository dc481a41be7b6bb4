"""The registrar for asyncio. One event loop uses it: the one that asks first."""

from __future__ import annotations

import asyncio
import random
from typing import Any, Callable, Coroutine, NoReturn, Optional, TypeVar, Union

import grpc
import grpc.aio

from . import clock, wire
from .answers import Answer, Credential, Unavailable, Verdict
from .core import CLOSED, DEFECT, NO_ANSWER, Ask, Core, Flight, Pause
from .endpoints import Ending
from .settings import Settings

T = TypeVar("T")


class AsyncRegistrar:
    """Like `Registrar`, with await."""

    def __init__(
        self, settings: Settings, clock: Callable[[], float] = clock.now, chance: Callable[[], float] = random.random
    ) -> None:
        """Reads the files; raises SettingsError with every problem. `clock` and `chance` are for tests."""
        self._settings, self._files = settings, settings.read_files()
        self._metadata = (("authorization", self._files.authorization),)
        self._core: Core[asyncio.Future[Ending]] = Core(settings, clock, chance)
        self._loop: Optional[asyncio.AbstractEventLoop] = None
        self._channels: list[Any] = []
        self._lookups: list[Any] = []
        #: Flights and watches. The loop itself keeps weak references only.
        self._tasks: set[asyncio.Task[Any]] = set()
        self._closed = False

    async def get(self, node_id: str, timeout: Optional[float] = None) -> Answer:
        """The node's password, or why there is none. Never raises for what a gateway or the network does.

        `timeout` may shorten the settings' own. A caller that is cancelled or leaves early does not end the question:
        it runs on for others, and its answer is cached.
        """
        return await self._get(node_id, timeout, verify=False)

    async def verify_failed(self, node_id: str, timeout: Optional[float] = None) -> Answer:
        """The node's answer did not fit a cached password: asks the gateway now, unless it just did for this node."""
        return await self._get(node_id, timeout, verify=True)

    async def verify(
        self, node_id: str, matches: Callable[[str], bool], timeout: Optional[float] = None
    ) -> Union[Verdict, Unavailable]:
        """All of it: whether the node's answer fits its password, now or as it was changed since it was cached."""
        answer = await self.get(node_id, timeout)
        if isinstance(answer, Credential) and answer.cached and not matches(answer.password.expose()):
            answer = await self.verify_failed(node_id, timeout)
        return self._core.verdict(answer, matches)

    async def close(self) -> None:
        """Ends the connections. Who waits is told what is cached, or CLOSED; who asks later, CLOSED."""
        self._closed = True
        tasks, channels = list(self._tasks), self._channels
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)
        for channel in channels:
            await channel.close()

    async def __aenter__(self) -> AsyncRegistrar:
        return self

    async def __aexit__(self, *_: object) -> None:
        await self.close()

    def __repr__(self) -> str:
        return f"AsyncRegistrar({', '.join(self._settings.endpoints)})"

    def __reduce__(self) -> NoReturn:
        raise TypeError("a registrar is not to be pickled or copied")

    async def _get(self, node_id: str, timeout: Optional[float], verify: bool) -> Answer:
        loop = asyncio.get_running_loop()
        if self._loop not in (None, loop):
            raise RuntimeError("this registrar belongs to another event loop: make one for each")
        if self._closed:
            return CLOSED
        if self._loop is None:
            self._open(loop)
        entered = self._core.enter(node_id, verify, loop.create_future)
        if not isinstance(entered, tuple):
            return entered
        flight, leads = entered
        if leads:
            self._spawn(self._fly(flight)).add_done_callback(lambda done: self._land(flight, done))
        # Waiting with `wait` leaves the promise alone when this caller is cancelled or out of time.
        await asyncio.wait([flight.promise], timeout=self._core.patience(timeout))
        ending = flight.promise.result() if flight.promise.done() else NO_ANSWER
        return self._core.answer(node_id, ending)

    async def _fly(self, flight: Flight[asyncio.Future[Ending]]) -> Ending:
        heard: Optional[Ending] = None
        while True:
            try:
                step = flight.steps.send(heard)
            except StopIteration as landed:
                ending: Ending = landed.value
                return ending
            if isinstance(step, Pause):
                await asyncio.sleep(step.seconds)
                heard = None
            else:
                heard = await self._ask(flight.node_id, step)

    def _land(self, flight: Flight[asyncio.Future[Ending]], done: asyncio.Task[Ending]) -> None:
        """Whoever waits must be told, whatever ended the flight."""
        if done.cancelled():
            ending: Ending = CLOSED
        else:
            ending = DEFECT if done.exception() else done.result()
        self._core.land(flight, ending)
        flight.promise.set_result(ending)

    async def _ask(self, node_id: str, step: Ask) -> Ending:
        try:
            answer: Ending = await self._lookups[step.endpoint](
                node_id, timeout=step.timeout, metadata=self._metadata
            )
            return answer
        except grpc.aio.AioRpcError as error:
            return wire.ending(error)

    def _open(self, loop: asyncio.AbstractEventLoop) -> None:
        """Makes the channels and begins to watch each gateway's health."""
        self._loop = loop
        options = wire.channel_options(self._settings.server_name)
        for index, endpoint in enumerate(self._settings.endpoints):
            if self._settings.plaintext:
                channel = grpc.aio.insecure_channel(endpoint, options)
            else:
                tls = grpc.ssl_channel_credentials(self._files.ca, self._files.key, self._files.cert)
                channel = grpc.aio.secure_channel(endpoint, tls, options)
            self._channels.append(channel)
            self._lookups.append(channel.unary_unary(wire.LOOKUP, wire.lookup_request, wire.lookup_response))
            watch = channel.unary_stream(wire.WATCH, wire.watch_request, wire.watch_response)
            self._spawn(self._watch(index, watch))

    async def _watch(self, index: int, watch: Any) -> None:
        """Follows one gateway's health for as long as this registrar lives."""
        while True:
            fresh, pause = True, wire.HEALTH_PAUSE
            try:
                async for serving in watch("readiness", metadata=self._metadata):
                    self._core.endpoints.watched(index, serving, fresh)
                    fresh = False
            except grpc.aio.AioRpcError as error:
                serving, pause = wire.health_lost(error)
                self._core.endpoints.watched(index, serving)
            await asyncio.sleep(pause * (0.5 + random.random()))

    def _spawn(self, work: Coroutine[Any, Any, T]) -> asyncio.Task[T]:
        task = asyncio.ensure_future(work)
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)
        return task
