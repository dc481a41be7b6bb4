"""The settings as a command line, the same words as of `credgate lookup`, for registrars that are programs."""

from __future__ import annotations

import argparse

from .settings import Grammar, Mode, NodeIds, Settings


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """The flags of a registrar's gateways and its cache."""
    add = parser.add_argument_group("gateways").add_argument
    add("--addr", action="append", required=True, metavar="HOST:PORT", help="a gateway; repeat it for each")
    add("--ca", metavar="FILE", help="CA of the gateways' certificates (PEM)")
    add("--cert", metavar="FILE", help="client certificate (PEM)")
    add("--key", metavar="FILE", help="its private key (PEM)")
    add("--token-file", metavar="FILE", required=True, help="file with the bearer token")
    add("--server-name", metavar="NAME", help="name in the gateways' certificates")
    add("--plaintext", action="store_true", help="no TLS; loopback addresses only")
    add("--timeout", type=float, default=Settings.timeout, metavar="SECONDS", help="longest lookup [%(default)s]")
    add("--mode", choices=[mode.value for mode in Mode], default=Settings.mode.value, help="[%(default)s]")
    add("--ttl", type=float, default=Settings.ttl, metavar="SECONDS", help="a password is kept so long [%(default)s]")
    add("--grammar", choices=[grammar.value for grammar in Grammar], default="digits", help="of node IDs [%(default)s]")


def settings(arguments: argparse.Namespace) -> Settings:
    """What they say. Raises SettingsError."""
    return Settings(
        endpoints=arguments.addr,
        ca=arguments.ca,
        cert=arguments.cert,
        key=arguments.key,
        token_file=arguments.token_file,
        server_name=arguments.server_name,
        plaintext=arguments.plaintext,
        timeout=arguments.timeout,
        mode=Mode(arguments.mode),
        ttl=arguments.ttl,
        node_ids=NodeIds(Grammar(arguments.grammar)),
    )
