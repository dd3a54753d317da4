"""Verifies auth's access tokens with its key document, as third-party services do.

Reads a JSON object from the first argument and prints one:

  {"token", "keys" (the key document), "issuer", "audience"}  ->  {"pyjwt", "joserfc"}: claims, or null when rejected

Times are not checked, because the tests have their own clocks.
"""

import json
import sys

import joserfc.errors
import joserfc.jwk
import joserfc.jwt
import jwt


def by_pyjwt(question):
    try:
        key_id = jwt.get_unverified_header(question["token"])["kid"]
        keys = {key.key_id: key for key in jwt.PyJWKSet.from_dict(question["keys"]).keys}
        return jwt.decode(
            question["token"],
            keys[key_id],
            algorithms=["ES256"],
            issuer=question["issuer"],
            audience=question["audience"],
            options={"verify_exp": False, "verify_iat": False, "require": ["exp", "iat", "iss", "aud", "sub"]},
        )
    except (jwt.PyJWTError, KeyError):
        return None


def by_joserfc(question):
    try:
        keys = joserfc.jwk.KeySet.import_key_set(question["keys"])
        token = joserfc.jwt.decode(question["token"], keys, algorithms=["ES256"])
        expected = {name: {"essential": True} for name in ["exp", "iat", "sub"]}
        expected |= {
            "iss": {"essential": True, "value": question["issuer"]},
            "aud": {"essential": True, "value": question["audience"]},
        }
        for name, rule in expected.items():
            if name not in token.claims or rule.get("value", token.claims[name]) != token.claims[name]:
                return None
        return token.claims
    except (joserfc.errors.JoseError, ValueError):
        return None


question = json.loads(sys.argv[1])
json.dump({"pyjwt": by_pyjwt(question), "joserfc": by_joserfc(question)}, sys.stdout)
