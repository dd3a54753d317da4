"""An authenticator of fido2's structures and cryptography's keys, for the tests of Shared/WebAuthn.

    python scripts/passkey-authenticator.py ALGORITHM FORMAT RP_ID ORIGIN CHALLENGE

ALGORITHM is a COSE number, FORMAT is none or packed, and CHALLENGE is base64url. Prints the results of a browser's
toJSON() for the new credential and for a sign-in with it.
"""

import hashlib
import json
import os
import sys

from cryptography.hazmat.primitives import hashes
from cryptography.hazmat.primitives.asymmetric import ec, ed25519, padding, rsa
from fido2.cose import ES256, RS256, EdDSA
from fido2.utils import websafe_decode, websafe_encode
from fido2.webauthn import Aaguid, AttestationObject, AttestedCredentialData, AuthenticatorData, CollectedClientData

algorithm, form, rp_id, origin, challenge = int(sys.argv[1]), *sys.argv[2:6]

if algorithm == ES256.ALGORITHM:
    key = ec.generate_private_key(ec.SECP256R1())
    public, sign = ES256, lambda data: key.sign(data, ec.ECDSA(hashes.SHA256()))
elif algorithm == EdDSA.ALGORITHM:
    key = ed25519.Ed25519PrivateKey.generate()
    public, sign = EdDSA, key.sign
else:
    key = rsa.generate_private_key(65537, 2048)
    public, sign = RS256, lambda data: key.sign(data, padding.PKCS1v15(), hashes.SHA256())

flags = AuthenticatorData.FLAG
seen = flags.UP | flags.UV | flags.BE
rp_hash = hashlib.sha256(rp_id.encode()).digest()
credential = AttestedCredentialData.create(
    Aaguid(os.urandom(16)), os.urandom(48), public.from_cryptography_key(key.public_key())
)


def client(ceremony):
    return CollectedClientData.create(type=ceremony, origin=origin, challenge=websafe_decode(challenge))


made = AuthenticatorData.create(rp_hash, seen | flags.AT | flags.ED, 1, credential, {"credProtect": 3})
created = client(CollectedClientData.TYPE.CREATE)
statement = {} if form == "none" else {"alg": algorithm, "sig": sign(made + created.hash)}
used = AuthenticatorData.create(rp_hash, seen, 2)
got = client(CollectedClientData.TYPE.GET)
name = websafe_encode(credential.credential_id)


def response_json(**response):
    response = {name: websafe_encode(bytes(value)) for name, value in response.items()}
    return {
        "id": name,
        "rawId": name,
        "type": "public-key",
        "response": response,
        "authenticatorAttachment": "platform",
        "clientExtensionResults": {},
    }


print(
    json.dumps(
        {
            "registration": response_json(
                clientDataJSON=created, attestationObject=AttestationObject.create(form, made, statement)
            ),
            "authentication": response_json(
                clientDataJSON=got, authenticatorData=used, signature=sign(used + got.hash), userHandle=b"ada"
            ),
        }
    )
)
