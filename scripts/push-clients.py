"""Pushes to a sandbox with third-party clients, and checks the received notifications:

    python scripts/push-clients.py http://127.0.0.1:8090

APNs uses httpx and PyJWT, FCM google-auth, and Web Push pywebpush.
"""

import json
import ssl
import sys
import time
import uuid

import google.auth.transport.requests
import google.oauth2.service_account
import httpx
import jwt
import pywebpush
import requests


def apns(credentials):
    account = credentials["apns"]
    claims = {"iss": account["teamId"], "iat": int(time.time())}
    token = jwt.encode(claims, account["key"], algorithm="ES256", headers={"kid": account["keyId"]})
    trusted = ssl.create_default_context(cadata=credentials["authority"])
    message = str(uuid.uuid4())
    with httpx.Client(http2=True, verify=trusted) as client:
        for host in (account["url"], account["sandboxUrl"]):
            response = client.post(
                f"{host}/3/device/{'ab' * 32}",
                headers={
                    "authorization": f"bearer {token}",
                    "apns-topic": account["topic"],
                    "apns-push-type": "alert",
                    "apns-priority": "10",
                    "apns-expiration": "0",
                    "apns-id": message,
                },
                json={"aps": {"alert": {"title": "Live", "body": "ü and 🎹"}, "badge": 3, "sound": "chord.caf"}},
            )
            assert response.http_version == "HTTP/2", response.http_version
            assert (response.status_code, response.headers["apns-id"]) == (200, message), response.text


def fcm(credentials):
    account = google.oauth2.service_account.Credentials.from_service_account_info(
        credentials["fcm"]["serviceAccount"],
        scopes=["https://www.googleapis.com/auth/firebase.messaging"],
    )
    account.refresh(google.auth.transport.requests.Request())
    assert account.valid
    response = requests.post(
        f"{credentials['fcm']['url']}/v1/projects/{account.project_id}/messages:send",
        headers={"authorization": f"Bearer {account.token}"},
        json={"message": {"token": "a:b_c-1", "notification": {"title": "Live"}, "data": {"id": "1", "url": "/x"}}},
        timeout=10,
    )
    assert response.status_code == 200, response.text
    assert response.json()["name"].startswith(f"projects/{account.project_id}/messages/"), response.text


def web_push(url, credentials):
    vapid = credentials["vapid"]
    made = requests.post(f"{url}/sandbox/subscriptions", json={"applicationServerKey": vapid["publicKey"]}, timeout=10)
    assert made.status_code == 201, made.text
    response = pywebpush.webpush(
        made.json(),
        json.dumps({"id": "w-1", "title": "Live", "body": "ü and 🎹"}),
        vapid_private_key=vapid["privateKey"],
        vapid_claims={"sub": vapid["subject"]},
        ttl=60,
        headers={"urgency": "high", "topic": "broadcast"},
    )
    assert response.status_code == 201 and response.headers["location"], response.text


def main():
    url = sys.argv[1]
    credentials = requests.get(f"{url}/sandbox/credentials", timeout=10).json()
    apns(credentials)
    fcm(credentials)
    web_push(url, credentials)
    seen = requests.get(f"{url}/sandbox/notifications", timeout=10).json()["notifications"]
    services = [(each["service"], each.get("environment"), each["title"]) for each in seen]
    assert services == [
        ("apns", "production", "Live"),
        ("apns", "sandbox", "Live"),
        ("fcm", None, "Live"),
        ("webpush", None, "Live"),
    ], services
    assert seen[0]["body"] == seen[3]["body"] == "ü and 🎹"
    assert (seen[0]["badge"], seen[0]["sound"], seen[2]["url"]) == (3, "chord.caf", "/x")


main()
