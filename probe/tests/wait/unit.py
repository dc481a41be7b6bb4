"""A unit as a test wants it: does the steps of its command line, one after the other, and then stays.

listen ADDRESS STATUS   answers every HTTP request there with the status
share ADDRESS STATUS    the same, sharing the port (SO_REUSEPORT)
bind ADDRESS            listens, and does not accept
serve STATUS            accepts on what was bound last
child                   a child does the remaining steps; the parent stays
pass                    the same the other way round: the child stays idle, holding what was bound
wait                    until SIGUSR1
exit CODE
"""

import os
import signal
import socket
import sys
import threading


def answer(connection, status):
    with connection:
        pending = b""
        while chunk := connection.recv(4096):
            pending += chunk
            while b"\r\n\r\n" in pending:
                _, pending = pending.split(b"\r\n\r\n", 1)
                connection.sendall(f"HTTP/1.1 {status} x\r\nContent-Length: 0\r\n\r\n".encode())


def accept(listener, status):
    while True:
        connection, _ = listener.accept()
        threading.Thread(target=answer, args=(connection, status), daemon=True).start()


def serve(listener, status):
    threading.Thread(target=accept, args=(listener, status), daemon=True).start()


def bind(address, shared=False):
    host, port = address.rsplit(":", 1)
    host = host.strip("[]")
    listener = socket.socket(socket.AF_INET6 if ":" in host else socket.AF_INET)
    listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    if shared:
        listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEPORT, 1)
    listener.bind((host, int(port)))
    listener.listen()
    return listener


def say(word):
    """One write, so that parent and child do not mix their lines."""
    os.write(1, f"{word}\n".encode())


def stay():
    while True:
        signal.pause()


def main(steps):
    signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGUSR1})
    bound = []
    for step in steps:
        word, *rest = step.split()
        if word == "listen":
            serve(bind(rest[0]), rest[1])
        elif word == "share":
            serve(bind(rest[0], shared=True), rest[1])
        elif word == "bind":
            bound.append(bind(rest[0]))
        elif word == "serve":
            serve(bound[-1], rest[0])
        elif word == "child":
            if child := os.fork():
                say(f"child {child}")
                stay()
        elif word == "pass":
            if child := os.fork():
                say(f"child {child}")
            else:
                stay()
        elif word == "wait":
            say("waits")
            signal.sigwait({signal.SIGUSR1})
        elif word == "exit":
            os._exit(int(rest[0]))
        else:
            sys.exit(f"no step {word}")
    say("done")
    stay()


main(sys.argv[1:])
