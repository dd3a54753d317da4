"""Four members send messages with python-socketio 5 while processes are killed:

    python scripts/socket-bursts.py http://127.0.0.1:8080 CHAT JWT JWT JWT JWT

Each input line is a number of messages, which the members send concurrently. Prints `ready`, then `under way` and
`done` for each burst. At the end of the input, each member must have received exactly the messages of the conversation.
Otherwise the script prints the differences and exits with 1.
"""

import os
import sys
import threading

from socket_member import Member

AT_ONCE = 4
WAYS = [("websocket", "payload"), ("websocket", "event"), ("polling", "payload"), ("websocket", "payload")]


def burst(members, number, total):
    left = list(range(total))
    acknowledged = threading.Semaphore(0)

    def send_all(member):
        while True:
            try:
                message = left.pop()
            except IndexError:
                return
            name = f"burst {number}, message {message}"
            try:
                member.send(f"{name} grüße 👋", name)
            except Exception as error:
                member.failures.append(f"{name}: {error!r}")
            acknowledged.release()

    for member in members * AT_ONCE:
        threading.Thread(target=send_all, args=(member,), daemon=True).start()
    for count in range(total):
        if not acknowledged.acquire(timeout=150):
            raise TimeoutError(f"burst {number}: {count} of {total} were acknowledged")
        if count == total // 4:
            print("under way", flush=True)
    print("done", flush=True)


def differences(members, sent):
    record = {message["id"]: Member.summary(message) for message in members[0].record()}
    seqs = [seq for seq, _, _ in record.values()]
    if seqs != list(range(1, len(seqs) + 1)):
        yield f"the stored seqs are {seqs}"
    names = sorted(name for _, _, name in record.values() if name)
    if names != sorted(sent):
        yield f"of {len(sent)} sent messages {len(names)} are stored, {len(set(names))} of them different"
    for number, member in enumerate(members):
        member.wait(lambda member=member: member.seen().keys() >= record.keys())
        seen = member.seen()
        missing = sorted(record[id] for id in record.keys() - seen.keys())
        other = sorted(seen[id] for id in seen.keys() if seen[id] != record.get(id))
        if missing or other:
            yield f"member {number} {WAYS[number]} misses {len(missing)} {missing[:3]}, has different {other[:3]}"
        # A member that has all messages may still be reconnecting.
        if not member.wait(lambda member=member: member.returns > 0):
            yield f"member {number} {WAYS[number]} never reconnected"
        yield from (f"member {number} {WAYS[number]} {failure}" for failure in member.failures)


def main():
    url, chat, *jwts = sys.argv[1:]
    members = [Member(url, int(chat), jwt, *way) for jwt, way in zip(jwts, WAYS, strict=False)]
    for member in members:
        member.wait_for_connection()
    print("ready", flush=True)
    sent = []
    for number, line in enumerate(sys.stdin):
        sent += [f"burst {number}, message {message}" for message in range(int(line))]
        burst(members, number, int(line))
    found = list(differences(members, sent))
    for member in members:
        print(f"reconnected {member.returns} times, repeated {member.repeats} requests")
    print("\n".join(found[:20]) if found else "no differences", flush=True)
    # The members' threads never end.
    os._exit(1 if found else 0)


main()
