"""The few messages of the protocol as bytes, and what a gRPC status means.

Written by hand: three messages of one field and two details of a status need no generated code, and so no version of
protobuf that would have to fit the registrar's other packages. The tests compare it with Google's own.
"""

from __future__ import annotations

import re
from typing import Any, Iterable, Iterator, Optional, Tuple, Union

import grpc

from .answers import NotFound, Password, Unavailable
from .endpoints import Ending

LOOKUP = "/credgate.v1.CredentialService/LookupCredential"
WATCH = "/grpc.health.v1.Health/Watch"


def lookup_request(node_id: str) -> bytes:
    """LookupCredentialRequest: node_id = 1."""
    return _text_field(1, node_id)


def lookup_response(message: bytes) -> Union[Password, Unavailable]:
    """LookupCredentialResponse: password = 1."""
    try:
        text = _last_text(message, 1)
    except ValueError:  # Its text would show a part of the password.
        return Unavailable("INTERNAL", "BAD_ANSWER")
    return Password(text) if text else Unavailable("INTERNAL", "EMPTY_ANSWER")


def watch_request(service: str) -> bytes:
    """HealthCheckRequest: service = 1."""
    return _text_field(1, service)


def watch_response(message: bytes) -> bool:
    """HealthCheckResponse: status = 1, where 1 is SERVING."""
    return [value for number, value in _fields(message) if number == 1][-1:] == [1]


def ending(error: Any) -> Ending:
    """What a failed call (grpc.Call or grpc.aio.AioRpcError) says. Only the gateway's own NODE_NOT_FOUND is NotFound."""
    code = error.code()
    reason, retry_after = _details(error.trailing_metadata())
    if code is grpc.StatusCode.NOT_FOUND and reason == "NODE_NOT_FOUND":
        return NotFound()
    if code is grpc.StatusCode.DEADLINE_EXCEEDED:
        reason = "NO_ANSWER"
    elif not reason and code in (grpc.StatusCode.UNAVAILABLE, grpc.StatusCode.CANCELLED):
        reason = "NO_CONNECTION"
    return Unavailable(code.name if code is not None else "UNKNOWN", reason, retry_after)


def health_lost(error: Any) -> Tuple[Optional[bool], float]:
    """What a failed health stream says of a gateway, and the seconds until the next one should be tried."""
    code = error.code()
    if code in (grpc.StatusCode.UNAVAILABLE, grpc.StatusCode.CANCELLED):
        return False, HEALTH_PAUSE
    # A gateway that has no room for another stream, or does not know them, may well answer lookups.
    no_room = code in (grpc.StatusCode.RESOURCE_EXHAUSTED, grpc.StatusCode.UNIMPLEMENTED)
    return None if no_room else False, _REFUSED_PAUSE


def _details(metadata: Optional[Iterable[Any]]) -> Tuple[str, Optional[float]]:
    """Reason and seconds to wait, from google.rpc.Status. Whatever does not parse says nothing."""
    reason, retry_after = "", None
    status = next((value for key, value in metadata or () if key == "grpc-status-details-bin"), b"")
    try:
        for number, detail in _fields(status):
            if number != 3 or not isinstance(detail, bytes):
                continue
            kind, value = _last_text(detail, 1), _last_bytes(detail, 2)
            if kind.endswith("/google.rpc.ErrorInfo") and _last_text(value, 2) == "credgate":
                # Its own grammar; anything else could forge a line of a log.
                found = re.fullmatch("[A-Z0-9_]{1,63}", _last_text(value, 1))
                reason = found[0] if found else ""
            elif kind.endswith("/google.rpc.RetryInfo"):
                retry_after = _seconds(_last_bytes(value, 1))
    except ValueError:
        return "", None
    return reason, retry_after


def _seconds(duration: bytes) -> Optional[float]:
    """google.protobuf.Duration: seconds = 1, nanos = 2. A negative one is no reason to wait."""
    parts = {number: value for number, value in _fields(duration) if isinstance(value, int)}
    seconds, nanos = _signed(parts.get(1, 0)), _signed(parts.get(2, 0))
    return max(0.0, seconds + nanos / 1e9)


def _fields(message: bytes) -> Iterator[Tuple[int, Union[int, bytes]]]:
    """Number and value of each field, unknown ones too (protobuf encoding, "message structure")."""
    at = 0
    while at < len(message):
        tag, at = _varint(message, at)
        kind = tag & 7
        if kind == 0:
            value, at = _varint(message, at)
            yield tag >> 3, value
            continue
        if kind == 2:
            length, at = _varint(message, at)
        elif kind in (1, 5):
            length = 8 if kind == 1 else 4
        else:
            raise ValueError("not a protobuf message")
        if at + length > len(message):
            raise ValueError("a protobuf message ends early")
        yield tag >> 3, message[at : at + length]
        at += length


def _varint(message: bytes, at: int) -> Tuple[int, int]:
    value = 0
    for shift in range(0, 70, 7):
        if at >= len(message):
            break
        byte = message[at]
        value, at = value | (byte & 0x7F) << shift, at + 1
        if byte < 0x80:
            return value, at
    raise ValueError("a protobuf number ends early or is too long")


def _signed(value: int) -> int:
    return value - (1 << 64) if value >= 1 << 63 else value


def _last_bytes(message: bytes, wanted: int) -> bytes:
    found = [value for number, value in _fields(message) if number == wanted and isinstance(value, bytes)]
    return found[-1] if found else b""


def _last_text(message: bytes, wanted: int) -> str:
    return _last_bytes(message, wanted).decode("utf-8")


def _text_field(number: int, text: str) -> bytes:
    content = text.encode("utf-8")
    if not content:
        return b""
    length, head = len(content), bytearray([number << 3 | 2])
    while length >= 0x80:
        head.append(length & 0x7F | 0x80)
        length >>= 7
    head.append(length)
    return bytes(head) + content


#: Seconds between the end of a health stream and the next one.
HEALTH_PAUSE = 0.3

#: The same when a gateway refused it: our token is wrong, or there are too many streams. Neither ends soon.
_REFUSED_PAUSE = 15.0


def channel_options(server_name: Optional[str]) -> list[Tuple[str, Any]]:
    """How both drivers set their connections up."""
    options: list[Tuple[str, Any]] = [
        # A gateway that was away is tried again within a second, not within gRPC's two minutes.
        ("grpc.initial_reconnect_backoff_ms", 100),
        ("grpc.min_reconnect_backoff_ms", 100),
        ("grpc.max_reconnect_backoff_ms", 1000),
        # A dead connection is noticed within 25 s.
        ("grpc.keepalive_time_ms", 20_000),
        ("grpc.keepalive_timeout_ms", 5_000),
        ("grpc.http2.max_pings_without_data", 0),
        # Who retries is `core`, and nobody beside it.
        ("grpc.enable_retries", 0),
        # An answer is far below 1 KiB: a password has at most 255 bytes.
        ("grpc.max_receive_message_length", 16 << 10),
        # Registrars in one process do not share connections: another one may have another identity.
        ("grpc.use_local_subchannel_pool", 1),
    ]
    return options + ([("grpc.ssl_target_name_override", server_name)] if server_name else [])
