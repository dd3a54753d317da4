"""An account server: knows who its people are, and vouches for them to Roost.

POST /login {"username", "password"} answers {"authToken"}, which the app takes to Roost's POST /1/auth/login.
"""

import datetime
import hmac
import json
import os
import urllib.request
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import jwt  # PyJWT, with cryptography

HEADERS = {"x-diuit-application-id": os.environ["APPLICATION_ID"], "x-diuit-app-key": os.environ["APPLICATION_KEY"]}
KEY = Path(os.environ["ENCRYPTION_KEY_FILE"]).read_text()
PASSWORDS = json.loads(os.environ["PASSWORDS"])  # yours are in a database, hashed


def auth_token(username):
    request = urllib.request.Request(os.environ["ROOST_URL"] + "/1/auth/nonce", headers=HEADERS)
    nonce = json.load(urllib.request.urlopen(request, timeout=10))["nonce"]
    now = datetime.datetime.now().astimezone()
    times = {"iat": now.isoformat(), "exp": (now + datetime.timedelta(days=7)).isoformat()}
    claims = {"iss": os.environ["APPLICATION_ID"], "sub": username, "nonce": nonce, **times}
    header = {"cty": "diuit-auth;v=1", "kid": os.environ["ENCRYPTION_KEY_ID"]}
    return jwt.encode(claims, KEY, algorithm="RS256", headers=header)


class Handler(BaseHTTPRequestHandler):
    def do_POST(self):
        asked = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        known = PASSWORDS.get(asked["username"], "")
        is_right = known and hmac.compare_digest(known.encode(), asked["password"].encode())
        self.send_response(200 if is_right else 401)
        self.end_headers()
        self.wfile.write(json.dumps({"authToken": auth_token(asked["username"])} if is_right else {}).encode())


ThreadingHTTPServer(("127.0.0.1", int(os.environ.get("PORT", "8000"))), Handler).serve_forever()
