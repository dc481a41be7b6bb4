"""Nodes from a JSON file: {"2000": {"password": "...", "enabled": true}, ...}, read again when it changes.

    [provider.python]
    module = "json_file.py"
    config = { file = "/etc/credgate/nodes.json" }
"""

import json
import logging
import os
import threading

import credgate

log = logging.getLogger("credgate.plugin")


class JsonFile:
    def __init__(self, file):
        self.file = file
        self.lock = threading.Lock()
        self.stamp = None
        self.nodes = {}
        self.read()

    def read(self):
        """The file's nodes. A file that is gone raises OSError: an outage, never an unknown node."""
        status = os.stat(self.file)
        stamp = (status.st_mtime_ns, status.st_ino, status.st_size)
        with self.lock:
            if stamp != self.stamp:
                with open(self.file, encoding="utf-8") as file:
                    self.nodes = json.load(file)
                self.stamp = stamp
                log.info("%d nodes read", len(self.nodes))
            return self.nodes

    def lookup(self, node_id):
        node = self.read().get(node_id)
        if node is None:
            return None
        return credgate.Credential(node["password"], enabled=node.get("enabled", True))

    def check(self):
        self.read()


def create(config):
    return JsonFile(config["file"])
