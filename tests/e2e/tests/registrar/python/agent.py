"""A Python registrar that answers a test's questions, one JSON object a line over TCP. argv: its setup"""

import asyncio
import json
import socketserver
import sys

import credgate_client as client

setup = json.loads(sys.argv[1])
settings = client.Settings(
    **setup["settings"],
    mode=client.Mode(setup["mode"]),
    ttl=setup["ttl"],
    timeout=setup["timeout"],
    verify_interval=setup["verify_interval"],
)


def said(answer):
    if isinstance(answer, client.Credential):
        return {"is": "cached" if answer.cached else "credential", "password": answer.password.expose()}
    if isinstance(answer, client.NotFound):
        return {"is": "not_found"}
    if isinstance(answer, client.Verdict):
        return {"is": answer.value}
    return {"is": "unavailable", "why": answer.reason or answer.code}


def question(registrar, request):
    """The call, which is a coroutine when the registrar is for asyncio."""
    if request["op"] == "verify":
        return registrar.verify(request["node"], lambda password: password == request["password"], request["timeout"])
    return getattr(registrar, request["op"])(request["node"], request["timeout"])


def with_threads():
    registrar = client.Registrar(settings)

    class Handler(socketserver.StreamRequestHandler):
        def handle(self):
            answer = question(registrar, json.loads(self.rfile.readline()))
            self.wfile.write(json.dumps(said(answer)).encode() + b"\n")

    class Server(socketserver.ThreadingTCPServer):
        daemon_threads = True
        request_queue_size = 256

    with Server(("127.0.0.1", 0), Handler) as server:
        print(f"listening 127.0.0.1:{server.server_address[1]}", flush=True)
        server.serve_forever()


async def with_asyncio():
    async with client.AsyncRegistrar(settings) as registrar:

        async def handle(reader, writer):
            answer = await question(registrar, json.loads(await reader.readline()))
            writer.write(json.dumps(said(answer)).encode() + b"\n")
            writer.close()

        server = await asyncio.start_server(handle, "127.0.0.1", 0, backlog=256)
        print(f"listening 127.0.0.1:{server.sockets[0].getsockname()[1]}", flush=True)
        await server.serve_forever()


if setup["asyncio"]:
    asyncio.run(with_asyncio())
else:
    with_threads()
