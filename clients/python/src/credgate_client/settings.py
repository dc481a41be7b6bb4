"""What a registrar says about its gateways and its cache. Every problem is reported at once; no secret is kept here."""

from __future__ import annotations

import enum
import ipaddress
import os
import re
import ssl
from dataclasses import dataclass
from typing import Optional, Sequence, Union

Path = Union[str, "os.PathLike[str]"]


class Mode(enum.Enum):
    """Who is asked first."""

    #: An unexpired cached password is used without asking: fewest lookups; a revoked node works until its TTL ends.
    CACHE_FIRST = "cache_first"
    #: The gateway is always asked; an unexpired cached password only bridges an outage.
    CENTRAL_FIRST = "central_first"


class Grammar(enum.Enum):
    """What a node ID may look like; the same words as in the gateway's `lookup.node_id.grammar`."""

    DIGITS = "digits"
    TOKEN = "token"


@dataclass(frozen=True)
class NodeIds:
    """Which texts are node IDs. Anything else is no node, so the gateway is not asked. Keep it equal to the gateway's."""

    grammar: Grammar = Grammar.DIGITS
    #: By default 10 digits, or 64 characters.
    max_length: Optional[int] = None

    def accept(self, node_id: str) -> bool:
        """Whether this could be a node. Text, never a number: "0200" and "200" differ."""
        longest = self.max_length or _LONGEST[self.grammar]
        return len(node_id) <= longest and _ALPHABET[self.grammar].fullmatch(node_id) is not None


@dataclass(frozen=True)
class Settings:
    """Times are seconds. The files are read once, by `read_files`: make a new registrar after a rotation."""

    #: "host:port" of each gateway; the first healthy one of the list is asked.
    endpoints: Sequence[str]
    #: CA certificates (PEM) one of which signed the gateways' certificates.
    ca: Optional[Path] = None
    #: Client certificate chain and its key (PEM), for gateways with `tls.client_ca`.
    cert: Optional[Path] = None
    key: Optional[Path] = None
    #: File with the bearer token.
    token_file: Optional[Path] = None
    #: The name in the gateways' certificates, when it is not the host of the endpoint.
    server_name: Optional[str] = None
    #: No TLS; for loopback addresses only.
    plaintext: bool = False

    mode: Mode = Mode.CACHE_FIRST
    node_ids: NodeIds = NodeIds()
    #: How long a password is kept. A revoked node works that long at most; 0 keeps nothing.
    ttl: float = 600.0
    #: Each entry's TTL is shortened by a chance share up to this, so that entries made together do not end together.
    ttl_jitter: float = 0.2
    #: Passwords kept at most; the one that was asked for longest ago makes room.
    capacity: int = 100_000
    #: The longest a call waits, its one retry included. At least the gateway's `lookup.timeout`.
    timeout: float = 3.0
    #: The shortest time between two questions of `verify_failed` about one node.
    verify_interval: float = 10.0

    def __post_init__(self) -> None:
        problems = list(self._problems())
        if problems:
            raise SettingsError("; ".join(problems))

    def read_files(self) -> Files:
        """Token and certificates. Raises SettingsError with every file that cannot be read or used."""
        problems: list[str] = []
        token = _token(_read("token_file", self.token_file, problems), self.token_file, problems)
        parts = [_read(name, path, problems) for name, path in (("ca", self.ca), ("key", self.key), ("cert", self.cert))]
        if not problems:
            problems += _unusable(self.ca, self.cert, self.key)
        if problems:
            raise SettingsError("; ".join(problems))
        return Files(token, *parts)

    def _problems(self) -> list[str]:
        problems = []
        if isinstance(self.endpoints, str) or not self.endpoints:
            problems.append("endpoints: give a list of one or more host:port")
        else:
            hosts = [(endpoint, _host(endpoint)) for endpoint in self.endpoints]
            problems += [f"endpoints: {endpoint!r} is not host:port" for endpoint, host in hosts if host is None]
            if self.plaintext:
                far = [endpoint for endpoint, host in hosts if host is not None and not _is_loopback(host)]
                problems += [f"plaintext: allowed for a loopback address only, not {endpoint}" for endpoint in far]
        if self.plaintext and (self.ca or self.cert or self.key or self.server_name):
            problems.append("plaintext: contradicts ca, cert, key and server_name; give one or the other")
        if not self.plaintext and self.ca is None:
            problems.append("ca: is missing; give the CA file of the gateways' certificates")
        if (self.cert is None) != (self.key is None):
            problems.append("cert, key: they go together")
        if self.token_file is None:
            problems.append("token_file: is missing; give the file with the bearer token")
        if not 0 <= self.ttl <= _LONGEST_TTL:
            problems.append("ttl: expected 0 to 604800 seconds (a week)")
        if not 0 <= self.ttl_jitter <= 1:
            problems.append("ttl_jitter: expected 0 to 1")
        if self.capacity < 1:
            problems.append("capacity: expected 1 or more; to keep nothing, set ttl to 0")
        if not 0 < self.timeout <= _LONGEST_TIMEOUT:
            problems.append("timeout: expected more than 0 and up to 60 seconds, the gateway's own limit")
        if self.verify_interval < 0:
            problems.append("verify_interval: expected 0 or more")
        return problems


class SettingsError(ValueError):
    """The settings or their files cannot be used: every problem, never a secret."""


class Files:
    """What the files hold. Shows nothing of it."""

    __slots__ = ("authorization", "ca", "cert", "key")

    def __init__(self, token: str, ca: Optional[bytes], key: Optional[bytes], cert: Optional[bytes]) -> None:
        self.authorization = f"Bearer {token}"
        self.ca, self.key, self.cert = ca, key, cert

    def __repr__(self) -> str:
        return "Files"


def _read(name: str, path: Optional[Path], problems: list[str]) -> Optional[bytes]:
    if path is None:
        return None
    try:
        with open(path, "rb") as file:
            return file.read()
    except OSError as error:
        problems.append(f"{name}: {os.fspath(path)}: {error.strerror}")
        return None


def _unusable(ca: Optional[Path], cert: Optional[Path], key: Optional[Path]) -> list[str]:
    """gRPC would say so only at the first connection, and then only that it failed."""
    problems, tls = [], ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
    if ca is not None:
        try:
            tls.load_verify_locations(ca)
        except ssl.SSLError:
            problems.append(f"ca: {os.fspath(ca)}: holds no usable certificates (PEM)")
    if cert is not None and key is not None:
        try:
            tls.load_cert_chain(cert, key, password=lambda: "")
        except (ssl.SSLError, ValueError):
            files = f"{os.fspath(cert)}, {os.fspath(key)}"
            problems.append(f"cert, key: {files}: no certificate, no unencrypted key, or not a pair (PEM)")
    return problems


def _token(content: Optional[bytes], path: Optional[Path], problems: list[str]) -> str:
    """Exactly one trailing line ending is removed, as the gateway does."""
    if content is None or path is None:
        return ""
    if content.endswith(b"\n"):
        content = content[:-2] if content.endswith(b"\r\n") else content[:-1]
    if not re.fullmatch(rb"[!-~]+", content):
        problems.append(f"token_file: {os.fspath(path)}: expected one line of printable ASCII without blanks")
        return ""
    return content.decode("ascii")


def _host(endpoint: str) -> Optional[str]:
    found = re.fullmatch(r"(?:\[([0-9A-Fa-f:.]+)\]|([^\s:/\[\]]+)):([0-9]{1,5})", endpoint)
    if found is None or not 0 < int(found[3]) <= 65535:
        return None
    return found[1] or found[2]


def _is_loopback(host: str) -> bool:
    try:
        return host == "localhost" or ipaddress.ip_address(host).is_loopback
    except ValueError:
        return False


_ALPHABET = {Grammar.DIGITS: re.compile("[0-9]+"), Grammar.TOKEN: re.compile("[A-Za-z0-9._+-]+")}
_LONGEST = {Grammar.DIGITS: 10, Grammar.TOKEN: 64}
_LONGEST_TTL = 7 * 86_400
_LONGEST_TIMEOUT = 60.0
