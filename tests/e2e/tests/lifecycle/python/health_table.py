"""Every health name by Check and by Watch, as grpcio-health-checking sees them.

argv: address, CA, certificate, key, token file. Prints one line per name: NAME CHECK WATCH.
"""

import sys

import grpc
from grpc_health.v1 import health_pb2, health_pb2_grpc

address, ca, certificate, key, token = sys.argv[1:]


def read(path):
    with open(path, "rb") as file:
        return file.read()


credentials = grpc.ssl_channel_credentials(read(ca), read(key), read(certificate))
options = [("grpc.ssl_target_name_override", "localhost")]
metadata = [("authorization", "Bearer " + read(token).decode().strip())]


def word(call):
    try:
        return health_pb2.HealthCheckResponse.ServingStatus.Name(call().status)
    except grpc.RpcError as error:
        return error.code().name


with grpc.secure_channel(address, credentials, options) as channel:
    health = health_pb2_grpc.HealthStub(channel)
    for name in ("", "readiness", "credgate.v1.CredentialService", "startup", "liveness", "nobody"):
        request = health_pb2.HealthCheckRequest(service=name)
        check = word(lambda: health.Check(request, timeout=30, metadata=metadata))
        watch = word(lambda: next(health.Watch(request, timeout=30, metadata=metadata)))
        print(repr(name), check, watch)
