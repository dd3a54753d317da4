"""Tests the sandbox's mail server with Python's smtplib: accepted and rejected mails and commands.

python3 scripts/mail-client.py HOST PORT USER PASSWORD AUTHORITY.pem
"""

import email.message
import email.policy
import email.utils
import smtplib
import socket
import ssl
import sys

host, port, user, password, authority = sys.argv[1], int(sys.argv[2]), *sys.argv[3:6]
context = ssl.create_default_context(cafile=authority)


def connect(sign_in=True):
    client = smtplib.SMTP(host, port, timeout=20)
    client.starttls(context=context)
    if sign_in:
        client.login(user, password)
    return client


def mail(**changes):
    message = email.message.EmailMessage()
    headers = {
        "From": "Roost <a@example.org>",
        "To": "bo@example.net",
        "Subject": "Grüße 🐔",
        "Date": email.utils.formatdate(),
        "Message-ID": "<one@example.org>",
    }
    for name, value in (headers | changes).items():
        if value is not None:
            message[name] = value
    message.set_content("Grüße\n.\nhttp://127.0.0.1/x#token=1\n")
    return message.as_bytes(policy=email.policy.SMTP)


def refused(code, action):
    try:
        action()
    except smtplib.SMTPResponseException as error:
        assert error.smtp_code == code, (error.smtp_code, error.smtp_error)
    except smtplib.SMTPRecipientsRefused as error:
        assert [answer[0] for answer in error.recipients.values()] == [code], error.recipients
    else:
        raise AssertionError(f"accepted, but expected {code}")


def raw(data, expected):
    """Sends bytes that smtplib would not send, and expects a reply."""
    with socket.create_connection((host, port), timeout=20) as connection:
        connection.sendall(data)
        answer = b""
        while chunk := connection.recv(4096):
            answer += chunk
            if expected in answer:
                return
        raise AssertionError((data[:80], answer))


client = connect()
client.sendmail("a@example.org", ["bo@example.net"], mail())
client.sendmail("a@example.org", ["bo@example.net"], mail())
for changes in (
    {"From": "other@example.org"},
    {"To": "cy@example.net"},
    {"Subject": None},
    {"Date": None},
    {"Message-ID": None},
    {"Date": "yesterday"},
):
    refused(554, lambda changes=changes: client.sendmail("a@example.org", ["bo@example.net"], mail(**changes)))
refused(550, lambda: client.sendmail("a@example.org", ["nobody@example.net"], mail()))
assert client.docmd("DATA")[0] == 503
assert client.docmd("MAIL", "FROM:<a@example.org> SIZE=9999999")[0] == 552
assert client.docmd("MAIL", "FROM:a@example.org")[0] == 501
assert client.docmd("MAIL", "FROM:<a@example.org> X=1")[0] == 555
assert client.docmd("VRFY", "bo")[0] == 500
client.quit()

refused(535, lambda: connect(False).login(user, "wrong"))
refused(530, lambda: connect(False).sendmail("a@example.org", ["bo@example.net"], mail()))
plain = smtplib.SMTP(host, port, timeout=20)
assert plain.ehlo()[0] == 250 and plain.has_extn("starttls") and not plain.has_extn("auth")
assert plain.docmd("AUTH", "PLAIN AAAA")[0] == 530
plain.close()
raw(b"EHLO x\n", b"500")
raw(b"EHLO " + b"x" * 600 + b"\r\n", b"500")
raw(b"x" * 600, b"500")
raw(b"EHLO x\r\nSTARTTLS\r\nMAIL FROM:<a@b.c>\r\n", b"501")
raw(b"EHLO \r\n", b"501")
print("good")
