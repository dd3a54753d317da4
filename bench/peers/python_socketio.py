"""python-socketio (PyPI) on aiohttp as a Socket.IO server."""

import sys
from pathlib import Path

from bench.processes import Program

SERVER = Path(__file__).with_name("socketio_server.py")


def start(directory, port, prefix=()):
    return Program("python-socketio", [*prefix, sys.executable, SERVER, port], directory)
