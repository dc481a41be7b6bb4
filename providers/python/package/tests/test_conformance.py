"""The checks find what they are for, and the endings are those of the gateway."""

import asyncio
import contextlib
import time

import pytest

import credgate
from credgate import conformance

NODES = {"2000": "first-password", "2001": "second-password"}


class Good:
    def __init__(self):
        self.down = False

    def lookup(self, node_id):
        self.check()
        return NODES.get(node_id)

    def check(self):
        if self.down:
            raise credgate.Unavailable

    def close(self):
        pass


class GoodAsync(Good):
    async def lookup(self, node_id):
        await asyncio.sleep(0)
        return super().lookup(node_id)

    async def close(self):
        pass


@pytest.mark.parametrize("kind", [Good, GoodAsync])
def test_a_good_plugin_passes(kind):
    plugin = kind()

    @contextlib.contextmanager
    def outage():
        plugin.down = True
        yield
        plugin.down = False

    conformance.check(plugin, known=NODES, unknown=["1999"], outage=outage)


def broken(lookup):
    return type("Broken", (), {"lookup": staticmethod(lookup)})()


@pytest.mark.parametrize(
    ("lookup", "said"),
    [
        (lambda node_id: "first-password", "gives its password"),
        (lambda node_id: NODES.get(node_id.lstrip("0")), "is another node"),
        (lambda node_id: NODES.get(node_id, ""), "gives nothing"),
        (lambda node_id: NODES[node_id], "gives nothing"),
        (lambda node_id: time.sleep(30), "timed out"),
    ],
)
def test_a_broken_one_is_found_and_no_password_shown(lookup, said):
    with pytest.raises(AssertionError) as error:
        conformance.check(broken(lookup), known=NODES, seconds=0.2)
    assert said in str(error.value)
    assert "first-password" not in str(error.value)


def test_an_outage_that_looks_like_an_unknown_node_is_found():
    with pytest.raises(AssertionError, match="in an outage is unavailable"):
        conformance.check(broken(NODES.get), known=NODES, outage=contextlib.nullcontext)


def raises(error):
    raise error


@pytest.mark.parametrize(
    ("lookup", "ending"),
    [
        (lambda _: "x" * 79, "found"),
        (lambda _: "x" * 80, "corrupt"),
        (lambda _: " ", "corrupt"),
        (lambda _: "\u00e9", "corrupt"),
        (lambda _: None, "not found"),
        (lambda _: b"bytes", "defect"),
        (lambda _: 42, "defect"),
        (lambda _: credgate.Credential("x", node_id="1"), "found"),
        (lambda _: credgate.Credential("x", node_id="01"), "not found"),
        (lambda _: credgate.Credential("x", enabled="NO"), "not found"),
        (lambda _: credgate.Credential("x", enabled=2), "corrupt"),
        (lambda _: credgate.Credential(None), "corrupt"),
        (lambda _: raises(credgate.Disabled()), "not found"),
        (lambda _: raises(credgate.Corrupt()), "corrupt"),
        (lambda _: raises(credgate.Unavailable()), "unavailable"),
        (lambda _: raises(TimeoutError()), "unavailable"),
        (lambda _: raises(SystemExit()), "defect"),
    ],
)
def test_endings_are_those_of_the_gateway(lookup, ending):
    assert conformance.ask(broken(lookup), "1").ending == ending


def test_nothing_shows_a_secret():
    config = credgate.Config({"url": "x"}, secrets={"api": "first-password"})
    assert config.secrets["api"] == "first-password"
    shown = f"{config.secrets} {config.secrets!r} {credgate.Credential('first-password')!r}"
    assert "first-password" not in shown + repr(conformance.ask(broken(NODES.get), "2000"))
