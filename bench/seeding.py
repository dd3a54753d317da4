"""Conversations written by SQL, because requests would take longer than the measurement."""

from pathlib import Path

SQL = Path(__file__).parent / "sql"


def conversations_for_pgbench(postgres, database, count, members):
    """Creates `count` conversations with consecutive ids and the members `1`, `2`, `3` …, and returns the first id.

    They belong to a separate application that no user signs in to.
    """
    return _insert(postgres, database, "conversations.sql", count=count, members=members)


def fill(postgres, database, conversation, messages):
    """Writes messages to a conversation, in the state that the service would have written."""
    _insert(postgres, database, "messages.sql", conversation=conversation, messages=messages)


def fill_searched(postgres, database, first, conversations, messages):
    """Writes messages with a natural distribution of words to `conversations` consecutive conversations in turn."""
    _insert(postgres, database, "search.sql", first=first, conversations=conversations, messages=messages)


def _insert(postgres, database, script, **values):
    text = (SQL / script).read_text()
    for name, value in values.items():
        text = text.replace(f":{name}", str(int(value)))
    rows = postgres.sql(database, text)
    return int(rows[-1][0]) if rows else None
