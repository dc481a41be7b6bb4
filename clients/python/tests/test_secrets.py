"""Passwords and tokens show themselves nowhere."""

import copy
import logging
import os
import pickle
import tempfile
import traceback
import unittest

from credgate_client import Credential, Mode, Password, Registrar, Settings, SettingsError, Unavailable
from credgate_client.cache import Cache, Entry

CANARY = "canary-7f3a"


class Secrets(unittest.TestCase):
    def absent(self, text):
        self.assertNotIn(CANARY, text)

    def test_in_no_text(self):
        password = Password(CANARY)
        cache = Cache(10.0, 0.0, 10, lambda: 0.0)
        cache.store("1", password, 0.0)
        for thing in (password, Credential(password, cached=True), cache, cache._entries, Entry(password, 1.0, 1.0)):
            for text in (repr(thing), str(thing), f"{thing}", "%s %r" % (thing, thing)):
                self.absent(text)
        with self.assertLogs() as logs:
            logging.getLogger().warning("%s", Credential(password, cached=False))
        self.absent("".join(logs.output))

    def test_in_no_pickle_and_no_copy(self):
        for thing in (Password(CANARY), Credential(Password(CANARY), cached=True)):
            for way in (pickle.dumps, copy.copy, copy.deepcopy):
                if way is copy.copy and isinstance(thing, Credential):
                    continue  # A shallow copy shares the password and shows nothing.
                with self.assertRaises(TypeError) as raised:
                    way(thing)
                self.absent(str(raised.exception))

    def test_an_empty_password_is_none(self):
        with self.assertRaises(ValueError):
            Password("")

    def test_the_token_stays_in(self):
        with tempfile.TemporaryDirectory() as folder:
            path = os.path.join(folder, "token")
            with open(path, "w") as file:
                file.write(CANARY + "\n")
            registrar = Registrar(Settings(["127.0.0.1:1"], token_file=path, plaintext=True))
            self.absent(repr(registrar) + repr(registrar._files) + repr(registrar._settings))
            with self.assertRaises(TypeError):
                pickle.dumps(registrar)
            registrar.close()
            self.assertEqual(registrar.get("1"), Unavailable("CANCELLED", "CLOSED"))
            with open(path, "w") as file:
                file.write(CANARY + " \n")
            with self.assertRaises(SettingsError) as raised:
                Registrar(Settings(["127.0.0.1:1"], token_file=path, plaintext=True))
            self.absent("".join(traceback.format_exception(None, raised.exception, raised.exception.__traceback__)))


class Problems(unittest.TestCase):
    def test_every_one_in_one_report(self):
        with self.assertRaises(SettingsError) as raised:
            Settings(
                ["nowhere", "[::1]:0"], cert="c", ttl=-1, ttl_jitter=2, capacity=0, timeout=0, verify_interval=-1,
                mode=Mode.CACHE_FIRST,
            )  # fmt: skip
        said = str(raised.exception)
        for word in (
            "'nowhere' is not host:port", "'[::1]:0'", "ca: is missing", "cert, key", "token_file", "ttl:",
            "ttl_jitter", "capacity", "timeout", "verify_interval",
        ):  # fmt: skip
            self.assertIn(word, said)

    def test_plaintext_is_for_loopback(self):
        Settings(["127.3.2.1:7443", "[::1]:7443", "localhost:1"], plaintext=True, token_file="t")
        with self.assertRaises(SettingsError) as raised:
            Settings(["127.0.0.1:1", "10.0.0.1:1"], plaintext=True, token_file="t", ca="c")
        self.assertIn("not 10.0.0.1:1", str(raised.exception))
        self.assertIn("contradicts", str(raised.exception))

    def test_files_that_cannot_be_used(self):
        with tempfile.TemporaryDirectory() as folder:
            for name in ("ca", "cert", "key", "token"):
                with open(os.path.join(folder, name), "w") as file:
                    file.write("x")
            files = {name: os.path.join(folder, name) for name in ("ca", "cert", "key")}
            with self.assertRaises(SettingsError) as raised:
                Registrar(Settings(["a:1"], token_file=os.path.join(folder, "token"), **files))
            self.assertIn("no usable certificates", str(raised.exception))
            self.assertIn("not a pair", str(raised.exception))
            with self.assertRaises(SettingsError) as raised:
                Registrar(Settings(["a:1"], ca=files["ca"] + "x", token_file=folder + "/y"))
            self.assertIn("No such file", str(raised.exception))


if __name__ == "__main__":
    unittest.main()
