"""Time that no wall clock can turn back, and that goes on while the machine sleeps: a password must not outlive that."""

from __future__ import annotations

import time

#: Linux; elsewhere the monotonic clock, which may stand still during a suspend.
_BOOTTIME = getattr(time, "CLOCK_BOOTTIME", None)


def now() -> float:
    """Seconds since some moment."""
    return time.monotonic() if _BOOTTIME is None else time.clock_gettime(_BOOTTIME)
