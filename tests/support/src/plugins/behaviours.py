"""A plugin whose node IDs say what its lookup does."""

import asyncio
import json
import logging
import os
import re
import signal
import socket
import subprocess
import sys
import threading
import time

import credgate

PASSWORD = "correct-horse-battery"


class Text(str):
    def __str__(self):
        raise AssertionError("no method of an answer is called")

    encode = __repr__ = __len__ = __str__


class TextRaises(Exception):
    def __str__(self):
        raise RuntimeError(PASSWORD)

    __repr__ = __str__


class TextSleeps(Exception):
    def __str__(self):
        time.sleep(1e9)

    __repr__ = __str__


def raises(error):
    raise error


def recurse():
    return recurse()


async def coroutine():
    return PASSWORD


def spin():
    while True:
        pass


def log_exception():
    try:
        raise ValueError(PASSWORD)
    except ValueError:
        logging.getLogger("credgate.plugin").exception("it failed")
    return PASSWORD


def thread():
    done = threading.Event()
    threading.Thread(target=done.set).start()
    # Neither this thread nor its kind may hold up the end of the process.
    threading.Thread(target=time.sleep, args=(1e6,), daemon=False).start()
    done.wait()
    return PASSWORD


def read_socket():
    ours, theirs = socket.socketpair()
    ours.recv(1)


def set_handlers():
    for number in (signal.SIGTERM, signal.SIGINT):
        signal.signal(number, signal.SIG_IGN)


def change_folder():
    os.chdir("/")
    return PASSWORD


def run_child():
    subprocess.run([sys.executable, "-c", "print('child')"], stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, check=True)
    return PASSWORD


def fork():
    child = os.fork()
    if child:
        os.waitpid(child, 0)
    # In the child this return is that of a lookup, too.
    return PASSWORD


BEHAVIOURS = {
    "returns_str": lambda: PASSWORD,
    "returns_none": lambda: None,
    "returns_empty": lambda: "",
    "returns_blanks": lambda: "   ",
    "returns_bytes": lambda: PASSWORD.encode(),
    "returns_int": lambda: 42,
    "returns_true": lambda: True,
    "returns_dict": lambda: {"user": "nobody"},
    "returns_str_subclass": lambda: Text(PASSWORD),
    "returns_surrogates": lambda: PASSWORD + "\udcff",
    "returns_megabyte": lambda: PASSWORD * 50_000,
    "returns_control": lambda: PASSWORD + "\n",
    "returns_coroutine": coroutine,
    "returns_generator": lambda: (yield_ for yield_ in PASSWORD),
    "returns_exception": lambda: credgate.Unavailable(PASSWORD),
    "credential": lambda: credgate.Credential(PASSWORD, node_id="credential", enabled="yes"),
    "credential_disabled": lambda: credgate.Credential(PASSWORD, enabled=0),
    "credential_disabled_and_broken": lambda: credgate.Credential("", enabled=False),
    "credential_of_another_node": lambda: credgate.Credential(PASSWORD, node_id="Credential_of_another_node"),
    "credential_without_password": lambda: credgate.Credential(None),
    "credential_enabled_none": lambda: credgate.Credential(PASSWORD, enabled=None),
    "credential_of_bytes": lambda: credgate.Credential(PASSWORD.encode()),
    "raises_unavailable": lambda: raises(credgate.Unavailable(PASSWORD)),
    "raises_timeout": lambda: raises(TimeoutError(PASSWORD)),
    "raises_connection": lambda: raises(ConnectionRefusedError(PASSWORD)),
    "raises_os_error": lambda: open("/nonexistent/" + PASSWORD),
    "raises_disabled": lambda: raises(credgate.Disabled(PASSWORD)),
    "raises_corrupt": lambda: raises(credgate.Corrupt(PASSWORD)),
    "raises_key_error": lambda: {}[PASSWORD],
    "raises_system_exit": lambda: sys.exit(0),
    "raises_keyboard_interrupt": lambda: raises(KeyboardInterrupt),
    "raises_generator_exit": lambda: raises(GeneratorExit),
    "raises_cancelled": lambda: raises(asyncio.CancelledError),
    "raises_memory_error": lambda: bytearray(1 << 60),
    "raises_recursion_error": recurse,
    "raises_base_exception": lambda: raises(BaseException(PASSWORD)),
    "raises_from_library": lambda: json.loads(PASSWORD),
    "text_raises": lambda: raises(TextRaises()),
    "text_sleeps": lambda: raises(TextSleeps()),
    "text_holds_password": lambda: raises(ValueError(PASSWORD)),
    "prints_megabyte": lambda: print(PASSWORD * 50_000) or print(PASSWORD, file=sys.stderr) or PASSWORD,
    "logs_password_of_exception": log_exception,
    "installs_signal_handlers": set_handlers,
    "changes_folder": change_folder,
    "starts_threads": thread,
    "starts_subprocess": run_child,
    "forks": fork,
    "sleeps": lambda: time.sleep(1e9),
    "reads_socket": read_socket,
    "spins": spin,
    # Backtracking that outlives us, in C, without a look at the interpreter's lock.
    "holds_lock": lambda: re.match(r"(a+)+$", "a" * 64 + "b"),
    "ends_process": lambda: os._exit(3),
}


class Plain:
    def lookup(self, node_id):
        return BEHAVIOURS[node_id]()

    def close(self):
        logging.getLogger("credgate.plugin").info("closed")


class Async:
    async def lookup(self, node_id):
        if node_id == "waits":
            await asyncio.sleep(1e6)
        if node_id == "clings":
            while True:
                try:
                    await asyncio.sleep(1e6)
                except asyncio.CancelledError:
                    pass
        await asyncio.sleep(0)
        return BEHAVIOURS[node_id]()

    async def close(self):
        logging.getLogger("credgate.plugin").info("closed")


def create(config):
    return Async() if config["async"] else Plain()
