"""The tokens with which services authenticate to each other, for benchmarks that call internal routes."""

import base64
import hashlib
import hmac
import json
import time

from cryptography.hazmat.primitives import serialization
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey


def service_token(secret, name, callee):
    """Returns a token like Shared/Credentials with a shared SERVICE_SECRET: EdDSA, with a seed from HKDF (RFC 5869)."""
    extracted = hmac.digest(bytes(32), secret.encode(), hashlib.sha256)
    seed = hmac.digest(extracted, f"roost service key {name}".encode() + b"\x01", hashlib.sha256)
    key = Ed25519PrivateKey.from_private_bytes(seed)
    public = key.public_key().public_bytes(serialization.Encoding.Raw, serialization.PublicFormat.Raw)
    now = int(time.time())
    header = _part({"alg": "EdDSA", "kid": _encoded(hashlib.sha256(public).digest()[:9]), "typ": "roost-service+jwt"})
    claims = _part({"iss": name, "aud": callee, "iat": now, "exp": now + 60})
    return f"{header}.{claims}.{_encoded(key.sign(f'{header}.{claims}'.encode()))}"


def _part(value):
    return _encoded(json.dumps(value, separators=(",", ":"), sort_keys=True).encode())


def _encoded(data):
    return base64.urlsafe_b64encode(data).rstrip(b"=").decode()
