#!/usr/bin/env python3
"""Nodes that register over IAX2, through a network that loses packets and delivers some twice. argv: see --help.

Each node registers again and again, now and then with a wrong password. A refusal for the time being (cause 41), or no
answer at all, is tried again a little later, as a real node does. The last line printed is a summary in JSON; the exit
code is 0 when every right password ended in REGACK and no wrong one did.
"""

from __future__ import annotations

import argparse
import asyncio
import collections
import itertools
import json
import random
import sys
import time
from typing import Any, Counter, Dict, Optional, Tuple

import iax2

#: How one attempt ended: REGACK, REGREJ with its cause, or nothing.
Ending = Tuple[str, int]

NO_ANSWER: Ending = ("no answer", 0)


class Network(asyncio.DatagramProtocol):
    """The socket all nodes share, and the chance that a packet is lost or comes twice, in both directions."""

    def __init__(self, loss: float, twice: float, chance: random.Random) -> None:
        self.loss, self.twice, self.chance = loss, twice, chance
        self.calls: Dict[int, asyncio.Queue[iax2.Frame]] = {}
        self.numbers = itertools.cycle(range(1, iax2.LARGEST_CALL + 1))
        self.transport: Any = None
        self.lost = self.doubled = 0

    def connection_made(self, transport: Any) -> None:
        self.transport = transport

    def copies(self) -> int:
        if self.chance.random() < self.loss:
            self.lost += 1
            return 0
        double = self.chance.random() < self.twice
        self.doubled += double
        return 2 if double else 1

    def send(self, frame: iax2.Frame) -> None:
        for _ in range(self.copies()):
            self.transport.sendto(frame.pack())

    def datagram_received(self, data: bytes, addr: Any) -> None:
        try:
            frame = iax2.unpack(data)
        except iax2.NotAFrame as error:
            sys.exit(f"node: the registrar sent no frame: {error}")
        for _ in range(self.copies()):
            if frame.destination in self.calls:
                self.calls[frame.destination].put_nowait(frame)

    def error_received(self, exc: Exception) -> None:
        """Nobody listens there just now: as good as a lost packet."""


async def register(network: Network, node: str, password: str, repeat: float) -> Ending:
    """One attempt: RFC 5456, figure 3."""
    # A number is used again as late as possible: the registrar may still say its last word to the call before.
    call = next(number for number in network.numbers if number not in network.calls)
    frames = network.calls[call] = asyncio.Queue()
    began = time.monotonic()

    def frame(subclass: int, peer: int, oseqno: int, iseqno: int, elements: Dict[int, bytes]) -> iax2.Frame:
        age = int((time.monotonic() - began) * 1000)
        return iax2.Frame(subclass, call, peer, age, oseqno, iseqno, elements)

    async def ask(request: iax2.Frame, *wanted: int) -> Optional[iax2.Frame]:
        """Sends until one of these comes. Others are copies of what came before."""
        for attempt in range(6):
            request.again = attempt > 0
            network.send(request)
            end = time.monotonic() + repeat * 2**attempt
            while (left := end - time.monotonic()) > 0:
                try:
                    answer = await asyncio.wait_for(frames.get(), left)
                except asyncio.TimeoutError:
                    break
                if answer.subclass in wanted:
                    return answer
        return None

    try:
        user, refresh = {iax2.USERNAME: node.encode()}, {iax2.REFRESH: b"\x00\x3c"}
        challenge = await ask(frame(iax2.REGREQ, 0, 0, 0, {**user, **refresh}), iax2.REGAUTH, iax2.REGREJ)
        if challenge is None:
            return NO_ANSWER
        if challenge.subclass == iax2.REGREJ or challenge.elements.get(iax2.AUTHMETHODS) != iax2.AUTH_MD5:
            sys.exit("node: a registration was refused before it proved anything")
        proof = {iax2.MD5_RESULT: iax2.md5_result(challenge.text(iax2.CHALLENGE), password)}
        answer = await ask(
            frame(iax2.REGREQ, challenge.source, 1, 1, {**user, **proof, **refresh}),
            iax2.REGACK, iax2.REGREJ, iax2.INVAL,
        )  # fmt: skip
        if answer is None or answer.subclass == iax2.INVAL:
            return NO_ANSWER
        network.send(frame(iax2.ACK, challenge.source, 2, 2, {}))
        if answer.subclass == iax2.REGACK:
            return ("REGACK", 0)
        return ("REGREJ", (answer.elements.get(iax2.CAUSECODE) or b"\0")[0])
    finally:
        del network.calls[call]


class Run:
    """All nodes' registrations and what became of them."""

    def __init__(self, arguments: argparse.Namespace, network: Network) -> None:
        self.arguments, self.network = arguments, network
        self.done = 0
        self.total = len(arguments.nodes) * arguments.rounds
        self.endings: Counter[str] = collections.Counter()

    async def node(self, node: str, password: str) -> None:
        for turn in range(self.arguments.rounds):
            right = (int(node) + turn) % self.arguments.wrong_every != 0 if self.arguments.wrong_every else True
            await self.registration(node, password if right else password + "x", right)
            self.done += 1
            if self.done == self.total // 2:
                print("half", flush=True)

    async def registration(self, node: str, password: str, right: bool) -> None:
        end = time.monotonic() + self.arguments.patience
        while True:
            ending = await register(self.network, node, password, self.arguments.repeat)
            if ending == ("REGACK", 0) or ending[1] == iax2.FACILITY_REJECTED or time.monotonic() > end:
                break
            self.endings[f"tried again after {ending[0]}"] += 1
            await asyncio.sleep(self.arguments.pause * random.uniform(0.5, 1.5))
        name = "right" if right else "wrong"
        self.endings[f"{name}: {ending[0]}"] += 1

    def fits(self) -> bool:
        return all(
            ending.startswith("tried again") or ending in ("right: REGACK", "wrong: REGREJ") for ending in self.endings
        )


async def run(arguments: argparse.Namespace) -> int:
    with open(arguments.passwords) as file:
        arguments.nodes = json.load(file)
    host, _, port = arguments.registrar.rpartition(":")
    chance = random.Random(arguments.seed)
    _, network = await asyncio.get_running_loop().create_datagram_endpoint(
        lambda: Network(arguments.loss, arguments.twice, chance), remote_addr=(host, int(port))
    )
    nodes = Run(arguments, network)
    await asyncio.gather(*(nodes.node(node, password) for node, password in arguments.nodes.items()))
    lost = {"registrations": nodes.done, "packets lost": network.lost, "packets doubled": network.doubled}
    print(json.dumps({**lost, **dict(sorted(nodes.endings.items()))}), flush=True)
    return 0 if nodes.fits() else 1


def main() -> int:
    parser = argparse.ArgumentParser(description="Registers nodes over IAX2 through a bad network.")
    add = parser.add_argument
    add("registrar", metavar="IPV4:PORT")
    add("passwords", metavar="FILE", help='JSON: {"2000": "its password", ...}')
    add("--rounds", type=int, default=1, help="registrations of each node [%(default)s]")
    add("--wrong-every", type=int, default=0, metavar="N", help="every Nth has a wrong password [none]")
    add("--loss", type=float, default=0.0, help="chance of a packet to be lost [%(default)s]")
    add("--twice", type=float, default=0.0, help="chance of a packet to come twice [%(default)s]")
    add("--repeat", type=float, default=0.5, metavar="SECONDS", help="until a packet is sent again [%(default)s]")
    add("--pause", type=float, default=1.0, metavar="SECONDS", help="before another attempt [%(default)s]")
    add("--patience", type=float, default=60.0, metavar="SECONDS", help="with attempts at one registration")
    add("--seed", type=int, default=1, help="of losses and copies [%(default)s]")
    return asyncio.run(run(parser.parse_args()))


if __name__ == "__main__":
    sys.exit(main())
