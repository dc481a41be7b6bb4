"""What a credgate plugin and the gateway say to each other.

A plugin is a module with ``create(config)``, which returns an object with ``lookup(node_id)`` and, if it wants them,
``check()`` and ``close()``; each of the four may be ``def`` or ``async def``.

``lookup`` returns the node's password as ``str``, a :class:`Credential`, or ``None`` for "no such node". It raises
:class:`Unavailable` (or ``OSError``, which ``TimeoutError`` and ``ConnectionError`` are) when the store cannot be asked,
:class:`Disabled` for a node that is disabled, :class:`Corrupt` for a record that cannot be used. Anything else is a
defect of the plugin.

The gateway brings this module along; the package ``credgate-plugin`` is the same, for tests outside it.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Union

__all__ = ["Config", "Corrupt", "Credential", "Disabled", "Unavailable"]


class Unavailable(Exception):
    """The store cannot be asked now. Callers are told to try again later."""


class Disabled(Exception):
    """The node exists and may not be found: the same as ``None`` to everybody outside."""


class Corrupt(Exception):
    """The store holds a record that cannot be used: two rows for one node, a broken value."""


class Credential:
    """A node's record, for stores that tell more than the password.

    ``node_id``: the node as the record has it. When it is given it must be the one that was asked for, byte for byte; a
    record of another node (a collation, a number without its zeros) counts as none.
    ``enabled``: a truth, 0 or 1, or one of the words true, false, yes, no, 1, 0. Anything else, ``None`` too, is corrupt.
    """

    __slots__ = ("enabled", "node_id", "password")

    node_id: Union[str, None]
    password: Union[str, None]
    enabled: Union[bool, int, str, None]

    def __init__(
        self,
        password: Union[str, None],
        *,
        node_id: Union[str, None] = None,
        enabled: Union[bool, int, str, None] = True,
    ) -> None:
        self.password = password
        self.node_id = node_id
        self.enabled = enabled

    def __repr__(self) -> str:
        return "Credential"


class Secrets(dict[str, str]):
    """Contents of the configured secret files, by name. Shows names only."""

    def __repr__(self) -> str:
        return f"Secrets({', '.join(sorted(self))})"

    __str__ = __repr__


class Config(dict[str, Any]):
    """What ``create`` is given: the table ``provider.python.config``, and ``secrets``."""

    secrets: Secrets

    def __init__(self, values: Mapping[str, Any] = {}, secrets: Mapping[str, str] = {}) -> None:
        super().__init__(values)
        self.secrets = Secrets(secrets)
