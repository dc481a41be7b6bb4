"""Check and Watch with grpcio-health-checking; prints what comes until the stream ends. argv: client.json"""

import json
import sys

import grpc
import lookup
from grpc_health.v1 import health_pb2, health_pb2_grpc

with open(sys.argv[1]) as file:
    gateway = lookup.Gateway(**json.load(file))
health = health_pb2_grpc.HealthStub(gateway.channel)


def name(answer):
    return health_pb2.HealthCheckResponse.ServingStatus.Name(answer.status)


for service in ("", "startup", "liveness", "readiness", "credgate.v1.CredentialService", "nobody"):
    try:
        print("check", service, name(health.Check(health_pb2.HealthCheckRequest(service=service), timeout=30)))
    except grpc.RpcError as error:
        print("check", service, error.code().name)
for answer in health.Watch(health_pb2.HealthCheckRequest(service="readiness"), timeout=300):
    print("watch", name(answer), flush=True)
print("watch ended")
