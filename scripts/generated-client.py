"""Generates a Python client from the OpenAPI document of a running suite, imports all of it and uses it.

    $(scripts/python-clients generated) scripts/generated-client.py [BASE_URL]

Fails on a warning of the generator, an import error, or a call with an unexpected result.
"""

import importlib
import io
import os
import pkgutil
import secrets
import subprocess
import sys
import tempfile
import urllib.request
from pathlib import Path

GENERATOR = Path(sys.executable).parent / "openapi-python-client"
PHOTO = Path(__file__).resolve().parents[1] / "examples/photo.jpg"
PASSWORD = "correct horse battery staple"
PACKAGE = "roost_client"


def generate(url, folder):
    document = Path(folder) / "openapi.yaml"
    with urllib.request.urlopen(f"{url}/openapi.yaml", timeout=30) as response:
        document.write_bytes(response.read())
    command = [GENERATOR, "generate", "--path", document, "--output-path", Path(folder) / PACKAGE]
    command += ["--meta", "none", "--fail-on-warning"]
    # The generator formats its output with ruff, which is in the same folder.
    path = f"{Path(GENERATOR).parent}{os.pathsep}{os.environ['PATH']}"
    result = subprocess.run(
        [str(word) for word in command],
        capture_output=True,
        text=True,
        timeout=240,
        env={**os.environ, "PATH": path},
    )
    if result.returncode != 0 or "WARNING" in result.stdout + result.stderr:
        sys.exit(f"the generator warned or failed:\n{result.stdout}{result.stderr}")


def import_all():
    package = importlib.import_module(PACKAGE)
    names = [module.name for module in pkgutil.walk_packages(package.__path__, f"{PACKAGE}.")]
    for name in names:
        importlib.import_module(name)
    return len(names)


def successful(response):
    """Returns the parsed body of a detailed response."""
    if response.status_code >= 300:
        sys.exit(f"{response.status_code}: {response.content.decode(errors='replace')}")
    return response.parsed


def walk(url):
    from roost_client import AuthenticatedClient, Client, models, types
    from roost_client.api.accounts import register
    from roost_client.api.conversations import create_conversation
    from roost_client.api.messages import list_messages, send_message
    from roost_client.api.photos import create_post, get_post, like_post, upload_image
    from roost_client.api.sessions import login, refresh_session

    anonymous = Client(base_url=url)
    name = f"generated-{secrets.token_hex(6)}"
    registration = models.Registration(username=name, password=PASSWORD, full_name="A Generated Client")
    registered = successful(register.sync_detailed(client=anonymous, body=registration))
    signed_in = successful(login.sync_detailed(client=anonymous, body=models.Login(username=name, password=PASSWORD)))
    assert signed_in.user_id == registered.user_id, "login and registration name different users"
    refresh = models.RefreshRequest(refresh_token=signed_in.refresh_token)
    renewed = successful(refresh_session.sync_detailed(client=anonymous, body=refresh))
    assert renewed.jwt != signed_in.jwt, "the refresh returned the same jwt"
    client = AuthenticatedClient(base_url=url, token=renewed.jwt)

    draft = models.NewConversation(label="Sunday walk", type_=models.ConversationType.GROUP)
    conversation = successful(create_conversation.sync_detailed(client=client, body=draft))
    message = models.NewMessage(data="Shall we?", client_message_id=secrets.token_hex(8))
    sent = successful(send_message.sync_detailed(conversation.token, client=client, body=message))
    assert sent.data == "Shall we?", sent
    messages = successful(list_messages.sync_detailed(conversation.token, client=client)).messages
    assert sent.id in [message.id for message in messages], "the sent message is not in the list"

    photo = types.File(payload=io.BytesIO(PHOTO.read_bytes()), file_name=PHOTO.name, mime_type="image/jpeg")
    raw = successful(upload_image.sync_detailed(client=client, body=photo))
    photo.payload.seek(0)
    form = successful(upload_image.sync_detailed(client=client, body=models.ImageUploadForm(file=photo)))
    post = models.NewPost(text="On the way #walk", upload_ids=[raw.upload_id, form.upload_id])
    created = successful(create_post.sync_detailed(client=client, body=post))
    liked = successful(like_post.sync_detailed(created.post_id, client=client))
    assert liked.is_liked and liked.like_count == 1, liked
    shown = successful(get_post.sync_detailed(created.post_id, client=client))
    assert len(shown.images) == 2 and shown.like_count == 1, shown


def main():
    url = (sys.argv[1] if len(sys.argv) > 1 else "http://127.0.0.1:8080").rstrip("/")
    with tempfile.TemporaryDirectory() as folder:
        generate(url, folder)
        sys.path.insert(0, folder)
        count = import_all()
        walk(url)
    print(f"generated client: imported {count} modules, and all calls succeeded")


main()
