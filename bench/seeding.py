"""Conversations written by SQL, where making them by requests would take longer than measuring them."""

from pathlib import Path

SQL = Path(__file__).parent / "sql"


def conversations_for_pgbench(postgres, database, count, members):
    """The first id of `count` conversations in a row, in each of them the members `1`, `2`, `3` ….

    They belong to an application of their own, which nobody signs in to.
    """
    return _insert(postgres, database, "conversations.sql", count=count, members=members)


def fill(postgres, database, conversation, messages):
    """Writes so many messages into a conversation, as its sends would have left them."""
    _insert(postgres, database, "messages.sql", conversation=conversation, messages=messages)


def fill_searched(postgres, database, first, conversations, messages):
    """Writes so many messages, of words as people use them, into `conversations` that follow the first, in turns."""
    _insert(postgres, database, "search.sql", first=first, conversations=conversations, messages=messages)


def _insert(postgres, database, script, **values):
    text = (SQL / script).read_text()
    for name, value in values.items():
        text = text.replace(f":{name}", str(int(value)))
    rows = postgres.sql(database, text)
    return int(rows[-1][0]) if rows else None
