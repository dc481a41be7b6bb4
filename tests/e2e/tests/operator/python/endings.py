"""Prints how each call of a JSON list ends. argv: calls.json, a list of {client, node, timeout, method}"""

import json
import sys

import grpc
import lookup

with open(sys.argv[1]) as file:
    calls = json.load(file)
for call in calls:
    gateway = lookup.Gateway(**call["client"])
    if method := call.get("method"):
        ask = gateway.channel.unary_unary(method, request_serializer=bytes, response_deserializer=bytes)
        try:
            ask(b"", timeout=call["timeout"])
            print("OK")
        except grpc.RpcError as error:
            print(" ".join(word for word in lookup.ending(error) if word))
        continue
    try:
        gateway.lookup(call["node"], call["timeout"])
        print("OK")
    except lookup.NodeNotFound:
        print("NodeNotFound")
    except lookup.LookupFailed as failed:
        print(f"{failed}{'' if failed.retry_after is None else ' with RetryInfo'}")
