"""Verifies the output of Shared/PushProviders with third-party libraries.

Reads a JSON object from standard input and prints one:

  {"token", "key" (PEM, public), "algorithm", "audience"?}  ->  {"header", "claims"} of a token with a valid signature
  {"body", "privateKey", "auth"} (base64url)                ->  {"text"} of a Web Push body for that browser

Exits with 1 and a line on standard error when the input is invalid.
"""

import base64
import json
import sys

import http_ece
import jwt
from cryptography.hazmat.primitives.asymmetric import ec


def decoded(text):
    return base64.urlsafe_b64decode(text + "=" * (-len(text) % 4))


def verify_token(question):
    claims = jwt.decode(
        question["token"],
        question["key"],
        algorithms=[question["algorithm"]],
        audience=question.get("audience"),
        # The tests have their own clocks.
        options={"verify_exp": False, "verify_iat": False, "verify_aud": "audience" in question},
    )
    return {"header": jwt.get_unverified_header(question["token"]), "claims": claims}


def decrypt(question):
    number = int.from_bytes(decoded(question["privateKey"]), "big")
    text = http_ece.decrypt(
        decoded(question["body"]),
        private_key=ec.derive_private_key(number, ec.SECP256R1()),
        auth_secret=decoded(question["auth"]),
        version="aes128gcm",
    )
    return {"text": text.decode()}


question = json.load(sys.stdin)
json.dump(verify_token(question) if "token" in question else decrypt(question), sys.stdout)
