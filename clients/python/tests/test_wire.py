"""The hand-written messages against those that Google's compiler makes of the protocol."""

import ast
import pathlib
import random
import unittest

import grpc
from credgate.v1 import credential_pb2
from google.protobuf import any_pb2, duration_pb2
from google.rpc import error_details_pb2, status_pb2
from grpc_health.v1 import health_pb2

import credgate_client
from credgate_client import NotFound, Password, Unavailable, wire

TEXTS = ["", "2000", "0200", "x" * 64, "x" * 127, "x" * 128, "x" * 255, "x" * 20_000, "ä€𝄞", "\x00\x7f"]


class Error:
    def __init__(self, code, details=None):
        self.code = lambda: code
        self.trailing_metadata = lambda: [] if details is None else [("a", b""), ("grpc-status-details-bin", details)]


def status(*details, code=14):
    packed = []
    for detail in details:
        packed.append(any_pb2.Any())
        packed[-1].Pack(detail)
    return status_pb2.Status(code=code, message="text", details=packed).SerializeToString()


def info(reason, domain="credgate"):
    return error_details_pb2.ErrorInfo(reason=reason, domain=domain, metadata={"a": "b"})


class Messages(unittest.TestCase):
    def test_requests(self):
        for text in TEXTS:
            message = credential_pb2.LookupCredentialRequest(node_id=text)
            self.assertEqual(wire.lookup_request(text), message.SerializeToString())
            self.assertEqual(wire.watch_request(text), health_pb2.HealthCheckRequest(service=text).SerializeToString())

    def test_responses(self):
        for text in TEXTS[1:]:
            answer = wire.lookup_response(credential_pb2.LookupCredentialResponse(password=text).SerializeToString())
            self.assertEqual(answer.expose(), text)
        self.assertEqual(wire.lookup_response(b""), Unavailable("INTERNAL", "EMPTY_ANSWER"))
        for value in health_pb2.HealthCheckResponse.ServingStatus.values():
            answer = wire.watch_response(health_pb2.HealthCheckResponse(status=value).SerializeToString())
            self.assertEqual(answer, value == health_pb2.HealthCheckResponse.SERVING)

    def test_fields_of_later_versions_are_passed_over(self):
        known = credential_pb2.LookupCredentialResponse(password="right").SerializeToString()
        for unknown in (b"\x10\x96\x01", b"\x19" + bytes(8), b"\x25" + bytes(4), b"\x2a\x03abc"):
            self.assertEqual(wire.lookup_response(unknown + known + unknown).expose(), "right")

    def test_what_does_not_parse_is_an_answer_too(self):
        chance = random.Random(1)
        for _ in range(20_000):
            noise = bytes(chance.randrange(256) for _ in range(chance.randrange(12)))
            answer = wire.lookup_response(noise)
            self.assertIsInstance(answer, (Password, Unavailable))
            wire.ending(Error(grpc.StatusCode.UNAVAILABLE, noise))
        for broken in (b"\x0a", b"\x0a\x05ab", b"\xff" * 11, b"\x0a\x01\xff", b"\x0b"):
            self.assertEqual(wire.lookup_response(broken), Unavailable("INTERNAL", "BAD_ANSWER"))


class Statuses(unittest.TestCase):
    def test_only_the_gateways_own_word_is_not_found(self):
        code = grpc.StatusCode.NOT_FOUND
        self.assertEqual(wire.ending(Error(code, status(info("NODE_NOT_FOUND")))), NotFound())
        for details in (None, b"\xff", status(), status(info("NODE_NOT_FOUND", "other")), status(info("OTHER"))):
            self.assertIsInstance(wire.ending(Error(code, details)), Unavailable)

    def test_reasons_and_waits(self):
        retry = error_details_pb2.RetryInfo(retry_delay=duration_pb2.Duration(seconds=1, nanos=500_000_000))
        back = error_details_pb2.RetryInfo(retry_delay=duration_pb2.Duration(seconds=-1, nanos=-5))
        for code, details, wanted in (
            ("UNAVAILABLE", status(info("DRAINING")), ("UNAVAILABLE", "DRAINING", None)),
            ("RESOURCE_EXHAUSTED", status(info("RATE_LIMITED"), retry), ("RESOURCE_EXHAUSTED", "RATE_LIMITED", 1.5)),
            ("RESOURCE_EXHAUSTED", status(retry), ("RESOURCE_EXHAUSTED", "", 1.5)),
            ("RESOURCE_EXHAUSTED", status(back), ("RESOURCE_EXHAUSTED", "", 0.0)),
            ("UNAVAILABLE", None, ("UNAVAILABLE", "NO_CONNECTION", None)),
            ("UNAVAILABLE", status(info("forged\nline")), ("UNAVAILABLE", "NO_CONNECTION", None)),
            ("CANCELLED", None, ("CANCELLED", "NO_CONNECTION", None)),
            ("DEADLINE_EXCEEDED", None, ("DEADLINE_EXCEEDED", "NO_ANSWER", None)),
            ("UNAUTHENTICATED", None, ("UNAUTHENTICATED", "", None)),
        ):
            self.assertEqual(wire.ending(Error(grpc.StatusCode[code], details)), Unavailable(*wanted))

    def test_lost_health(self):
        for code, serving in (("UNAVAILABLE", False), ("RESOURCE_EXHAUSTED", None), ("UNAUTHENTICATED", False)):
            self.assertEqual(wire.health_lost(Error(grpc.StatusCode[code]))[0], serving)

    def test_the_methods(self):
        service = credential_pb2.DESCRIPTOR.services_by_name["CredentialService"]
        self.assertEqual(wire.LOOKUP, f"/{service.full_name}/{service.methods[0].name}")
        self.assertEqual([field.number for field in credential_pb2.LookupCredentialRequest.DESCRIPTOR.fields], [1])
        self.assertEqual([field.number for field in credential_pb2.LookupCredentialResponse.DESCRIPTOR.fields], [1])


class Sources(unittest.TestCase):
    def test_python_3_9_can_read_them(self):
        files = list(pathlib.Path(credgate_client.__file__).parent.glob("*.py"))
        self.assertGreater(len(files), 5)
        for file in files:
            ast.parse(file.read_text(), feature_version=(3, 9))


if __name__ == "__main__":
    unittest.main()
