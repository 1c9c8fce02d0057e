"""Clients for OpenAI's API, unmodified, before a running server's /v1.

Usage: PIA_BASE_URL=... PIA_ACCESS_TOKEN=... PIA_SPENT_TOKEN=... python sdks.py CLIENT...
The budget of PIA_SPENT_TOKEN is used up. Each client answers a question whole
and streamed, and must show the server's own message of each failure. It
prints "ok CLIENT", or ends the process with what it found wrong.
"""

import os
import sys

BASE_URL = os.environ["PIA_BASE_URL"]
TOKEN = os.environ["PIA_ACCESS_TOKEN"]
SPENT_TOKEN = os.environ["PIA_SPENT_TOKEN"]
QUESTION = "good day"
ANSWER = "Demo answer to: good day"
NOT_SIGNED_IN = "The access token is missing, invalid or expired: sign in."
NO_SUCH_MODEL = "This model does not exist, or you may not use it."
SPENT = "Your credits are used up until"
UPSTREAM_FAILED = "The upstream AI provider could not answer the request."


def same(found, expected):
    assert found == expected, f"{found!r} is not {expected!r}"


def shows(message, call):
    """The error of a call that must fail, which shows this message."""
    try:
        call()
    except Exception as error:
        assert message in str(error), f"{message!r} is not in {error!r}"
        return error
    raise AssertionError(f"no error: {message}")


def openai():
    import openai

    def client(key=TOKEN):
        return openai.OpenAI(base_url=BASE_URL, api_key=key, max_retries=0, timeout=20)

    def ask(text, model="pia-cloud", key=TOKEN, **others):
        messages = [{"role": "user", "content": text}]
        return client(key).chat.completions.create(model=model, messages=messages, **others)

    same(ask(QUESTION).choices[0].message.content, ANSWER)
    chunks = ask(QUESTION, stream=True)
    same("".join(it.choices[0].delta.content or "" for it in chunks), ANSWER)
    error = shows(NOT_SIGNED_IN, lambda: ask(QUESTION, key="wrong"))
    same((type(error), error.code), (openai.AuthenticationError, "invalid_api_key"))
    error = shows(NO_SUCH_MODEL, lambda: ask(QUESTION, model="gpt-9"))
    same((type(error), error.code), (openai.NotFoundError, "model_not_found"))
    error = shows(SPENT, lambda: ask(QUESTION, key=SPENT_TOKEN))
    same((type(error), error.code), (openai.RateLimitError, "insufficient_quota"))
    shows(UPSTREAM_FAILED, lambda: list(ask("demo:error one two three", stream=True)))


def responses():
    import openai

    def ask(text, model="pia-cloud", key=TOKEN, **others):
        client = openai.OpenAI(base_url=BASE_URL, api_key=key, max_retries=0, timeout=20)
        return client.responses.create(model=model, input=text, **others)

    whole = ask(QUESTION, instructions="Answer.")
    same((whole.output_text, whole.status, whole.model), (ANSWER, "completed", "pia-cloud"))
    assert whole.usage.total_tokens == whole.usage.input_tokens + whole.usage.output_tokens > 0
    events = list(ask(QUESTION, stream=True))
    deltas = [it.delta for it in events if it.type == "response.output_text.delta"]
    same(("".join(deltas), len(deltas) > 1), (ANSWER, True))
    same(events[-1].type, "response.completed")
    same(events[-1].response.output_text, ANSWER)
    items = [{"role": "user", "content": [{"type": "input_text", "text": QUESTION}]}]
    same(ask(items).output_text, ANSWER)
    error = shows(NO_SUCH_MODEL, lambda: ask(QUESTION, model="gpt-9"))
    same((type(error), error.code), (openai.NotFoundError, "model_not_found"))
    shows(SPENT, lambda: ask(QUESTION, key=SPENT_TOKEN))
    shows("store responses", lambda: ask(QUESTION, previous_response_id="resp_1"))
    failed = list(ask("demo:error one two three", stream=True))[-1]
    same((failed.type, failed.response.error.message), ("response.failed", UPSTREAM_FAILED))


def langchain():
    from langchain_openai import ChatOpenAI

    def model(name="pia-cloud", key=TOKEN):
        return ChatOpenAI(base_url=BASE_URL, api_key=key, model=name, max_retries=0, timeout=20)

    same(model().invoke(QUESTION).content, ANSWER)
    same("".join(it.content for it in model().stream(QUESTION)), ANSWER)
    shows(NOT_SIGNED_IN, lambda: model(key="wrong").invoke(QUESTION))
    shows(NO_SUCH_MODEL, lambda: model("gpt-9").invoke(QUESTION))
    shows(SPENT, lambda: model(key=SPENT_TOKEN).invoke(QUESTION))
    shows(UPSTREAM_FAILED, lambda: list(model().stream("demo:error one two three")))


def litellm():
    import litellm

    def ask(text, model="pia-cloud", key=TOKEN, **others):
        messages = [{"role": "user", "content": text}]
        return litellm.completion(
            model=f"openai/{model}", messages=messages, api_base=BASE_URL, api_key=key,
            max_retries=0, timeout=20, **others,
        )

    same(ask(QUESTION).choices[0].message.content, ANSWER)
    chunks = ask(QUESTION, stream=True)
    same("".join(it.choices[0].delta.content or "" for it in chunks), ANSWER)
    shows(NOT_SIGNED_IN, lambda: ask(QUESTION, key="wrong"))
    shows(NO_SUCH_MODEL, lambda: ask(QUESTION, model="gpt-9"))
    shows(SPENT, lambda: ask(QUESTION, key=SPENT_TOKEN))
    shows(UPSTREAM_FAILED, lambda: list(ask("demo:error one two three", stream=True)))


for name in sys.argv[1:]:
    globals()[name]()
    print("ok", name)
