"""From a node's registration to a verified answer, by way of a credgate gateway.

    settings = Settings(["gate-a:7443", "gate-b:7443"], ca="ca.pem", token_file="registrar.token", ...)
    registrar = Registrar(settings)                      # or AsyncRegistrar, with await
    registrar.verify("2000", lambda password: ...)       # Verdict.ACCEPTED, Verdict.REFUSED, or an Unavailable
    registrar.get("2000")                                # a Credential, a NotFound, or an Unavailable

Reading order: `answers` (what comes out), `settings` (what goes in), `core` (every decision, without any input or
output), `cache` and `endpoints` (what it remembers), `wire` (bytes), `sync` and `aio` (who drives it).
"""

from .aio import AsyncRegistrar
from .answers import Answer, Credential, NotFound, Password, Unavailable, Verdict
from .settings import Grammar, Mode, NodeIds, Settings, SettingsError
from .sync import Registrar

__all__ = [
    "Answer",
    "AsyncRegistrar",
    "Credential",
    "Grammar",
    "Mode",
    "NodeIds",
    "NotFound",
    "Password",
    "Registrar",
    "Settings",
    "SettingsError",
    "Unavailable",
    "Verdict",
]
