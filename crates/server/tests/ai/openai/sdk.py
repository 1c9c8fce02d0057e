"""The official OpenAI client, unmodified, before a running server.

Usage: PIA_BASE_URL=... PIA_ACCESS_TOKEN=... python sdk.py CASE...
Each case prints "ok NAME", or ends the process with what it found wrong.
"""

import asyncio
import os
import sys

import openai

BASE_URL = os.environ["PIA_BASE_URL"]
TOKEN = os.environ["PIA_ACCESS_TOKEN"]

WEATHER = {
    "type": "function",
    "function": {
        "name": "weather",
        "description": "Tells the weather of a city.",
        "parameters": {
            "type": "object",
            "properties": {"city": {"type": "string"}},
            "required": ["city"],
        },
    },
}

client = openai.OpenAI(base_url=BASE_URL, api_key=TOKEN, max_retries=0, timeout=20)


def ask(text, **others):
    messages = [{"role": "user", "content": text}]
    # The server has a model of its own and does not read this one.
    return client.chat.completions.create(model="any", messages=messages, **others)


def same(found, expected):
    assert found == expected, f"{found!r} is not {expected!r}"


def refused(kind, call):
    """The error of a call that must fail, and its body."""
    try:
        call()
    except openai.APIStatusError as error:
        same(type(error), kind)
        body = error.response.json()
        assert body["message"], body
        return error, body
    raise AssertionError(f"no {kind.__name__}")


def chat():
    answer = ask("good day", temperature=0.5, max_tokens=20)
    same(answer.object, "chat.completion")
    same(answer.model, "test-model")
    same(answer.choices[0].message.content, "Demo answer to: good day")
    same(answer.choices[0].finish_reason, "stop")
    usage = answer.usage
    same((usage.prompt_tokens, usage.completion_tokens, usage.total_tokens), (2, 5, 7))


def stream():
    chunks = list(ask("good day", stream=True, stream_options={"include_usage": True}))
    text = "".join(it.choices[0].delta.content or "" for it in chunks if it.choices)
    same(text, "Demo answer to: good day")
    same([it.choices[0].finish_reason for it in chunks[:-1] if it.choices[0].finish_reason], ["stop"])
    same(chunks[-1].choices, [])
    same([it.usage.total_tokens for it in chunks if it.usage], [7])

    chunks = list(ask("good day", stream=True))
    same([it for it in chunks if it.usage or not it.choices], [])


def image():
    picture = {"type": "image_url", "image_url": {"url": "data:image/jpeg;base64," + "A" * 3_000_000}}
    parts = [{"type": "text", "text": "what is this?"}, picture]
    answer = ask(parts)
    same(answer.choices[0].message.content, "Demo answer to: what is this? (with 1 image)")


def tools():
    question = {"role": "user", "content": "use the tool weather Bern"}
    answer = ask(question["content"], tools=[WEATHER], tool_choice="auto")
    same(answer.choices[0].finish_reason, "tool_calls")
    message = answer.choices[0].message
    call = message.tool_calls[0]
    same((call.function.name, call.function.arguments), ("weather", '{"city":"Bern"}'))

    result = {"role": "tool", "tool_call_id": call.id, "content": "rain"}
    answer = client.chat.completions.create(
        model="any", messages=[question, message, result], tools=[WEATHER]
    )
    same(answer.choices[0].message.content, "The tool said: rain")


def streamed_tools():
    messages = [{"role": "user", "content": "use the tool weather Bern"}]
    with client.chat.completions.stream(model="any", messages=messages, tools=[WEATHER]) as events:
        answer = events.get_final_completion()
    same(answer.choices[0].finish_reason, "tool_calls")
    call = answer.choices[0].message.tool_calls[0]
    same((call.function.name, call.function.arguments), ("weather", '{"city":"Bern"}'))


def lists_models():
    same([it.id for it in client.models.list()], ["pia-cloud"])


def leaves_a_stream():
    chunks = ask("demo:slow=50 demo:chunks=1000 Hello", stream=True)
    next(chunks)
    chunks.close()


def asynchronous():
    async def both():
        async with openai.AsyncOpenAI(base_url=BASE_URL, api_key=TOKEN, max_retries=0) as other:
            ask = other.chat.completions.create
            messages = [{"role": "user", "content": "good day"}]
            whole, chunks = await asyncio.gather(
                ask(model="any", messages=messages),
                ask(model="any", messages=messages, stream=True),
            )
            texts = [it.choices[0].delta.content or "" async for it in chunks]
            same("".join(texts), whole.choices[0].message.content)

    asyncio.run(both())


def bad_request():
    messages = [{"role": "nobody", "content": "x"}]
    call = lambda: client.chat.completions.create(model="any", messages=messages)
    _, body = refused(openai.BadRequestError, call)
    same((body["error"], body["errors"][0]["field"]), ("validation_failed", "messages[0].role"))

    _, body = refused(openai.BadRequestError, lambda: ask("demo:no-tools", tools=[WEATHER]))
    same(body["error"], "tools_not_supported")


def not_signed_in():
    stranger = client.with_options(api_key="anonymous")
    messages = [{"role": "user", "content": "x"}]
    call = lambda: stranger.chat.completions.create(model="any", messages=messages)
    _, body = refused(openai.AuthenticationError, call)
    same(body["error"], "unauthorized")


def has_an_api_key():
    assert TOKEN.startswith("pia_"), "a token of a session"


def upstream_failed():
    for stream in (False, True):
        error, body = refused(openai.InternalServerError, lambda: ask("demo:status=500", stream=stream))
        same((error.status_code, body["error"]), (502, "upstream_failed"))
        assert error.request_id, error.response.headers


def no_such_path():
    _, body = refused(openai.NotFoundError, client.files.list)
    same(body["error"], "not_found")


def broken_stream():
    chunks = ask("demo:error one two three", stream=True)
    try:
        for _ in chunks:
            pass
    except openai.APIStatusError as error:
        raise AssertionError("the stream had begun") from error
    except openai.APIError as error:
        same(error.body, "Bad Gateway")
        return
    raise AssertionError("the stream ended well")


def rate_limited():
    ask("good day")
    error, body = refused(openai.RateLimitError, lambda: ask("good day"))
    same(body["error"], "rate_limited")
    assert int(error.response.headers["retry-after"]) > 0, error.response.headers


for name in sys.argv[1:]:
    globals()[name]()
    print("ok", name)
