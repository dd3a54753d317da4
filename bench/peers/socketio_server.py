"""The rooms of socketio-echo with python-socketio (PyPI) on aiohttp. The argument is the port."""

import sys

import socketio
from aiohttp import web

server = socketio.AsyncServer(async_mode="aiohttp", cors_allowed_origins="*")


@server.on("join")
async def join(sid, room):
    await server.enter_room(sid, room)


@server.on("publish")
async def publish(sid, room, text):
    await server.emit("published", text, room=room)


if __name__ == "__main__":
    app = web.Application()
    server.attach(app)
    web.run_app(app, host="127.0.0.1", port=int(sys.argv[1]), access_log=None, print=None)
