"""Tests a sandbox's social networks with third-party clients:

    python scripts/social-clients.py http://127.0.0.1:8090 mastodon

The clients are Mastodon.py, atproto for Bluesky, praw for Reddit, tweepy for Twitter and pytumblr for Tumblr. tweepy
needs the sandbox's TLS address as a third argument. Facebook, Instagram and Vine have no client with a configurable
address, so they use requests. Each test signs in as on the network, reads the home feed page by page, posts with an
image, replies, likes and deletes.
"""

import sys
import threading
import urllib.parse

import requests


def post_control(url, path, body):
    answer = requests.post(f"{url}/sandbox/{path}", json=body, timeout=10)
    assert answer.ok, answer.text
    return answer.json() if answer.content else None


def consent(url, who="ana"):
    """Approves a consent page, and returns the query fields of the redirect."""
    page = requests.get(url, timeout=10)
    assert page.status_code == 200 and "wants access to your account" in page.text, page.text
    answer = requests.get(f"{url}&as={who}", timeout=10, allow_redirects=False)
    assert answer.status_code == 302, answer.text
    return dict(urllib.parse.parse_qsl(urllib.parse.urlsplit(answer.headers["location"]).query))


def picture(url):
    return requests.get(f"{url}/sandbox/media/500001", timeout=10).content


def mastodon(url):
    import mastodon as library

    base = f"{url}/mastodon"
    back = "https://app.example/back"
    app, secret = library.Mastodon.create_app("Roost", redirect_uris=back, api_base_url=base)
    api = library.Mastodon(client_id=app, client_secret=secret, api_base_url=base)
    code = consent(api.auth_request_url(redirect_uris=back, state="s1"))
    assert code["state"] == "s1"
    api.log_in(code=code["code"], redirect_uri=back)
    me = api.account_verify_credentials()
    assert me.username == "ana", me

    first = api.timeline_home(limit=40)
    everything = api.fetch_remaining(first)
    ids = [status.id for status in everything]
    assert len(ids) == len(set(ids)) > 200, len(ids)
    assert ids == sorted(ids, reverse=True)
    assert any(status.reblog for status in everything) and any(status.media_attachments for status in everything)
    newer = api.timeline_home(min_id=ids[30], limit=5)
    assert [status.id for status in newer] == ids[25:30]

    received = []
    notified = threading.Event()

    class Listener(library.StreamListener):
        def on_update(self, status):
            received.append(("update", status.content))

        def on_notification(self, notification):
            received.append(("notification", notification.type))
            notified.set()

    stream = api.stream_user(Listener(), run_async=True, reconnect_async=False)
    medium = api.media_post(picture(url), mime_type="image/png", description="A picture")
    status = api.status_post("Hello @bo", media_ids=[medium], idempotency_key="k1")
    assert api.status_post("Hello @bo", media_ids=[medium], idempotency_key="k1").id == status.id
    assert status.media_attachments[0].description == "A picture"
    post_control(url, "networks/mastodon/posts", {"author": "bo", "text": "@ana hello", "inReplyTo": str(status.id)})
    assert notified.wait(10), received
    assert ("notification", "mention") in received and ("update", "<p>Hello @bo</p>") in received, received
    stream.close()
    mastodon_socket(url, api.access_token)

    assert api.status_favourite(ids[3]).favourited
    assert api.status_context(status.id).descendants[0].account.username == "bo"
    boost = api.status_reblog(ids[4])
    assert boost.reblog.id in (ids[4], everything[4].reblog.id if everything[4].reblog else None)
    threads = api.conversations()
    assert len(threads) == 4 and threads[0].last_status.visibility == "direct", threads
    sent_message = api.status_post(
        "@" + threads[0].accounts[0].acct + " yes", in_reply_to_id=threads[0].last_status.id, visibility="direct"
    )
    thread = api.status_context(sent_message.id).ancestors
    assert thread[-1].id == threads[0].last_status.id
    notices = api.notifications(limit=80)
    assert {notice.type for notice in notices} >= {"mention", "favourite"}, notices
    api.status_delete(status.id)
    try:
        api.status(status.id)
        raise AssertionError("a deleted status must not be found")
    except library.MastodonNotFoundError:
        pass
    try:
        api.status_post("x" * 501)
        raise AssertionError("a long text must be rejected")
    except library.MastodonAPIError:
        pass
    post_control(url, "script", {"service": "mastodon", "token": "ana", "status": 429, "times": 1, "retryAfter": 1})
    assert api.timeline_home(limit=1)[0].id, "the client waits for the reset"
    api.revoke_access_token()
    try:
        library.Mastodon(access_token=api.access_token or "gone", api_base_url=base).timeline_home()
        raise AssertionError("a revoked token must be rejected")
    except library.MastodonUnauthorizedError:
        pass


def mastodon_socket(url, token):
    """Tests streaming over a WebSocket, with a stream that is subscribed to later."""
    import json

    from websockets.sync.client import connect

    address = f"{url.replace('http', 'ws', 1)}/mastodon/api/v1/streaming?stream=user"
    with connect(address, additional_headers={"Authorization": f"Bearer {token}"}, proxy=None) as socket:
        socket.send(json.dumps({"type": "subscribe", "stream": "direct"}))
        socket.send(json.dumps({"type": "subscribe", "stream": "no such"}))
        assert json.loads(socket.recv(10))["status"] == 400
        socket.ping().wait(10)
        post = post_control(url, "networks/mastodon/posts", {"author": "fay", "text": "by socket"})
        frame = json.loads(socket.recv(10))
        assert (frame["stream"], frame["event"]) == (["user"], "update"), frame
        assert json.loads(frame["payload"])["id"] == post["id"]
        post_control(url, "networks/mastodon/messages", {"from": "eli", "to": "ana", "text": "psst"})
        frame = json.loads(socket.recv(10))
        assert (frame["stream"], frame["event"]) == (["direct"], "conversation"), frame
        requests.delete(f"{url}/sandbox/networks/mastodon/posts/{post['id']}", timeout=10)
        assert json.loads(socket.recv(10)) == {"stream": ["user"], "event": "delete", "payload": post["id"]}


def bluesky(url):
    from atproto import Client, models
    from atproto_client.exceptions import BadRequestError, UnauthorizedError

    client = Client(f"{url}/bluesky")
    try:
        Client(f"{url}/bluesky").login("ana.sandbox.test", "wrong")
        raise AssertionError("a wrong password must be rejected")
    except UnauthorizedError:
        pass
    me = client.login("ana.sandbox.test", "ana-app-pass-word")
    assert me.handle == "ana.sandbox.test", me
    seen, cursor = [], None
    while True:
        page = client.get_timeline(limit=100, cursor=cursor)
        seen += [(item.post.uri, item.reason.by.did if item.reason else None) for item in page.feed]
        cursor = page.cursor
        if cursor is None:
            break
    assert len(seen) == len(set(seen)) > 200, len(seen)

    sent = client.send_image("Hello from atproto", picture(url), "A picture")
    post = client.get_posts([sent.uri]).posts[0]
    assert post.embed.images[0].alt == "A picture" and post.record.text == "Hello from atproto"
    reference = models.create_strong_ref(sent)
    reply = client.send_post("And more", reply_to=models.AppBskyFeedPost.ReplyRef(parent=reference, root=reference))
    thread = client.get_post_thread(sent.uri).thread
    assert thread.replies[0].post.uri == reply.uri
    like = client.like(sent.uri, sent.cid)
    assert client.get_posts([sent.uri]).posts[0].viewer.like == like.uri
    assert client.unlike(like.uri)
    assert client.get_posts([sent.uri]).posts[0].like_count == 0
    assert client.repost(sent.uri, sent.cid).uri
    notices = client.app.bsky.notification.list_notifications()
    assert {notice.reason for notice in notices.notifications} >= {"like", "reply"}, notices

    chat = client.with_bsky_chat_proxy().chat.bsky.convo
    threads = chat.list_convos().convos
    assert len(threads) == 4, threads
    sent_message = chat.send_message(
        models.ChatBskyConvoSendMessage.Data(
            convo_id=threads[0].id, message=models.ChatBskyConvoDefs.MessageInput(text="Yes")
        )
    )
    newest = chat.get_messages(models.ChatBskyConvoGetMessages.Params(convo_id=threads[0].id, limit=3))
    assert newest.messages[0].id == sent_message.id and newest.cursor
    only = Client(f"{url}/bluesky")
    only.login("ana.sandbox.test", "ana-app-pass-only")
    try:
        only.with_bsky_chat_proxy().chat.bsky.convo.list_convos()
        raise AssertionError("this app password must not read messages")
    except BadRequestError:
        pass

    # After two hours the session is expired, and the client refreshes it.
    post_control(url, "clock", {"advance": 7_201})
    try:
        client.get_timeline(limit=1)
        raise AssertionError("an expired session must be rejected")
    except BadRequestError as error:
        assert error.response.content.error == "ExpiredToken", error
    client._refresh_and_set_session()
    assert client.get_timeline(limit=1).feed
    post_control(url, "clock", {"advance": -7_201})
    assert client.delete_post(sent.uri)
    try:
        client.send_post("x" * 301)
        raise AssertionError("a long text must be rejected")
    except BadRequestError:
        pass


def reddit(url):
    import praw
    import prawcore

    class Requestor(prawcore.Requestor):
        """praw appends its paths to the host, but this Reddit is below a path."""

        def request(self, method, url, *arguments, **more):
            below = url.removeprefix(url_root)
            return super().request(method, f"{url_root}/reddit{below.removeprefix('/reddit')}", *arguments, **more)

    url_root = url

    def client(**more):
        return praw.Reddit(
            client_id="roost-reddit",
            client_secret="roost-reddit-secret",
            user_agent="linux:roost-sandbox:1 (by /u/ana)",
            redirect_uri="https://app.example/back",
            reddit_url=f"{url}/reddit",
            oauth_url=f"{url}/reddit/",
            check_for_updates=False,
            requestor_class=Requestor,
            **more,
        )

    reader = client()
    scopes = ["identity", "read", "mysubreddits", "privatemessages", "submit", "vote"]
    code = consent(reader.auth.url(scopes=scopes, state="s1", duration="permanent"))
    assert code["state"] == "s1"
    refresh = reader.auth.authorize(code["code"])
    assert refresh
    api = client(refresh_token=refresh)
    assert api.user.me().name == "ana"
    posts = list(api.front.new(limit=None))
    assert len(posts) == len({post.id for post in posts}) > 200, len(posts)
    assert not any("&amp;" in post.title for post in posts) and any("&" in post.title for post in posts)
    people = [each.display_name for each in api.user.subreddits(limit=None) if each.display_name.startswith("u_")]
    assert "u_pianist" in people, people
    submitted = api.subreddit("Music").submit("A title", selftext="Some text")
    assert submitted.id
    submitted.upvote()
    reply = submitted.reply("An answer")
    assert reply.body == "An answer"
    threads = list(api.inbox.messages(limit=10))
    assert len(threads) == 4 and len(threads[0].replies) > 0
    answer = threads[0].reply("Yes")
    assert answer.author.name == "ana"
    assert list(api.inbox.unread(limit=5))
    try:
        api.subreddit("nowhere").submit("A title", selftext="Some text")
        raise AssertionError("an unknown subreddit must be rejected")
    except praw.exceptions.RedditAPIException as error:
        assert error.items[0].error_type == "SUBREDDIT_NOEXIST"
    limits = api.auth.limits
    assert limits["used"] > 5 and limits["remaining"] <= 1000 - limits["used"], limits
    limited = client(
        refresh_token=reader.auth.authorize(
            consent(reader.auth.url(scopes=["identity"], state="s2", duration="permanent"))["code"]
        )
    )
    try:
        next(limited.inbox.messages(limit=1))
        raise AssertionError("a missing scope must be rejected")
    except (prawcore.InsufficientScope, prawcore.Forbidden):
        pass
    broadcasts = requests.get(f"{url}/rpan/broadcasts", timeout=10).json()
    assert broadcasts["status"] == "success" and broadcasts["data"][0]["post"]["authorInfo"]["name"] == "pianist"


def twitter(url):
    import tweepy

    # tweepy supports only https, so it uses the sandbox's TLS port. REQUESTS_CA_BUNDLE has the trusted authority.
    host = sys.argv[3] + "/twitter"
    auth = tweepy.OAuth1UserHandler(
        "roost-twitter", "roost-twitter-secret", "sandbox-twitter-ana", "sandbox-twitter-ana-secret"
    )
    api = tweepy.API(auth, host=host, upload_host=host)
    assert api.verify_credentials().screen_name == "ana"
    # API 1.1 allows fifteen pages per 15 minutes.
    seen = [tweet.id for tweet in tweepy.Cursor(api.home_timeline, count=100, tweet_mode="extended").items()]
    assert len(seen) == len(set(seen)) > 200 and seen == sorted(seen, reverse=True), len(seen)
    import io

    medium = api.media_upload("p.png", file=io.BytesIO(picture(url)))
    tweet = api.update_status("Hello & <goodbye> ä", media_ids=[medium.media_id_string])
    assert tweet.entities["media"][0]["type"] == "photo" and "&amp;" in tweet.text, tweet.text
    reply = api.update_status("@ana more", in_reply_to_status_id=tweet.id)
    assert reply.in_reply_to_status_id == tweet.id
    assert api.create_favorite(seen[1]).favorited
    try:
        api.create_favorite(seen[1])
        raise AssertionError("a second like must be rejected")
    except tweepy.Forbidden as error:
        assert error.api_codes == [139]
    try:
        api.update_status("@ana more", in_reply_to_status_id=tweet.id)
        raise AssertionError("a duplicate must be rejected")
    except tweepy.Forbidden as error:
        assert error.api_codes == [187]
    assert api.mentions_timeline(count=5)
    sent_message = api.send_direct_message(api.get_user(screen_name="eli").id, "Yes")
    assert api.get_direct_messages(count=5)[0].id == sent_message.id
    assert api.destroy_status(tweet.id).id == tweet.id
    bad = tweepy.OAuth1UserHandler("roost-twitter", "roost-twitter-secret", "sandbox-twitter-ana", "wrong")
    try:
        tweepy.API(bad, host=host).home_timeline()
        raise AssertionError("a wrong signature must be rejected")
    except tweepy.Unauthorized as error:
        assert error.api_codes == [32]


def tumblr(url):
    import pytumblr

    client = pytumblr.TumblrRestClient(
        "roost-tumblr", "roost-tumblr-secret", "sandbox-tumblr-ana", "sandbox-tumblr-ana-secret", host=f"{url}/tumblr"
    )
    assert client.info()["user"]["name"] == "ana"
    seen, offset = [], 0
    while True:
        posts = client.dashboard(limit=20, offset=offset)["posts"]
        seen += [post["id_string"] for post in posts]
        if not posts or offset >= 200:
            break
        offset += 20
    assert len(seen) == len(set(seen)) > 100, len(seen)
    made = client.create_text("ana", state="published", title="A title", body="Some text", tags=["one", "two"])
    assert made.get("id"), made
    post = client.dashboard(limit=1)["posts"][0]
    assert post["blog_name"] == "ana" and post["tags"] == ["one", "two"], post
    other = client.dashboard(limit=20)["posts"][5]
    assert client.like(other["id_string"], other["reblog_key"]) == []
    assert client.like(other["id_string"], "wrong")["meta"]["status"] == 404
    assert client.delete_post("ana", post["id_string"]).get("id")
    bad = pytumblr.TumblrRestClient("roost-tumblr", "wrong", "t", "s", host=f"{url}/tumblr")
    assert bad.info()["meta"]["status"] == 401


class Receiver:
    """A receiver of webhooks, which responds to challenges and stores the events."""

    def __init__(self, answer):
        import http.server

        events = self.events = []

        class Handler(http.server.BaseHTTPRequestHandler):
            def do_GET(self):
                query = dict(urllib.parse.parse_qsl(urllib.parse.urlsplit(self.path).query))
                self.reply(answer(query))

            def do_POST(self):
                body = self.rfile.read(int(self.headers["content-length"]))
                events.append((dict(self.headers), body))
                self.reply("")

            def reply(self, text):
                self.send_response(200)
                self.send_header("content-length", str(len(text)))
                self.end_headers()
                self.wfile.write(text.encode())

            def log_message(self, *arguments):
                pass

        self.server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self.url = f"http://127.0.0.1:{self.server.server_port}/hook"
        threading.Thread(target=self.server.serve_forever, daemon=True).start()

    def wait(self, count):
        import time

        deadline = time.monotonic() + 10
        while len(self.events) < count:
            assert time.monotonic() < deadline, self.events
            time.sleep(0.01)
        return self.events


def signed(secret, body):
    import hashlib
    import hmac

    return hmac.new(secret.encode(), body, hashlib.sha256)


def twitter_webhooks(url):
    import base64
    import json

    secret = "roost-twitter-secret"

    def answer(query):
        return json.dumps(
            {
                "response_token": "sha256="
                + base64.b64encode(signed(secret, query["crc_token"].encode()).digest()).decode()
            }
        )

    app = {"authorization": "Bearer roost-twitter-app-token"}
    bad = Receiver(lambda query: "{}")
    refused = requests.post(f"{url}/twitter/2/webhooks", json={"url": bad.url}, headers=app, timeout=20)
    assert refused.status_code == 400 and "CrcValidationFailed" in refused.text, refused.text
    good = Receiver(answer)
    taken = requests.post(f"{url}/twitter/2/webhooks", json={"url": good.url}, headers=app, timeout=20)
    assert taken.status_code == 200 and taken.json()["data"]["valid"], taken.text
    again = requests.post(f"{url}/twitter/2/webhooks", json={"url": good.url}, headers=app, timeout=20)
    assert again.status_code == 400 and "DuplicateUrlFailed" in again.text, again.text
    hook = taken.json()["data"]["id"]
    own = {"authorization": "Bearer sandbox-twitter-ana"}
    assert requests.get(f"{url}/twitter/2/webhooks", headers=own, timeout=20).status_code == 403
    subscriptions = f"{url}/twitter/2/account_activity/webhooks/{hook}/subscriptions/all"
    assert requests.post(subscriptions, headers=app, timeout=20).status_code == 403
    assert requests.post(subscriptions, headers=own, timeout=20).json() == {"data": {"subscribed": True}}
    # Each delivery is sent twice and in reverse order once the queue is released. The plan of another network has no
    # effect.
    post_control(url, "networks/facebook/webhooks", {"times": 3})
    post_control(url, "networks/twitter/webhooks", {"times": 2, "held": True, "reversed": True})
    post_control(url, "networks/twitter/posts", {"author": "eli", "text": "@ana one"})
    post_control(url, "networks/twitter/messages", {"from": "eli", "to": "ana", "text": "psst"})
    standing = requests.get(f"{url}/sandbox/networks/twitter/webhooks", timeout=10).json()
    assert standing == {"times": 2, "held": True, "reversed": True, "waiting": 4, "sent": 0, "failed": 0}, standing
    assert not good.events
    post_control(url, "networks/twitter/webhooks", {"held": False})
    events = good.wait(4)
    for headers, body in events:
        expected = "sha256=" + base64.b64encode(signed(secret, body).digest()).decode()
        assert headers["x-twitter-webhooks-signature"] == expected
    kinds = [next(key for key in json.loads(body) if key.endswith("_events")) for _, body in events]
    assert kinds == ["direct_message_events"] * 2 + ["tweet_create_events"] * 2, kinds


def meta_webhooks(url, network):
    import json

    secret = f"roost-{network}-secret"
    name = "page" if network == "facebook" else "instagram"

    def subscribe(receiver, token):
        return requests.post(
            f"{url}/{network}/v24.0/1/subscriptions",
            data={"object": name, "callback_url": receiver.url, "verify_token": "ours", "fields": "feed,messages"},
            headers={"authorization": f"Bearer {token}"},
            timeout=20,
        )

    token = f"roost-{network}|{secret}"
    assert subscribe(Receiver(lambda query: "no"), token).status_code == 400
    good = Receiver(lambda query: query["hub.challenge"] if query["hub.verify_token"] == "ours" else "no")
    assert subscribe(good, token).json() == {"success": True}
    # The app receives no events of a Page that has not subscribed it.
    post_control(url, f"networks/{network}/messages", {"from": "fay", "to": "ana", "text": "not subscribed"})
    own, place = f"sandbox-{network}-ana", f"{url}/{network}/v24.0/me/subscribed_apps"
    if network == "facebook":
        refused = requests.post(place, params={"access_token": own, "subscribed_fields": "messages"}, timeout=10)
        assert refused.status_code == 400 and refused.json()["error"]["code"] == 210, refused.text
        own += "-page"
    let = requests.post(place, params={"access_token": own, "subscribed_fields": "messages"}, timeout=10)
    assert let.json() == {"success": True}, let.text
    post_control(url, f"networks/{network}/messages", {"from": "eli", "to": "ana", "text": "psst"})
    headers, body = good.wait(1)[-1]
    assert headers["x-hub-signature-256"] == "sha256=" + signed(secret, body).hexdigest()
    event = json.loads(body)
    assert event["object"] == name and event["entry"][0]["messaging"][0]["message"]["text"] == "psst", event


def get(url, token, **headers):
    answer = requests.get(url, headers={"authorization": f"Bearer {token}", **headers}, timeout=10)
    assert answer.status_code == 200, answer.text
    return answer.json()


def follow(url, token):
    """Reads all pages of a list of Meta by its `next` addresses."""
    found = []
    while url:
        page = get(url, token)
        found += page["data"]
        url = page.get("paging", {}).get("next")
    return found


def facebook(url):
    import hashlib
    import hmac

    token, base = "sandbox-facebook-ana", f"{url}/facebook"
    page = get(f"{base}/v24.0/me/accounts?fields=id,name,access_token,tasks", token)["data"][0]
    proof = hmac.new(b"roost-facebook-secret", page["access_token"].encode(), hashlib.sha256).hexdigest()
    fields = "id,from,message,created_time,attachments,likes.summary(true)"
    home = follow(f"{base}/v2.3/me/home?limit=100&fields={fields}", token)
    ids = [post["id"] for post in home]
    assert len(ids) == len(set(ids)) > 200 and set(home[0]) <= set(fields.replace(".summary(true)", "").split(","))
    own = follow(f"{base}/v24.0/{page['id']}/feed?limit=10&appsecret_proof={proof}", page["access_token"])
    assert len(own) > 20 and {post["from"]["id"] for post in own} == {page["id"]}
    wrong = requests.get(f"{base}/v24.0/me?access_token={token}&appsecret_proof=00", timeout=10)
    assert wrong.status_code == 400 and wrong.json()["error"]["code"] == 100
    threads = get(f"{base}/v24.0/{page['id']}/conversations?fields=id,participants,snippet", page["access_token"])[
        "data"
    ]
    assert len(threads) == 4
    messages = follow(f"{base}/v24.0/{threads[-1]['id']}/messages?limit=2", page["access_token"])
    assert 5 <= len(messages) <= 20
    made = requests.post(
        f"{base}/v24.0/{page['id']}/photos",
        data={"caption": "A picture"},
        files={"source": ("p.png", picture(url), "image/png")},
        headers={"authorization": f"Bearer {page['access_token']}"},
        timeout=10,
    ).json()
    assert made["post_id"].startswith(page["id"]), made
    answer = requests.post(f"{base}/v24.0/{made['post_id']}/likes", params={"access_token": token}, timeout=10)
    assert answer.json() == {"success": True}
    post_control(url, "script", {"service": "facebook", "status": 429, "times": 1, "retryAfter": 600})
    limited = requests.get(f"{base}/v24.0/me", params={"access_token": token}, timeout=10)
    assert limited.status_code == 403 and limited.json()["error"]["code"] == 4
    assert '"estimated_time_to_regain_access":10' in limited.headers["x-business-use-case-usage"]
    meta_webhooks(url, "facebook")


def instagram(url):
    import time

    token, base = "sandbox-instagram-ana", f"{url}/instagram"
    seen, address = [], f"{base}/v1/users/self/feed?access_token={token}&count=100"
    while address:
        page = requests.get(address, timeout=10).json()
        seen += [post["id"] for post in page["data"]]
        address = page["pagination"].get("next_url")
    assert len(seen) == len(set(seen)) > 200, len(seen)
    sig = signed("roost-instagram-secret", f"/users/self|access_token={token}".encode()).hexdigest()
    assert requests.get(f"{base}/v1/users/self?access_token={token}&sig={sig}", timeout=10).status_code == 200
    assert requests.get(f"{base}/v1/users/self?access_token={token}&sig=00", timeout=10).status_code == 403
    own = follow(f"{base}/v24.0/me/media?fields=id,caption,media_type&limit=10", token)
    assert len(own) > 20 and own[0]["media_type"] == "IMAGE"
    me = get(f"{base}/v24.0/me?fields=user_id,username", token)
    made = requests.post(
        f"{base}/v24.0/{me['user_id']}/media",
        data={"image_url": f"{url}/sandbox/media/500001", "caption": "x", "access_token": token},
        timeout=10,
    ).json()
    for _ in range(200):
        state = get(f"{base}/v24.0/{made['id']}?fields=status_code", token)["status_code"]
        if state != "IN_PROGRESS":
            break
        time.sleep(0.02)
    assert state == "ERROR", "Instagram rejects a PNG"
    refused = requests.post(
        f"{base}/v24.0/{me['user_id']}/media_publish",
        data={"creation_id": made["id"], "access_token": token},
        timeout=10,
    )
    assert refused.json()["error"]["error_subcode"] == 2207027
    longer = get(f"{base}/refresh_access_token?grant_type=ig_refresh_token&access_token={token}", token)
    assert longer["expires_in"] == 5184000 and get(f"{base}/v24.0/me", longer["access_token"])["username"] == "ana"
    meta_webhooks(url, "instagram")


def vine(url):
    base = f"{url}/vine"
    form = {"username": "ana@example.org", "password": "wrong", "deviceToken": "0" * 64}
    assert requests.post(f"{base}/users/authenticate", data=form, timeout=10).json()["code"] == 101
    form["password"] = "ana-password"
    me = requests.post(f"{base}/users/authenticate", data=form, timeout=10).json()["data"]
    session = {"vine-session-id": me["key"]}

    def send(path, method="get", **more):
        return requests.request(method, base + path, headers={**session, **more.pop("headers", {})}, timeout=10, **more)

    seen, page, anchor = [], 1, None
    while page:
        data = send(f"/timelines/graph?size=50&page={page}" + (f"&anchor={anchor}" if anchor else "")).json()["data"]
        if page == 1:
            # A new post must not shift the pages.
            post_control(url, "networks/vine/posts", {"author": "eli", "text": "meanwhile", "video": True})
        seen += [post["postId"] for post in data["records"]]
        page, anchor = data["nextPage"], data["anchorStr"]
    assert len(seen) == len(set(seen)) > 200, len(seen)
    stored = send("/upload/videos/a.mp4", "put", data=b"\0\0\0\x18ftypmp42", headers={"content-type": "video/mp4"})
    key = stored.headers["X-Upload-Key"]
    made = send("/posts", "post", json={"videoUrl": key, "thumbnailUrl": key, "description": "A video", "entities": []})
    post = send(f"/timelines/posts/{made.json()['data']['postId']}").json()["data"]["records"][0]
    assert post["description"] == "A video" and post["username"] == "Ana Albers", post
    assert send(f"/posts/{seen[0]}/likes", "post").json()["data"]["likeId"]
    assert send(f"/users/{me['userId']}/notifications").json()["data"]["records"]
    assert send("/timelines/posts/1").json()["code"] == 900
    assert send("/users/authenticate", "delete").json()["success"]
    assert send("/timelines/graph").status_code == 401


NETWORKS = {
    "mastodon": mastodon,
    "bluesky": bluesky,
    "reddit": reddit,
    "twitter": twitter,
    "twitter-webhooks": twitter_webhooks,
    "tumblr": tumblr,
    "facebook": facebook,
    "instagram": instagram,
    "vine": vine,
}
NETWORKS[sys.argv[2]](sys.argv[1])
