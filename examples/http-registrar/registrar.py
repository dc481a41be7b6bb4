#!/usr/bin/env python3
"""A registrar that nodes reach over HTTP, in the shape of AllStarLink's. For learning and for tests; see README.md.

    POST {"port": 4569, "data": {"nodes": {"63001": {"node": "63001", "passwd": "...", "remote": 0}}}}

    200  every node of the request is registered        401  one of them is not what it says
    503  it could not be found out: Retry-After          400  not such a request

One request has one answer: all of its nodes are registered, or none. Reading order: `register`, `Handler`, `main`.
"""

from __future__ import annotations

import argparse
import hmac
import json
import random
import re
import sys
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any, Dict, Tuple

from credgate_client import Registrar, SettingsError, Unavailable, Verdict
from credgate_client.arguments import add_arguments, settings

REFRESH = 180  # seconds until a node comes again
LONGEST_BODY = 64 << 10
MOST_NODES = 32


def register(registrar: Registrar, nodes: Dict[str, str]) -> Tuple[int, Dict[str, str], str]:
    """Status, further headers, and what is said of it. `nodes`: what each of them gives as its password."""
    for node, given in nodes.items():
        outcome = registrar.verify(node, lambda password: same(password, given))
        if isinstance(outcome, Unavailable):
            log("unavailable", printable(node), outcome)
            wait = outcome.retry_after or random.uniform(10, 30)
            return 503, {"Retry-After": str(1 + int(wait))}, "try again later"
        if outcome is Verdict.REFUSED:
            log("refused", printable(node))
            # The same for a wrong password and for a node that does not exist.
            return 401, {}, "not registered: node or password is wrong"
    return 200, {}, "registered"


def same(password: str, given: str) -> bool:
    """Takes as long for a wrong first letter as for a wrong last one."""
    return hmac.compare_digest(password.encode(), given.encode("utf-8", "surrogatepass"))


def printable(text: str) -> str:
    """A name from the network, for a log."""
    return ascii(text[:64])[1:-1]


def parse(body: bytes) -> Tuple[int, Dict[str, str]]:
    """Port and passwords by node. Raises ValueError for anything else than the shape above."""
    request = json.loads(body)
    port, nodes = request["port"], request["data"]["nodes"]
    if type(port) is not int or not 0 < port < 65536 or not 0 < len(nodes) <= MOST_NODES:
        raise ValueError("port or nodes")
    for name, node in nodes.items():
        # A node ID is text: 0200 and 200 are two nodes, and a JSON number could not tell.
        if node["node"] != name or not isinstance(node["passwd"], str):
            raise ValueError("node")
    return port, {name: node["passwd"] for name, node in nodes.items()}


class Handler(BaseHTTPRequestHandler):
    """One connection, on a thread of its own."""

    registrar: Registrar
    protocol_version = "HTTP/1.1"
    timeout = 10  # for a client that sends nothing

    def do_POST(self) -> None:
        length = self.headers.get("Content-Length", "")
        if not re.fullmatch("[0-9]{1,9}", length) or int(length) > LONGEST_BODY:
            self.close_connection = True
            return self.answer(400, {}, {"data": ["not a registration"]})
        try:
            port, nodes = parse(self.rfile.read(int(length)))
        except (ValueError, KeyError, TypeError, AttributeError, RecursionError):
            return self.answer(400, {}, {"data": ["not a registration"]})
        status, headers, text = register(self.registrar, nodes)
        if status != 200:
            return self.answer(status, headers, {"data": [text]})
        address = self.client_address[0]
        for node in nodes:
            log("registered", node, f"{address}:{port}")  # Here a real registrar publishes it.
        # Jitter, so that nodes which came together after an outage do not come together for ever.
        refresh = REFRESH - random.randrange(REFRESH // 10)
        data = [f"{node} successfully registered @ {address}:{port}" for node in nodes]
        self.answer(200, {}, {"ipaddr": address, "port": port, "refresh": refresh, "data": data})

    def answer(self, status: int, headers: Dict[str, str], content: Dict[str, Any]) -> None:
        body = json.dumps(content).encode()
        self.send_response(status)
        for name, value in {"Content-Type": "application/json", "Content-Length": str(len(body)), **headers}.items():
            self.send_header(name, value)
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *_: object) -> None:
        """What is worth a line is said above, without the request."""


class Server(ThreadingHTTPServer):
    """Ends without waiting for its threads."""

    daemon_threads = True
    request_queue_size = 256


def log(*words: object) -> None:
    print(*words, flush=True)


def main() -> int:
    parser = argparse.ArgumentParser(description="Registers nodes over HTTP; asks credgate for their passwords.")
    parser.add_argument("--listen", default="127.0.0.1:8080", metavar="HOST:PORT", help="[%(default)s]")
    add_arguments(parser)
    arguments = parser.parse_args()
    try:
        Handler.registrar = Registrar(settings(arguments))
    except SettingsError as error:
        print(f"http-registrar: {error}", file=sys.stderr)
        return 78
    host, _, port = arguments.listen.rpartition(":")
    with Handler.registrar, Server((host, int(port)), Handler) as server:
        log("listening", "{}:{}".format(*server.server_address[:2]))
        try:
            server.serve_forever()
        except KeyboardInterrupt:
            return 0
    return 0


if __name__ == "__main__":
    sys.exit(main())
