"""Serve the page: on this machine only, unless the user insists."""

import ipaddress
import secrets
import socket
import threading
import webbrowser
from collections.abc import Callable

import uvicorn

from legogcd.errors import UserError
from legogcd.review.app import build_app
from legogcd.review.guard import Guard
from legogcd.review.pictures import warm_up
from legogcd.review.session import Session
from legogcd.review.workspace import Location

LOCAL = "127.0.0.1"


def serve(
    location: Location,
    *,
    port: int = 0,
    host: str = LOCAL,
    open_browser: bool = True,
    say: Callable[[str], None] = print,
) -> None:
    """Serve a run until it is stopped; ``port`` 0 takes a free one."""
    threading.Thread(target=warm_up, name="loading decoders", daemon=True).start()
    session = Session(location)
    listening = _listening(host, port)
    port = listening.getsockname()[1]
    token = secrets.token_urlsafe(24)
    app = Guard(build_app(session), hosts_of(host, port), token)
    address = f"http://{_spelled(host)}:{port}/?token={token}"
    config = uvicorn.Config(
        app, log_level="warning", access_log=False, server_header=False, timeout_graceful_shutdown=1, lifespan="on"
    )
    server = uvicorn.Server(config)
    say(f"{session.desk.workspace.title}: open {address}")
    say("it is for you alone: whoever has this address can see the images and edit the run; Ctrl-C ends it")
    if open_browser:
        threading.Timer(0.3, webbrowser.open, [address]).start()
    server.run(sockets=[listening])


def hosts_of(host: str, port: int) -> list[str]:
    """The names by which a browser may call the server."""
    names = ["127.0.0.1", "localhost", "[::1]"] if is_local(host) else [_spelled(host), socket.gethostname()]
    if host in ("0.0.0.0", "::"):
        names += ["127.0.0.1", "localhost", *_own_addresses()]
    return [f"{name}:{port}" for name in names]


def is_local(host: str) -> bool:
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return host == "localhost"


def _own_addresses() -> list[str]:
    import psutil

    found = [entry for entries in psutil.net_if_addrs().values() for entry in entries]
    return [entry.address for entry in found if entry.family == socket.AF_INET]


def _spelled(host: str) -> str:
    if host in ("0.0.0.0", "::"):
        return socket.gethostname()
    return f"[{host}]" if ":" in host else host


def _listening(host: str, port: int) -> socket.socket:
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    listening = socket.socket(family, socket.SOCK_STREAM, socket.IPPROTO_TCP)  # named: asyncio then sends at once
    try:
        listening.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        listening.bind((host, port))
        listening.listen(128)
    except OSError as error:
        listening.close()
        raise UserError(f"cannot listen on {host} port {port}: {error.strerror}; give another --port") from None
    return listening
