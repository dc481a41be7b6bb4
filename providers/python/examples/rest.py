"""Nodes from a REST service: GET {url}/nodes/{node_id} answers 200 with {"node_id", "password", "enabled"}, or 404.

    [provider.python]
    module = "rest.py"
    config = { url = "https://accounts.example.net/v1", timeout = 1.5 }
    secret_files = { token = "accounts.token" }

Needs nothing but the standard library. Every wait has an end: `timeout` bounds the connection and each read of it, and
no answer is read beyond `MOST` bytes.
"""

import http.client
import json
import threading
import urllib.parse

import credgate

MOST = 64 * 1024


class Rest:
    def __init__(self, url, token, timeout):
        self.url = urllib.parse.urlsplit(url)
        self.headers = {"Authorization": f"Bearer {token}", "Accept": "application/json"}
        self.timeout = timeout
        # One connection for each of the gateway's threads, kept open between lookups.
        self.local = threading.local()

    def connection(self):
        kind = {"https": http.client.HTTPSConnection, "http": http.client.HTTPConnection}[self.url.scheme]
        return kind(self.url.netloc, timeout=self.timeout)

    def get(self, path):
        kept = getattr(self.local, "connection", None)
        for connection in filter(None, (kept, self.connection())):
            try:
                connection.request("GET", self.url.path + path, headers=self.headers)
                answer = connection.getresponse()
                body = answer.read(MOST)
            except http.client.RemoteDisconnected:
                # The service closed a connection that was idle: not an outage yet.
                connection.close()
                if connection is kept:
                    continue
                raise
            except http.client.HTTPException as error:
                connection.close()
                raise credgate.Unavailable from error
            except OSError:
                connection.close()
                self.local.connection = None
                raise
            self.local.connection = connection
            return answer.status, body
        raise credgate.Unavailable

    def lookup(self, node_id):
        status, body = self.get("/nodes/" + urllib.parse.quote(node_id, safe=""))
        if status == 404:
            return None
        # 401, 429, 500 and whatever else say nothing about the node.
        if status != 200:
            raise credgate.Unavailable
        node = json.loads(body)
        return credgate.Credential(node["password"], node_id=node["node_id"], enabled=node["enabled"])

    def check(self):
        status, _ = self.get("/health")
        if status != 200:
            raise credgate.Unavailable


def create(config):
    return Rest(config["url"], config.secrets["token"], config.get("timeout", 1.5))
