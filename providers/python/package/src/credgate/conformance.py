"""Runs a plugin as the gateway does, and checks that it keeps the contract. For tests outside the gateway.

    import credgate, credgate.conformance, plugin

    def test_conforms():
        made = plugin.create(credgate.Config({"file": "nodes.json"}))
        credgate.conformance.check(made, known={"2000": "password"}, unknown=["1999"], disabled=["2001"])

``ask`` gives the ending of one lookup by the same table as the gateway's.
"""

from __future__ import annotations

import asyncio
import inspect
import threading
from collections.abc import Callable, Iterable, Mapping
from concurrent.futures import ThreadPoolExecutor
from contextlib import AbstractContextManager
from typing import Any, NamedTuple

from . import Corrupt, Credential, Disabled, Unavailable

__all__ = ["Answer", "Plugin", "ask", "check"]

NOT_FOUND = "not found"
FOUND = "found"
UNAVAILABLE = "unavailable"
CORRUPT = "corrupt"
DEFECT = "defect"
TIMED_OUT = "timed out"


class Answer(NamedTuple):
    """How a lookup ended: ``found``, ``not found``, ``unavailable``, ``corrupt``, ``defect`` or ``timed out``."""

    ending: str
    detail: str = ""
    password: str | None = None

    def __repr__(self) -> str:
        return f"{self.ending} ({self.detail})" if self.detail else self.ending


class Plugin:
    """A plugin with what runs it: a thread for each plain call, one event loop for ``async def``."""

    def __init__(self, plugin: Any, seconds: float = 2.0) -> None:
        self.plugin = plugin
        self.seconds = seconds
        self.loop = asyncio.new_event_loop()
        threading.Thread(target=self.loop.run_forever, daemon=True).start()

    def call(self, name: str, *arguments: Any) -> Any:
        """Calls a function of the plugin; ``TimeoutError`` when it takes longer than the deadline."""
        function = getattr(self.plugin, name)
        if inspect.iscoroutinefunction(function):
            return asyncio.run_coroutine_threadsafe(function(*arguments), self.loop).result(self.seconds)
        ended: list[Callable[[], Any]] = []

        def run() -> None:
            try:
                value = function(*arguments)
                ended.append(lambda: value)
            except BaseException as error:
                # A second name: the first ends with this block.
                raised = error
                ended.append(lambda: throw(raised))

        thread = threading.Thread(target=run, daemon=True)
        thread.start()
        thread.join(self.seconds)
        if not ended:
            raise _Late
        return ended[0]()


class _Late(Exception):
    """The plugin did not answer in time."""


def throw(error: BaseException) -> Any:
    raise error


def ask(plugin: Any, node_id: str, *, max_bytes: int = 79) -> Answer:
    """Looks one node up and says how the gateway would end it."""
    runner = plugin if isinstance(plugin, Plugin) else Plugin(plugin)
    try:
        value = runner.call("lookup", node_id)
    except _Late:
        return Answer(TIMED_OUT, f"no answer within {runner.seconds} s; the gateway's slot would still be taken")
    except Disabled:
        return Answer(NOT_FOUND, "disabled")
    except Corrupt:
        return Answer(CORRUPT, "it raised Corrupt")
    except (Unavailable, OSError) as error:
        return Answer(UNAVAILABLE, f"it raised {type(error).__name__}")
    except BaseException as error:
        return Answer(DEFECT, f"it raised {type(error).__name__}")
    if value is None:
        return Answer(NOT_FOUND)
    if isinstance(value, Credential):
        if value.node_id is not None and value.node_id != node_id:
            return Answer(NOT_FOUND, "a record of another node")
        enabled = _enabled(value.enabled)
        if enabled is None:
            return Answer(CORRUPT, "enabled is neither true nor false")
        if not enabled:
            return Answer(NOT_FOUND, "disabled")
        if value.password is None:
            return Answer(CORRUPT, "no password")
        value = value.password
    if not isinstance(value, str):
        return Answer(DEFECT, f"it returned a value of type {type(value).__name__}")
    fault = _fault(value, max_bytes)
    return Answer(CORRUPT, fault) if fault else Answer(FOUND, password=value)


def check(
    plugin: Any,
    *,
    known: Mapping[str, str],
    unknown: Iterable[str] = ("0",),
    disabled: Iterable[str] = (),
    outage: Callable[[], AbstractContextManager[Any]] | None = None,
    seconds: float = 2.0,
) -> None:
    """Checks a plugin and raises ``AssertionError`` with everything that is wrong. No password stands in its text.

    ``known`` must give exactly these passwords, ``unknown`` and ``disabled`` nothing. ``outage`` breaks the backend while
    its context is open: no lookup may then look like "no such node". ``seconds`` stands for ``lookup.timeout``.
    """
    runner = Plugin(plugin, seconds)
    faults: list[str] = []

    def expect(what: str, good: bool, seen: object) -> None:
        if not good:
            faults.append(f"{what}: {seen!r}")

    for node_id, password in known.items():
        answer = ask(runner, node_id)
        expect(f"{node_id} gives its password", answer.password == password, answer)
        if f"0{node_id}" not in known:
            answer = ask(runner, f"0{node_id}")
            expect(f"0{node_id} is another node than {node_id}", answer.ending == NOT_FOUND, answer)
    for node_id in [*unknown, *disabled]:
        answer = ask(runner, node_id)
        expect(f"{node_id} gives nothing", answer.ending == NOT_FOUND, answer)
    with ThreadPoolExecutor(32) as pool:
        asked = list(known) * max(1, 64 // max(1, len(known)))
        for node_id, answer in zip(asked, pool.map(lambda node_id: ask(runner, node_id), asked)):
            expect(f"{node_id} gives its password to one of many at once", answer.password == known[node_id], answer)
    if hasattr(plugin, "check"):
        expect("check() is good while the backend is", *_check(runner))
    if outage is not None:
        with outage():
            for node_id in [*known, *unknown]:
                answer = ask(runner, node_id)
                expect(f"{node_id} in an outage is unavailable", answer.ending == UNAVAILABLE, answer)
            if hasattr(plugin, "check"):
                good, seen = _check(runner)
                expect("check() fails in an outage", not good, seen)
        for node_id, password in known.items():
            answer = ask(runner, node_id)
            expect(f"{node_id} gives its password after an outage", answer.password == password, answer)
    if hasattr(plugin, "close"):
        try:
            runner.call("close")
        except BaseException as error:
            expect("close() ends", False, type(error))
    assert not faults, "the plugin does not keep the contract:\n  " + "\n  ".join(dict.fromkeys(faults))


def _check(runner: Plugin) -> tuple[bool, object]:
    try:
        value = runner.call("check")
    except BaseException as error:
        return False, type(error)
    return value is None or value is True, type(value)


def _enabled(value: object) -> bool | None:
    if isinstance(value, str):
        return {"true": True, "yes": True, "1": True, "false": False, "no": False, "0": False}.get(value.lower())
    return bool(value) if isinstance(value, int) and value in (0, 1) else None


def _fault(password: str, max_bytes: int) -> str:
    if not password:
        return "the password is empty"
    if len(password) > max_bytes:
        return f"the password is longer than {max_bytes} bytes"
    if not all(" " <= character <= "~" for character in password):
        return "the password holds a character that is not printable ASCII"
    return "" if password.strip(" ") else "the password is only spaces"
