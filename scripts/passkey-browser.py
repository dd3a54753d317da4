"""Adds a passkey with a real browser, signs in with it, and sets a new password with the link in a mail.

    $(scripts/python-clients browser) scripts/passkey-browser.py http://localhost:8080 http://127.0.0.1:8090 [FOLDER]

The first URL is the gateway, with the host name of the passkeys. The second is the sandbox, which receives auth's
mails. The browser is Debian's package chromium with its virtual authenticator. Screenshots are written to FOLDER.
"""

import base64
import contextlib
import json
import pathlib
import shutil
import subprocess
import sys
import tempfile
import time
import urllib.request
import uuid

import websocket

gateway, sandbox = sys.argv[1].rstrip("/"), sys.argv[2].rstrip("/")
shots = pathlib.Path(sys.argv[3]) if len(sys.argv) > 3 else None

# The script of an application's page, which sends all requests to its own origin.
LIBRARY = """
const call = async (path, body, token) => {
  const headers = {"Content-Type": "application/json"};
  if (token) headers.Authorization = "Bearer " + token;
  const answer = await fetch(path, {method: "POST", headers, body: JSON.stringify(body)});
  const json = await answer.json();
  if (!answer.ok) throw new Error(path + ": " + answer.status + " " + json.code + ": " + json.detail);
  return json;
};
"""
ADD = """
const {jwt} = await call("/auth/login", {username, password});
const options = await call("/auth/passkeys/options", {}, jwt);
const publicKey = PublicKeyCredential.parseCreationOptionsFromJSON(options);
const made = await navigator.credentials.create({publicKey});
return call("/auth/passkeys", {...made.toJSON(), name: "Chromium"}, jwt);
"""
SIGN_IN = """
const options = await call("/auth/login/passkey/options", {});
const publicKey = PublicKeyCredential.parseRequestOptionsFromJSON(options);
const seen = await navigator.credentials.get({publicKey});
return call("/auth/login/passkey", {...seen.toJSON(), deviceId: "chromium"});
"""


class Browser:
    """A page of Chromium, controlled by the DevTools protocol."""

    def __init__(self, folder):
        program = shutil.which("chromium") or sys.exit("Install Debian's chromium")
        self.process = subprocess.Popen(
            [
                program,
                "--headless=new",
                "--no-sandbox",
                "--disable-gpu",
                "--remote-debugging-port=0",
                f"--user-data-dir={folder}",
                "--window-size=1000,760",
                "about:blank",
            ],
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
        )
        port = wait(lambda: (pathlib.Path(folder) / "DevToolsActivePort").read_text().split()[0])

        def page():
            pages = json.load(urllib.request.urlopen(f"http://127.0.0.1:{port}/json/list"))
            return next((page["webSocketDebuggerUrl"] for page in pages if page["type"] == "page"), None)

        # Chromium opens the port shortly before it has a page.
        address = wait(page)
        self.socket = websocket.create_connection(address, suppress_origin=True, timeout=60)
        self.number = 0

    def command(self, method, **parameters):
        self.number += 1
        self.socket.send(json.dumps({"id": self.number, "method": method, "params": parameters}))
        while True:
            answer = json.loads(self.socket.recv())
            if answer.get("id") == self.number:
                if "error" in answer:
                    raise RuntimeError(f"{method}: {answer['error']}")
                return answer["result"]

    def run(self, script):
        """Runs the body of an async function, and returns its result."""
        result = self.command(
            "Runtime.evaluate",
            expression=f"(async () => {{{script}}})()",
            awaitPromise=True,
            returnByValue=True,
            userGesture=True,
        )
        if "exceptionDetails" in result:
            raise RuntimeError(result["exceptionDetails"]["exception"].get("description"))
        return result["result"].get("value")

    def open(self, url):
        self.command("Page.navigate", url=url)
        wait(lambda: self.run("return document.readyState === 'complete' && location.href !== 'about:blank'") or None)

    def shoot(self, name):
        if shots:
            picture = self.command("Page.captureScreenshot", format="png")["data"]
            (shots / f"{name}.png").write_bytes(base64.b64decode(picture))

    def close(self):
        self.socket.close()
        self.process.terminate()
        self.process.wait(20)


def wait(poll, seconds=60):
    end = time.monotonic() + seconds
    while True:
        with contextlib.suppress(OSError, IndexError, RuntimeError):
            if (found := poll()) is not None:
                return found
        if time.monotonic() > end:
            raise TimeoutError
        time.sleep(0.1)


def post(path, body):
    request = urllib.request.Request(gateway + path, json.dumps(body).encode(), {"Content-Type": "application/json"})
    return json.load(urllib.request.urlopen(request))


def link(address, number):
    """Returns the link in an address's mail, by the mail's number."""

    def poll():
        mails = json.load(urllib.request.urlopen(f"{sandbox}/sandbox/mails?to={address}"))["mails"]
        return mails[number - 1]["text"] if len(mails) >= number else None

    return next(word for word in wait(poll).split() if word.startswith("http"))


name = f"ada-{uuid.uuid4().hex[:8]}"
address, password, new = f"{name}@example.org", "correct horse battery staple", "a new horse for a new day"
user = post("/auth/register", {"username": name, "password": password, "email": address})["userId"]
setup = f"const username = {json.dumps(name)}, password = {json.dumps(password)};"

with tempfile.TemporaryDirectory(ignore_cleanup_errors=True) as folder:
    browser = Browser(folder)
    try:
        browser.command("Page.enable")
        browser.command("WebAuthn.enable")
        browser.command(
            "WebAuthn.addVirtualAuthenticator",
            options={
                "protocol": "ctap2",
                "transport": "internal",
                "hasResidentKey": True,
                "hasUserVerification": True,
                "isUserVerified": True,
                "automaticPresenceSimulation": True,
            },
        )

        # Any page of the gateway works, because only its origin matters.
        browser.open(f"{gateway}/auth/email/verify")
        passkey = browser.run(LIBRARY + setup + ADD)
        assert passkey["name"] == "Chromium", passkey
        assert browser.run(LIBRARY + SIGN_IN)["userId"] == user
        # The second sign-in has a higher counter of the authenticator.
        assert browser.run(LIBRARY + SIGN_IN)["userId"] == user

        browser.open(link(address, 1))
        browser.shoot("verify")
        assert browser.run("return location.hash") == "", "the token is still in the address bar"
        browser.run("document.querySelector('#verify button').click()")
        wait(lambda: browser.run("return document.querySelector('#done').textContent || null"))

        post("/auth/password/forgot", {"email": address})
        browser.open(link(address, 2))
        browser.run(f"document.querySelector('#password').value = {json.dumps(new)}")
        browser.shoot("reset")
        browser.run("document.querySelector('#reset button').click()")
        wait(lambda: browser.run("return document.querySelector('#done').textContent || null"))
        browser.shoot("done")
        assert post("/auth/login", {"username": address, "password": new})["userId"] == user
        browser.open(f"{sandbox}/mail")
        wait(lambda: browser.run("return document.querySelector('.mail') ? true : null"))
        browser.shoot("mailbox")
    finally:
        browser.close()
print("good")
