"""What a registrar is told. Three answers, each a type of its own, so that none can be taken for another.

A password shows itself to nobody who does not ask by name: not to repr, str, format, logging, pickle or copy.
"""

from __future__ import annotations

import enum
from dataclasses import dataclass
from typing import NoReturn, Optional, Union


class Password:
    """A node's password; never empty."""

    __slots__ = ("_text",)

    def __init__(self, text: str) -> None:
        if not text:
            raise ValueError("an empty password would come to mean that any password works")
        self._text = text

    def expose(self) -> str:
        """The password itself. Compare with hmac.compare_digest."""
        return self._text

    def __repr__(self) -> str:
        return "Password"

    def __reduce__(self) -> NoReturn:
        raise TypeError("a password is not to be pickled or copied")


@dataclass(frozen=True)
class Credential:
    """The node is known and enabled. Compare its answer with the password."""

    password: Password
    #: From the registrar's own cache. When the node's answer does not fit, the password may have changed meanwhile:
    #: call `verify_failed`, or let `verify` do all of it.
    cached: bool


@dataclass(frozen=True)
class NotFound:
    """The node is unknown or disabled: refuse it as if its password were wrong. Nothing else means that."""


@dataclass(frozen=True)
class Unavailable:
    """It could not be found out, and no unexpired password is cached. Says nothing about the node: "try again later"."""

    #: gRPC's name of the status: "UNAVAILABLE", "RESOURCE_EXHAUSTED", "UNAUTHENTICATED", ...
    code: str
    #: The gateway's reason ("BACKEND_TIMEOUT", "DRAINING", ...), or ours: "NO_CONNECTION", "NO_ANSWER" within the
    #: time, "EMPTY_ANSWER", "BAD_ANSWER", "CLOSED", "CLIENT_DEFECT". Empty where the code says it all.
    reason: str
    #: Seconds that the gateway asks to wait before it is asked again, if it does.
    retry_after: Optional[float] = None

    def __str__(self) -> str:
        return f"{self.code} {self.reason}".rstrip()


Answer = Union[Credential, NotFound, Unavailable]


class Verdict(enum.Enum):
    """What `verify` found out."""

    #: The node proved that it knows the password.
    ACCEPTED = "accepted"
    #: Wrong password, unknown or disabled: one word for all three, so that the node learns no more either.
    REFUSED = "refused"
