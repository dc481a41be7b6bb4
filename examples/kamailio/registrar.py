"""Authenticates REGISTER in Kamailio with passwords from credgate: the module of kamailio.cfg.

    no credentials                     401 with a challenge, whoever it claims to be; nobody is asked
    right password                     200
    wrong, unknown or disabled         403, the same for all
    it could not be found out          503 with Retry-After

The gateways are given in CREDGATE_REGISTRAR, in the words of `credgate lookup`: "--addr HOST:PORT --ca FILE ...".
"""

import argparse
import os
import random
import secrets
import shlex

import KSR

REALM = os.environ.get("CREDGATE_REALM", "credgate")

# What auth.pv_auth_check returns: see the documentation of Kamailio's module auth.
WRONG_PASSWORD, STALE_NONCE, NO_CREDENTIALS = -2, -4, -5
PLAIN_PASSWORD = NO_CHECKS = 0
WITH_QOP = 1


def mod_init():
    """Called by Kamailio before it forks."""
    return Kamailio()


class Kamailio:
    """Kamailio's one object of this module."""

    def child_init(self, rank):
        """Called in each process after the fork. gRPC does not survive one, so it is not even loaded before."""
        if rank <= 0:
            return 0  # a process that serves no requests
        from credgate_client import Registrar
        from credgate_client.arguments import add_arguments, settings

        parser = argparse.ArgumentParser(prog="CREDGATE_REGISTRAR")
        add_arguments(parser)
        parser.set_defaults(grammar="token", timeout=1.0)
        self.registrar = Registrar(settings(parser.parse_args(shlex.split(os.environ["CREDGATE_REGISTRAR"]))))
        return 0

    def ksr_request_route(self, msg):
        """Called for every request."""
        if KSR.maxfwd.process_maxfwd(10) < 0:
            KSR.sl.sl_send_reply(483, "Too Many Hops")
        elif KSR.sanity.sanity_check(17895, 7) < 0:
            pass  # It has answered.
        elif not KSR.is_REGISTER():
            KSR.sl.sl_send_reply(405, "Method Not Allowed")
        else:
            self.register()
        return 1

    def register(self):
        node = KSR.pv.get("$au")
        if not node:
            KSR.auth.auth_challenge(REALM, WITH_QOP)
            return
        checked = self.check(node)
        if checked is None:
            KSR.hdr.append_to_reply(f"Retry-After: {random.randint(10, 30)}\r\n")
            KSR.sl.sl_send_reply(503, "Service Unavailable")
        elif checked > 0 and KSR.pv.get("$tU") == node:
            KSR.registrar.save("location", 0)  # It answers 200.
        elif checked in (STALE_NONCE, NO_CREDENTIALS):
            KSR.auth.auth_challenge(REALM, WITH_QOP)
        else:
            KSR.sl.sl_send_reply(403, "Forbidden")

    def check(self, node):
        """What Kamailio says of the credentials, or None when it could not be found out."""
        from credgate_client import Credential, Unavailable

        answer = self.registrar.get(node)
        checked = digest(answer)
        if checked == WRONG_PASSWORD and isinstance(answer, Credential) and answer.cached:
            # It may have been changed since.
            answer = self.registrar.verify_failed(node)
            checked = digest(answer)
        if isinstance(answer, Unavailable):
            KSR.warn(f"credgate: {answer}\n")
            return None
        return checked


def digest(answer):
    """An unknown node is checked too, against a password that nobody has: it ends as a wrong one does."""
    password = getattr(answer, "password", None)
    text = secrets.token_hex() if password is None else password.expose()
    return KSR.auth.pv_auth_check(REALM, text, PLAIN_PASSWORD, NO_CHECKS)
