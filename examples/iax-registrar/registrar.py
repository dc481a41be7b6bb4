#!/usr/bin/env python3
"""A registrar that nodes reach over IAX2 (RFC 5456, section 6.1). For learning and for tests; see README.md.

    node                              registrar
      REGREQ  username             ─▶                     nobody is asked: any name gets a challenge
             ◀─  REGAUTH challenge
      REGREQ  username, MD5 result ─▶                     one lookup
             ◀─  REGACK refresh, or REGREJ cause
      ACK                          ─▶

Every frame may be lost or come twice. What we said last to a node is said again, to a second copy of what it answered
and when no answer comes. Reading order: `Registrations.received`, `Call`, `main`.
"""

from __future__ import annotations

import argparse
import asyncio
import hmac
import random
import secrets
import socket
import struct
import sys
import time
from collections import OrderedDict
from typing import Any, Dict, Optional, Tuple

import iax2
from credgate_client import AsyncRegistrar, SettingsError, Unavailable, Verdict
from credgate_client.arguments import add_arguments, settings

Address = Tuple[str, int]

REFRESH = 60  # seconds until a node comes again
MOST_CALLS = 20_000  # beyond these the oldest goes: nobody has proved anything when a call begins
REPEAT = 1.0  # seconds until a frame is said again, doubled each time
REPEATS = 3
LATEST_COPY = 2.0  # a first packet that comes later than this after the answer is no copy of the one before


class Call:
    """One registration: what was said last, and the challenge."""

    def __init__(self, node: str, number: int, frame: iax2.Frame) -> None:
        self.node, self.number, self.peer_number = node, number, frame.source
        self.challenge = secrets.token_hex(8)
        self.began = time.monotonic()
        self.said: Optional[iax2.Frame] = None
        self.lookup: Optional[asyncio.Task[None]] = None
        self.timer: Optional[asyncio.TimerHandle] = None
        self.decided: Optional[float] = None

    def frame(self, subclass: int, oseqno: int, elements: Dict[int, bytes]) -> iax2.Frame:
        age = int((time.monotonic() - self.began) * 1000)
        return iax2.Frame(subclass, self.number, self.peer_number, age, oseqno, oseqno + 1, elements)

    def end(self) -> None:
        if self.timer is not None:
            self.timer.cancel()


class Registrations(asyncio.DatagramProtocol):
    """All calls. A call is known by the node's address and its call number there."""

    def __init__(self, registrar: AsyncRegistrar) -> None:
        self.registrar = registrar
        self.calls: OrderedDict[Tuple[Address, int], Call] = OrderedDict()
        self.transport: Any = None

    def connection_made(self, transport: Any) -> None:
        self.transport = transport

    def datagram_received(self, data: bytes, addr: Any) -> None:
        try:
            self.received(iax2.unpack(data), addr[:2])
        except iax2.NotAFrame:
            pass

    def received(self, frame: iax2.Frame, peer: Address) -> None:
        call = self.calls.get((peer, frame.source))
        if call is not None and (frame.destination not in (0, call.number) or self.is_over(call, frame)):
            call = None
        if frame.subclass in (iax2.ACK, iax2.INVAL):
            # An ACK of our last word, the one with oseqno 1, or a node that gave up.
            if call is not None and (frame.subclass == iax2.INVAL or frame.iseqno >= 2):
                self.forget((peer, frame.source))
        elif frame.subclass != iax2.REGREQ:
            return
        elif call is None and frame.destination == 0:
            self.begin(frame, peer)
        elif call is None:
            # A call of before our restart, say: the node begins anew.
            invalid = iax2.Frame(iax2.INVAL, frame.destination, frame.source, 0, frame.iseqno, frame.oseqno)
            self.transport.sendto(invalid.pack(), peer)
        elif iax2.MD5_RESULT in frame.elements and frame.destination == call.number and call.lookup is None:
            # A second copy of it, while the lookup runs or after, does not come here.
            result = frame.elements[iax2.MD5_RESULT]
            call.lookup = asyncio.ensure_future(self.verify(call, peer, frame.text(iax2.USERNAME), result))
        elif call.said is not None and (call.lookup is None or call.lookup.done()):
            self.send(call, peer, again=True)

    def is_over(self, call: Call, frame: iax2.Frame) -> bool:
        """Whether a node that began anew used the number of a call that had its answer, and lost the ACK of it."""
        first = frame.subclass == iax2.REGREQ and frame.destination == 0 and not frame.again
        return first and call.decided is not None and time.monotonic() > call.decided + LATEST_COPY

    def begin(self, frame: iax2.Frame, peer: Address) -> None:
        self.forget((peer, frame.source))
        if len(self.calls) >= MOST_CALLS:
            self.forget(next(iter(self.calls)))
        # Two calls may have one number of ours: we know them by the node's.
        number = secrets.randbelow(iax2.LARGEST_CALL) + 1
        call = self.calls[peer, frame.source] = Call(frame.text(iax2.USERNAME), number, frame)
        challenge = {iax2.AUTHMETHODS: iax2.AUTH_MD5, iax2.CHALLENGE: call.challenge.encode()}
        self.say(call, peer, call.frame(iax2.REGAUTH, 0, {**challenge, iax2.USERNAME: call.node.encode()[:255]}))

    async def verify(self, call: Call, peer: Address, node: str, result: bytes) -> None:
        """The second packet: the one lookup of a registration."""
        if call.timer is not None:
            call.timer.cancel()

        def matches(password: str) -> bool:
            return hmac.compare_digest(iax2.md5_result(call.challenge, password), result)

        outcome = await self.registrar.verify(node, matches) if node == call.node else Verdict.REFUSED
        call.decided = time.monotonic()
        if isinstance(outcome, Unavailable):
            print("unavailable", printable(node), outcome, flush=True)
            self.reject(call, peer, iax2.TEMPORARY_FAILURE, "Try again later")
        elif outcome is Verdict.REFUSED:
            print("refused", printable(node), flush=True)
            # The same for a wrong password and for a node that does not exist.
            self.reject(call, peer, iax2.FACILITY_REJECTED, "Registration Refused")
        else:
            print("registered", node, "{}:{}".format(*peer), flush=True)  # Here a real registrar publishes it.
            # Jitter, so that nodes which came together after an outage do not come together for ever.
            refresh = REFRESH - random.randrange(REFRESH // 10)
            elements = {
                iax2.USERNAME: node.encode(),
                iax2.APPARENT_ADDR: apparent(peer),
                iax2.REFRESH: struct.pack(">H", refresh),
            }
            self.say(call, peer, call.frame(iax2.REGACK, 1, elements))

    def reject(self, call: Call, peer: Address, code: int, cause: str) -> None:
        self.say(call, peer, call.frame(iax2.REGREJ, 1, {iax2.CAUSE: cause.encode(), iax2.CAUSECODE: bytes([code])}))

    def say(self, call: Call, peer: Address, frame: iax2.Frame) -> None:
        call.said = frame
        self.send(call, peer, again=False)
        self.repeat(call, peer, 1)

    def repeat(self, call: Call, peer: Address, times: int) -> None:
        """Says it again after a while, and in the end forgets the node."""

        def due() -> None:
            if times > REPEATS:
                return self.forget((peer, call.peer_number))
            self.send(call, peer, again=True)
            self.repeat(call, peer, times + 1)

        call.end()
        call.timer = asyncio.get_running_loop().call_later(REPEAT * 2 ** (times - 1), due)

    def send(self, call: Call, peer: Address, again: bool) -> None:
        if call.said is not None:
            call.said.again = again
            self.transport.sendto(call.said.pack(), peer)

    def forget(self, key: Tuple[Address, int]) -> None:
        call = self.calls.pop(key, None)
        if call is not None:
            call.end()


def apparent(peer: Address) -> bytes:
    """A sockaddr_in, as section 8.6.17 has it: family 2 in host order of old, port and address in network order."""
    return struct.pack("<H", 2) + struct.pack(">H", peer[1]) + socket.inet_aton(peer[0]) + bytes(8)


def printable(text: str) -> str:
    """A name from the network, for a log."""
    return ascii(text[:64])[1:-1]


async def serve(arguments: argparse.Namespace) -> None:
    host, _, port = arguments.listen.rpartition(":")
    async with AsyncRegistrar(settings(arguments)) as registrar:
        loop = asyncio.get_running_loop()
        transport, _ = await loop.create_datagram_endpoint(
            lambda: Registrations(registrar), (host, int(port)), family=socket.AF_INET
        )
        print("listening", "{}:{}".format(*transport.get_extra_info("sockname")), flush=True)
        await asyncio.Event().wait()


def main() -> int:
    parser = argparse.ArgumentParser(description="Registers nodes over IAX2; asks credgate for their passwords.")
    parser.add_argument("--listen", default="127.0.0.1:4569", metavar="IPV4:PORT", help="[%(default)s]")
    add_arguments(parser)
    try:
        asyncio.run(serve(parser.parse_args()))
    except SettingsError as error:
        print(f"iax-registrar: {error}", file=sys.stderr)
        return 78
    except KeyboardInterrupt:
        return 0
    return 0


if __name__ == "__main__":
    sys.exit(main())
