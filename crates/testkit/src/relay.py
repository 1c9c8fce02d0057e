"""A mail relay that writes each accepted email to standard output, one line of JSON each.

Its only argument configures its behaviour; it ends when its input does.
"""

import asyncio
import email
import email.policy
import json
import logging
import ssl
import sys
import warnings

warnings.simplefilter("ignore")
logging.disable(logging.CRITICAL)

from aiosmtpd.smtp import SMTP, AuthResult, LoginPassword  # noqa: E402

OPTIONS = json.loads(sys.argv[1])
COUNTS = {"defer": OPTIONS["defer"], "drop": OPTIONS["drop"], "connections": 0}


def emit(value):
    print(json.dumps(value), flush=True)


def spend(counter):
    remaining = COUNTS[counter]
    COUNTS[counter] = max(0, remaining - 1)
    return remaining > 0


def part(message, kind):
    body = message.get_body((kind,))
    return body.get_content() if body else ""


class Handler:
    async def handle_MAIL(self, server, session, envelope, address, options):
        if OPTIONS["refuse_sender"]:
            return "550 5.7.1 sender is not welcome"
        envelope.mail_from = address
        return "250 OK"

    async def handle_RCPT(self, server, session, envelope, address, options):
        if OPTIONS["refuse"]:
            return f"550 5.1.1 <{address}>: no such user, see https://relay.example/why"
        if spend("defer"):
            return f"451 4.7.1 <{address}>: try again later"
        envelope.rcpt_tos.append(address)
        return "250 OK"

    async def handle_DATA(self, server, session, envelope):
        if spend("drop"):
            server.transport.abort()
            return "421 gone"
        message = email.message_from_bytes(envelope.content, policy=email.policy.default)
        emit(
            {
                "from": envelope.mail_from,
                "to": envelope.rcpt_tos,
                "headers": [[name.lower(), str(value)] for name, value in message.items()],
                "text": part(message, "plain"),
                "html": part(message, "html"),
                "raw": envelope.content.decode("utf-8", "replace"),
                "encrypted": bool(session.ssl or server.transport.get_extra_info("ssl_object")),
                "user": session.auth_data if isinstance(session.auth_data, str) else None,
                "connection": session.pia_connection,
                "greeting": session.host_name,
            }
        )
        return "250 OK"

    async def handle_EHLO(self, server, session, envelope, hostname, responses):
        # Each EHLO starts a new session, including the one after STARTTLS.
        session.pia_connection = server.pia_connection
        session.host_name = hostname
        return responses


def authenticate(server, session, envelope, mechanism, data):
    user = OPTIONS["user"]
    if not isinstance(data, LoginPassword) or user is None:
        return AuthResult(success=False, handled=False)
    known = [data.login.decode(), data.password.decode()] == user
    return AuthResult(success=known, handled=False, auth_data=user[0])


def context():
    if OPTIONS["certificate"] is None:
        return None
    made = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    made.load_cert_chain(OPTIONS["certificate"], OPTIONS["key"])
    return made


def server():
    requires_user = OPTIONS["user"] is not None
    starttls = context() if OPTIONS["tls"] == "starttls" else None
    made = SMTP(
        Handler(),
        hostname="relay.example",
        enable_SMTPUTF8=False,
        tls_context=starttls,
        require_starttls=starttls is not None,
        authenticator=authenticate if requires_user else None,
        auth_required=requires_user,
        auth_require_tls=starttls is not None,
    )
    COUNTS["connections"] += 1
    made.pia_connection = COUNTS["connections"]
    return made


async def silent(reader, writer):
    await reader.read()


async def main():
    loop = asyncio.get_running_loop()
    port = OPTIONS["port"]
    if OPTIONS["silent"]:
        listening = await asyncio.start_server(silent, "127.0.0.1", port)
    else:
        wrapped = context() if OPTIONS["tls"] == "wrapped" else None
        listening = await loop.create_server(server, "127.0.0.1", port, ssl=wrapped)
    emit({"port": listening.sockets[0].getsockname()[1]})
    await loop.run_in_executor(None, sys.stdin.read)


asyncio.run(main())
