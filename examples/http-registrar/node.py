#!/usr/bin/env python3
"""Nodes that register over HTTP, again and again, now and then with a wrong password. argv: see --help.

A 503 is tried again a little later, as a real node does. The last line printed is a summary in JSON; the exit code is 0
when every right password ended in 200 and no wrong one did.
"""

from __future__ import annotations

import argparse
import collections
import http.client
import json
import random
import sys
import threading
import time
from concurrent.futures import ThreadPoolExecutor
from typing import Counter, Tuple


def register(host: str, node: str, password: str) -> Tuple[int, str, str]:
    """Status, Retry-After and body of one attempt."""
    body = {"port": 4569, "data": {"nodes": {node: {"node": node, "passwd": password, "remote": 0}}}}
    connection = http.client.HTTPConnection(host, timeout=60)
    try:
        connection.request("POST", "/", json.dumps(body), {"Content-Type": "application/json"})
        answer = connection.getresponse()
        return answer.status, answer.getheader("Retry-After", ""), answer.read().decode()
    finally:
        connection.close()


class Run:
    """All nodes' registrations and what became of them."""

    def __init__(self, arguments: argparse.Namespace) -> None:
        self.arguments = arguments
        self.lock, self.done = threading.Lock(), 0
        self.endings: Counter[str] = collections.Counter()
        with open(arguments.passwords) as file:
            self.nodes = json.load(file)
        self.total = len(self.nodes) * arguments.rounds

    def node(self, node: str) -> None:
        for turn in range(self.arguments.rounds):
            right = (int(node) + turn) % self.arguments.wrong_every != 0 if self.arguments.wrong_every else True
            self.registration(node, self.nodes[node] + ("" if right else "x"), "right" if right else "wrong")
            with self.lock:
                self.done += 1
                if self.done == self.total // 2:
                    print("half", flush=True)

    def registration(self, node: str, password: str, name: str) -> None:
        end = time.monotonic() + self.arguments.patience
        while True:
            status, retry_after, body = register(self.arguments.registrar, node, password)
            if ("successfully registered" in body) != (status == 200) or (status == 503) != retry_after.isdigit():
                sys.exit(f"node: status {status}, Retry-After {retry_after!r}: {body}")
            if status != 503 or time.monotonic() > end:
                break
            with self.lock:
                self.endings["tried again after 503"] += 1
            # A real node waits for as long as it was told.
            time.sleep(self.arguments.pause * random.uniform(0.5, 1.5))
        with self.lock:
            self.endings[f"{name}: {status}"] += 1

    def fits(self) -> bool:
        return all(ending in ("tried again after 503", "right: 200", "wrong: 401") for ending in self.endings)


def main() -> int:
    parser = argparse.ArgumentParser(description="Registers nodes over HTTP.")
    add = parser.add_argument
    add("registrar", metavar="HOST:PORT")
    add("passwords", metavar="FILE", help='JSON: {"2000": "its password", ...}')
    add("--rounds", type=int, default=1, help="registrations of each node [%(default)s]")
    add("--wrong-every", type=int, default=0, metavar="N", help="every Nth has a wrong password [none]")
    add("--pause", type=float, default=1.0, metavar="SECONDS", help="before another attempt [%(default)s]")
    add("--patience", type=float, default=60.0, metavar="SECONDS", help="with attempts at one registration")
    run = Run(parser.parse_args())
    with ThreadPoolExecutor(max_workers=32) as pool:
        for ended in [pool.submit(run.node, node) for node in run.nodes]:
            ended.result()
    print(json.dumps({"registrations": run.done, **dict(sorted(run.endings.items()))}), flush=True)
    return 0 if run.fits() else 1


if __name__ == "__main__":
    sys.exit(main())
