"""The client pysignalr, unmodified, before a running hub.

Usage: python client.py CASE... with SIGNALR_URL, SIGNALR_TOKEN and
SIGNALR_PROTOCOL. Each case prints "ok NAME", or ends the process with what it
found wrong.
"""

import asyncio
import contextlib
import os
import sys

from pysignalr.client import SignalRClient
from pysignalr.protocol.json import JSONProtocol
from pysignalr.protocol.messagepack import MessagepackProtocol

PROTOCOLS = {"json": JSONProtocol, "messagepack": MessagepackProtocol}


@contextlib.asynccontextmanager
async def connected():
    """Connects a client until the end of the block."""
    client = SignalRClient(
        f"{os.environ['SIGNALR_URL']}/hub",
        protocol=PROTOCOLS[os.environ["SIGNALR_PROTOCOL"]](),
        headers={"Authorization": f"Bearer {os.environ['SIGNALR_TOKEN']}"},
    )
    opened = asyncio.Event()

    async def on_open():
        opened.set()

    client.on_open(on_open)
    runs = asyncio.create_task(client.run())
    opens = asyncio.create_task(opened.wait())
    done, _ = await asyncio.wait([runs, opens], return_when=asyncio.FIRST_COMPLETED)
    assert opens in done, repr(runs.exception())
    yield client
    runs.cancel()


async def invoke(client, method, *arguments):
    """Returns the completion of an invocation."""
    completed = asyncio.get_running_loop().create_future()

    async def on_completion(message):
        completed.set_result(message)

    await client.send(method, list(arguments), on_completion)
    return await completed


async def invokes():
    async with connected() as client:
        value = {"text": "Grüße", "list": [1, -2.5, None, True, {}], "big": 2**40}
        assert (await invoke(client, "Echo", value)).result == value
        assert (await invoke(client, "Void")).result is None
        for number in range(100):
            assert (await invoke(client, "Echo", number)).result == number


async def sends():
    async with connected() as client:
        noted = asyncio.get_running_loop().create_future()

        async def on_noted(arguments):
            noted.set_result(arguments)

        client.on("noted", on_noted)
        await client.send("Note", ["down"])
        assert await noted == ["down"]


async def errors():
    async with connected() as client:
        failed = asyncio.get_running_loop().create_future()

        async def on_error(message):
            if not failed.done():
                failed.set_result(message.error)

        client.on_error(on_error)
        await client.send("Fail", [], on_error)
        assert await failed == "it failed"


async def client_results():
    async with connected() as client:

        async def on_question(arguments):
            return arguments[0] * 2

        client.on("question", on_question)
        assert (await invoke(client, "Ask", 21)).result == 42


async def streams():
    async with connected() as client:
        items, ended = [], asyncio.Event()

        async def on_next(item):
            items.append(item)

        async def on_complete(_):
            ended.set()

        await client.stream("Count", [4], on_next, on_complete)
        await ended.wait()
        assert items == [0, 1, 2, 3], items


async def uploads():
    async with connected() as client:
        noted = asyncio.get_running_loop().create_future()

        async def on_noted(arguments):
            noted.set_result(arguments)

        client.on("noted", on_noted)
        async with client.client_stream("Sum") as stream:
            for number in (1, 2, 3):
                await stream.send(number)
        assert await noted == [6]


async def main():
    for name in sys.argv[1:]:
        await globals()[name]()
        print(f"ok {name}")


asyncio.run(main())
