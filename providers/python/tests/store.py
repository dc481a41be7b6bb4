"""The store of the conformance test: rows in a file, and files that say how the backend fails."""

import asyncio
import contextlib
import itertools
import json
import os
import pathlib
import time

import credgate

CALLS = itertools.count()


class Store:
    def __init__(self, config):
        self.folder = pathlib.Path(config["folder"])

    def says(self, word):
        return (self.folder / word).exists()

    @contextlib.contextmanager
    def seen(self):
        """Somebody outside can count the calls that wait."""
        mark = self.folder / "running" / str(next(CALLS))
        mark.touch()
        try:
            yield
        finally:
            mark.unlink()

    def refuse(self):
        if self.says("refusing"):
            raise ConnectionRefusedError

    def find(self, node_id):
        rows = json.loads((self.folder / "rows.json").read_text())
        rows = [row for row in rows if row["node_id"] == node_id]
        if len(rows) > 1:
            raise credgate.Corrupt
        if not rows:
            return None
        (row,) = rows
        password = row["password"]
        if password is not None:
            password = bytes(password).decode("utf-8", "surrogateescape")
        return credgate.Credential(password, node_id=row["node_id"], enabled=row["enabled"])


class Plain(Store):
    def lookup(self, node_id):
        self.refuse()
        if self.says("silent") or self.says("busy"):
            with self.seen():
                while self.says("silent") or self.says("busy"):
                    time.sleep(0.005)
        return self.find(node_id)

    def check(self):
        self.refuse()
        while self.says("silent"):
            time.sleep(0.005)

    def close(self):
        pass


class Async(Store):
    async def lookup(self, node_id):
        self.refuse()
        if self.says("silent") or self.says("busy"):
            with self.seen():
                while self.says("silent") or self.says("busy"):
                    await asyncio.sleep(0.005)
        return self.find(node_id)

    async def check(self):
        self.refuse()
        while self.says("silent"):
            await asyncio.sleep(0.005)

    async def close(self):
        pass


def create(config):
    os.makedirs(os.path.join(config["folder"], "running"), exist_ok=True)
    return (Async if config["async"] else Plain)(config)
