"""What services show each other: a token of a minute, made of the secret that all of them have."""

import base64
import hashlib
import hmac
import json
import time


def service_token(secret, name, callee):
    """As Shared/Credentials/ServiceTokens.swift makes them: HS256 by a key that HKDF (RFC 5869) derives."""
    extracted = hmac.digest(bytes(32), secret.encode(), hashlib.sha256)
    key = hmac.digest(extracted, b"roost service token" + b"\x01", hashlib.sha256)
    now = int(time.time())
    header = _part({"alg": "HS256", "typ": "roost-service+jwt"})
    claims = _part({"iss": name, "aud": callee, "iat": now, "exp": now + 60})
    signature = hmac.digest(key, f"{header}.{claims}".encode(), hashlib.sha256)
    return f"{header}.{claims}.{_encoded(signature)}"


def _part(value):
    return _encoded(json.dumps(value, separators=(",", ":"), sort_keys=True).encode())


def _encoded(data):
    return base64.urlsafe_b64encode(data).rstrip(b"=").decode()
