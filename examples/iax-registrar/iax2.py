"""IAX2 full frames and information elements, as far as a registration needs them (RFC 5456, sections 8.1 and 8.6)."""

from __future__ import annotations

import hashlib
import struct
from dataclasses import dataclass, field
from typing import Dict

# Subclasses of IAX control frames (section 8.4).
ACK, INVAL, REGREQ, REGAUTH, REGACK, REGREJ = 0x04, 0x0A, 0x0D, 0x0E, 0x0F, 0x10

# Information elements (section 8.6).
USERNAME, AUTHMETHODS, CHALLENGE, MD5_RESULT = 0x06, 0x0E, 0x0F, 0x10
APPARENT_ADDR, REFRESH, CAUSE, DATETIME, CAUSECODE = 0x12, 0x13, 0x16, 0x1F, 0x2A

# Cause codes (section 8.6.33).
FACILITY_REJECTED, TEMPORARY_FAILURE = 29, 41

AUTH_MD5 = b"\x00\x02"
LARGEST_CALL = 0x7FFF
_IAX_CONTROL = 0x06
_HEADER = struct.Struct(">HHIBBBB")


class NotAFrame(ValueError):
    """Not a full IAX control frame: mini frames, voice, noise."""


@dataclass
class Frame:
    """One full frame of IAX control."""

    subclass: int
    source: int
    destination: int = 0
    timestamp: int = 0
    oseqno: int = 0
    iseqno: int = 0
    elements: Dict[int, bytes] = field(default_factory=dict)
    again: bool = False  # a retransmission

    def pack(self) -> bytes:
        """As it goes over UDP."""
        elements = b"".join(bytes([kind, len(value)]) + value for kind, value in self.elements.items())
        destination = self.destination | (0x8000 if self.again else 0)
        seqnos = self.oseqno & 0xFF, self.iseqno & 0xFF
        header = _HEADER.pack(
            self.source | 0x8000, destination, self.timestamp & 0xFFFFFFFF, *seqnos, _IAX_CONTROL, self.subclass
        )
        return header + elements

    def text(self, kind: int) -> str:
        """An element as text; empty when it is not there."""
        return self.elements.get(kind, b"").decode("utf-8", "replace")


def unpack(packet: bytes) -> Frame:
    """Raises NotAFrame."""
    if len(packet) < _HEADER.size:
        raise NotAFrame("too short")
    source, destination, timestamp, oseqno, iseqno, kind, subclass = _HEADER.unpack_from(packet)
    # The highest bit of the subclass says that the rest is an exponent: no control frame has that.
    if not source & 0x8000 or kind != _IAX_CONTROL or subclass & 0x80:
        raise NotAFrame("not a full frame of IAX control")
    elements: Dict[int, bytes] = {}
    at = _HEADER.size
    while at < len(packet):
        if at + 2 > len(packet) or at + 2 + packet[at + 1] > len(packet):
            raise NotAFrame("an information element ends early")
        elements[packet[at]] = packet[at + 2 : at + 2 + packet[at + 1]]
        at += 2 + packet[at + 1]
    again, destination = bool(destination & 0x8000), destination & 0x7FFF
    return Frame(subclass, source & 0x7FFF, destination, timestamp, oseqno, iseqno, elements, again)


def md5_result(challenge: str, password: str) -> bytes:
    """What proves that a node knows its password (section 8.6.15): hex text of MD5(challenge || password)."""
    return hashlib.md5((challenge + password).encode()).hexdigest().encode()
