"""A mail server of aiosmtpd for the tests of Shared/SMTP, which prints the decoded mails.

    python scripts/smtp-server.py starttls|implicit|clear FOLDER

FOLDER has certificate.pem and key.pem. Prints its port, then a line of JSON for each mail. Exits at the end of its
input. The only login is ana with the password "open sesame". With TLS, a mail requires the login.
"""

import asyncio
import email
import email.policy
import json
import logging
import ssl
import sys
import warnings

from aiosmtpd.smtp import SMTP, AuthResult, LoginPassword

# Hides warnings about deprecated functions of aiosmtpd and about AUTH in implicit TLS.
warnings.simplefilter("ignore")
logging.getLogger("mail.log").setLevel(logging.ERROR)


def read(text):
    """Returns the text of a header. Python keeps bytes beyond ASCII as surrogates."""
    return str(text).encode("utf-8", "surrogateescape").decode("utf-8")


class Reader:
    async def handle_RCPT(self, server, session, envelope, address, options):
        if address.startswith("nobody@"):
            return "550 5.1.1 no mailbox has this name"
        if address.startswith("later@"):
            return "451 4.7.1 try again later"
        envelope.rcpt_tos.append(address)
        return "250 OK"

    async def handle_DATA(self, server, session, envelope):
        message = email.message_from_bytes(envelope.content, policy=email.policy.SMTPUTF8)
        html = message.get_body(("html",))
        print(
            json.dumps(
                {
                    "sender": envelope.mail_from,
                    "receivers": envelope.rcpt_tos,
                    "isEncrypted": server.transport.get_extra_info("sslcontext") is not None,
                    "isSignedIn": bool(session.authenticated),
                    "subject": read(message["Subject"]),
                    "from": read(message["From"].addresses[0].display_name),
                    "to": read(message["To"].addresses[0].addr_spec),
                    "messageID": message["Message-ID"],
                    "date": message["Date"].datetime.isoformat(),
                    "headers": sorted(message.keys()),
                    "text": message.get_body(("plain",)).get_content(),
                    "html": html.get_content() if html else None,
                    "defects": [repr(defect) for part in message.walk() for defect in part.defects],
                    "longest": max(len(line) for line in envelope.content.split(b"\r\n")),
                    "isASCII": envelope.content.isascii(),
                }
            ),
            flush=True,
        )
        return "250 accepted"


def authenticate(server, session, envelope, mechanism, data):
    isRight = isinstance(data, LoginPassword) and (data.login, data.password) == (b"ana", b"open sesame")
    # `handled=False` lets the server send the error reply.
    return AuthResult(success=isRight, handled=False)


async def serve(mode, folder):
    context = ssl.create_default_context(ssl.Purpose.CLIENT_AUTH)
    context.load_cert_chain(f"{folder}/certificate.pem", f"{folder}/key.pem")
    options = {"enable_SMTPUTF8": True, "authenticator": authenticate}
    if mode == "starttls":
        options |= {"tls_context": context, "require_starttls": True, "auth_required": True}
    elif mode == "implicit":
        options |= {"auth_required": True, "auth_require_tls": False}
    loop = asyncio.get_running_loop()
    server = await loop.create_server(
        lambda: SMTP(Reader(), loop=loop, **options), "127.0.0.1", 0, ssl=context if mode == "implicit" else None
    )
    print(server.sockets[0].getsockname()[1], flush=True)
    await loop.run_in_executor(None, sys.stdin.read)


asyncio.run(serve(sys.argv[1], sys.argv[2]))
