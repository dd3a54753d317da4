"""Four members talk on whatever is killed, by python-socketio 5:

    python scripts/socket-bursts.py http://127.0.0.1:8080 CHAT JWT JWT JWT JWT

Each line read is a number of messages that they say, all at once. Prints `ready`, then `under way` and `done` of each burst. When
there is no more to read, what each saw must be what the record has: it says what is not, and ends with 1.
"""

import os
import sys
import threading

from socket_member import Member

AT_ONCE = 4
WAYS = [("websocket", "payload"), ("websocket", "event"), ("polling", "payload"), ("websocket", "payload")]


def burst(members, number, total):
    left = list(range(total))
    answered = threading.Semaphore(0)

    def talk(member):
        while True:
            try:
                message = left.pop()
            except IndexError:
                return
            name = f"burst {number}, message {message}"
            try:
                member.say(f"{name} grüße 👋", name)
            except Exception as error:
                member.failures.append(f"{name}: {error!r}")
            answered.release()

    for member in members * AT_ONCE:
        threading.Thread(target=talk, args=(member,), daemon=True).start()
    for count in range(total):
        if not answered.acquire(timeout=150):
            raise TimeoutError(f"burst {number}: {count} of {total} were answered")
        if count == total // 4:
            print("under way", flush=True)
    print("done", flush=True)


def differences(members, said):
    record = {message["id"]: Member.kept(message) for message in members[0].record()}
    seqs = [seq for seq, _, _ in record.values()]
    if seqs != list(range(1, len(seqs) + 1)):
        yield f"the record's seqs are {seqs}"
    names = sorted(name for _, _, name in record.values() if name)
    if names != sorted(said):
        yield f"of {len(said)} that were said the record has {len(names)}, {len(set(names))} different ones"
    for number, member in enumerate(members):
        member.wait(lambda member=member: member.seen().keys() >= record.keys())
        seen = member.seen()
        missing = sorted(record[id] for id in record.keys() - seen.keys())
        other = sorted(seen[id] for id in seen.keys() if seen[id] != record.get(id))
        if missing or other:
            yield f"member {number} {WAYS[number]} misses {len(missing)} {missing[:3]}, saw otherwise {other[:3]}"
        # Who has heard everything may be on the way back still.
        if not member.wait(lambda member=member: member.returns > 0):
            yield f"member {number} {WAYS[number]} was never dropped"
        yield from (f"member {number} {WAYS[number]} {failure}" for failure in member.failures)


def main():
    url, chat, *jwts = sys.argv[1:]
    members = [Member(url, int(chat), jwt, *way) for jwt, way in zip(jwts, WAYS, strict=False)]
    for member in members:
        member.here()
    print("ready", flush=True)
    said = []
    for number, line in enumerate(sys.stdin):
        said += [f"burst {number}, message {message}" for message in range(int(line))]
        burst(members, number, int(line))
    found = list(differences(members, said))
    for member in members:
        print(f"came back {member.returns} times, asked {member.repeats} times again")
    print("\n".join(found[:20]) if found else "the same", flush=True)
    # The members' threads would wait for ever.
    os._exit(1 if found else 0)


main()
