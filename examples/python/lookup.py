#!/usr/bin/env python3
"""Asks a credgate gateway for one node's password, as a registrar does: mutual TLS, a token, a deadline, every ending.

    pip install grpcio grpcio-tools grpcio-status
    mkdir -p proto/credgate/v1 && credgate proto > proto/credgate/v1/credential.proto
    python -m grpc_tools.protoc -Iproto --python_out=. --grpc_python_out=. credgate/v1/credential.proto
    python lookup.py 2000 --addr 127.0.0.1:7443 --ca ca.pem --cert registrar.pem --key registrar.key \\
        --token-file registrar.token
"""

import argparse
import sys

import grpc
from google.rpc import error_details_pb2
from grpc_status import rpc_status

from credgate.v1 import credential_pb2, credential_pb2_grpc


class NodeNotFound(Exception):
    """The node is unknown or disabled: refuse its registration. Nothing else means that."""


class LookupFailed(Exception):
    """The store could not be asked, which says nothing about the node: use a cached password, or refuse for now."""

    def __init__(self, code, reason, retry_after):
        super().__init__(f"{code} {reason}".strip())
        self.code = code  # "UNAVAILABLE"
        self.reason = reason  # "BACKEND_TIMEOUT"; empty where the status says it all
        self.retry_after = retry_after  # seconds to wait before asking again (add some jitter), or None


class Gateway:
    """One connection for all lookups of a process; gRPC opens it again by itself. Threads may share it."""

    def __init__(self, addr, ca, cert, key, token_file, server_name=None):
        tls = grpc.ssl_channel_credentials(read(ca), read(key), read(cert))
        # With every call, and never without TLS.
        token = grpc.access_token_call_credentials(read(token_file).decode("ascii").rstrip("\r\n"))
        options = [("grpc.ssl_target_name_override", server_name)] if server_name else []
        self.channel = grpc.secure_channel(addr, grpc.composite_channel_credentials(tls, token), options)
        self.credentials = credential_pb2_grpc.CredentialServiceStub(self.channel)

    def lookup(self, node_id, timeout=2.0):
        """The node's password, exactly as it is stored. A node ID is text: "0200" and "200" are two nodes."""
        request = credential_pb2.LookupCredentialRequest(node_id=node_id)
        try:
            # A call without a timeout could wait for ever. The gateway learns it, and answers a little earlier.
            password = self.credentials.LookupCredential(request, timeout=timeout).password
        except grpc.RpcError as error:
            code, reason, retry_after = ending(error)
            if (code, reason) == ("NOT_FOUND", "NODE_NOT_FOUND"):
                raise NodeNotFound(node_id) from None
            raise LookupFailed(code, reason, retry_after) from None
        if not password:
            raise LookupFailed("INTERNAL", "EMPTY_ANSWER", None)
        return password

    def close(self):
        self.channel.close()


def ending(error):
    """Status code, reason and seconds to wait of a failed call."""
    reason, retry_after = "", None
    status = rpc_status.from_call(error)
    for detail in status.details if status else []:
        info, retry = error_details_pb2.ErrorInfo(), error_details_pb2.RetryInfo()
        if detail.Unpack(info) and info.domain == "credgate":
            reason = info.reason
        if detail.Unpack(retry):
            retry_after = retry.retry_delay.ToTimedelta().total_seconds()
    return error.code().name, reason, retry_after


def read(path):
    with open(path, "rb") as file:
        return file.read()


def main():
    parser = argparse.ArgumentParser(description="Look one node up through a credgate gateway.")
    parser.add_argument("node")
    for flag in ("--addr", "--ca", "--cert", "--key", "--token-file"):
        parser.add_argument(flag, required=True)
    parser.add_argument("--server-name", help="name in the gateway's certificate, when it is not the host of --addr")
    parser.add_argument("--timeout", type=float, default=2.0, help="seconds")
    args = parser.parse_args()

    gateway = Gateway(args.addr, args.ca, args.cert, args.key, args.token_file, args.server_name)
    try:
        password = gateway.lookup(args.node, args.timeout)
    except NodeNotFound:
        print("not found: refuse the registration (HTTP 401, IAX2 REGREJ)")
        return 2
    except LookupFailed as failed:
        if failed.code in ("UNAUTHENTICATED", "PERMISSION_DENIED"):
            print(f"{failed}: our own token, certificate or role is wrong; tell the operator")
            return 4
        if failed.code == "INVALID_ARGUMENT":
            print(f"{failed}: check the node ID before asking")
            return 1
        wait = "" if failed.retry_after is None else f" in {failed.retry_after} s or later"
        print(f"{failed}: not the node's fault; answer HTTP 503, ask again{wait}")
        return 3
    finally:
        gateway.close()
    print(f"found: a password of {len(password)} characters; compare the node's answer with it")
    return 0


if __name__ == "__main__":
    sys.exit(main())
