"""Who may talk to the server: only the browser that was given the token, from the page itself, by the right name.

A page elsewhere on the web can make a browser send requests to 127.0.0.1, under a name of its own too (DNS rebinding).
So every request must name a host the server has, come with the cookie that only the opening address gives, and, where
it changes anything, come from a page of this server and be JSON.
"""

import hmac
import json
import secrets
from collections.abc import Iterable
from http.cookies import CookieError, SimpleCookie
from urllib.parse import parse_qs

from starlette.types import ASGIApp, Message, Receive, Scope, Send

MOST_BYTES = 4_000_000
_EMPTY_STYLE = "'sha256-47DEQpj8HBSa+/TImW+5JCeuQeRkm5NMpJWZG3hSuFU='"  # made by the map library
_POLICY = (
    f"default-src 'none'; script-src 'self'; style-src 'self' {_EMPTY_STYLE}; "
    "img-src 'self' blob: data:; connect-src 'self'; font-src 'self'; worker-src 'self'; base-uri 'none'; "
    "form-action 'none'; frame-ancestors 'none'"
)
HEADERS = {
    "content-security-policy": _POLICY,
    "x-content-type-options": "nosniff",
    "referrer-policy": "no-referrer",
    "x-frame-options": "DENY",
    "cross-origin-resource-policy": "same-origin",
    "cross-origin-opener-policy": "same-origin",
    "permissions-policy": "camera=(), microphone=(), geolocation=(), payment=(), usb=()",
}


class Guard:
    """Lets a request through to the app, or answers it with one line of JSON; adds the headers of safety to all."""

    def __init__(self, app: ASGIApp, hosts: Iterable[str], token: str) -> None:
        self.app, self.token = app, token
        self.hosts = {host.lower() for host in hosts}
        self.session = secrets.token_urlsafe(32)

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] == "lifespan":
            await self.app(scope, receive, send)
        elif scope["type"] != "http":
            await send({"type": "websocket.close", "code": 1008})
        else:
            await self._answer(scope, receive, self._with_headers(send))

    async def _answer(self, scope: Scope, receive: Receive, send: Send) -> None:
        headers: dict[str, list[str]] = {}
        for name, value in scope["headers"]:
            headers.setdefault(name.decode("latin-1").lower(), []).append(value.decode("latin-1"))
        refusal = self._refusal(scope, headers)
        if refusal is not None:
            await _send_json(send, *refusal)
            return
        token = parse_qs(scope["query_string"].decode("latin-1")).get("token", [""])[0]
        if scope["path"] == "/" and token and hmac.compare_digest(token.encode(), self.token.encode()):
            await self._open(scope, send)
        elif not self._has_cookie(headers):
            await _send_json(send, 401, "open the page by the address that `legogcd review` printed: it has the key")
        else:
            await self._bounded(scope, receive, send)

    def _refusal(self, scope: Scope, headers: dict[str, list[str]]) -> tuple[int, str] | None:
        """Why a request is refused whoever sent it, None where it is not."""
        host = headers.get("host", [])
        if len(host) != 1 or host[0].lower() not in self.hosts:
            return 421, "this server does not go by that name"
        if headers.get("sec-fetch-site", ["none"])[-1] not in ("none", "same-origin") and scope["path"] != "/":
            return 403, "requests of other pages are refused"
        if scope["method"] in ("GET", "HEAD"):
            return None
        if scope["method"] != "POST":
            return 405, "only GET and POST are known here"
        if headers.get("origin", [""]) != [f"http://{host[0]}"]:
            return 403, "requests of other pages are refused"
        if headers.get("content-type", [""])[0].split(";")[0].strip().lower() != "application/json":
            return 415, "expected application/json"
        length = headers.get("content-length", ["0"])[0]
        if not length.isascii() or not length.isdigit() or int(length) > MOST_BYTES:
            return 413, f"a request may hold {MOST_BYTES // 1_000_000} MB"
        return None

    @property
    def cookie(self) -> str:
        """Named after the port: cookies of one host are shared by its ports."""
        port = next(iter(sorted(self.hosts))).rpartition(":")[2]
        return f"legogcd-review-{port}"

    def _has_cookie(self, headers: dict[str, list[str]]) -> bool:
        try:
            cookies = SimpleCookie("; ".join(headers.get("cookie", [])))
        except CookieError:
            return False
        given = cookies[self.cookie].value if self.cookie in cookies else ""
        return hmac.compare_digest(given.encode("utf-8", "replace"), self.session.encode())

    async def _open(self, scope: Scope, send: Send) -> None:
        cookie = f"{self.cookie}={self.session}; HttpOnly; SameSite=Strict; Path=/"
        headers = [(b"location", b"/"), (b"set-cookie", cookie.encode()), (b"cache-control", b"no-store")]
        await send({"type": "http.response.start", "status": 303, "headers": headers})
        await send({"type": "http.response.body", "body": b""})

    async def _bounded(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Pass a request on; its body is counted, whatever length it said it has."""
        if scope["method"] != "POST":
            await self.app(scope, receive, send)
            return
        body, more = bytearray(), True
        while more:
            message = await receive()
            if message["type"] == "http.disconnect":
                return
            body += message.get("body", b"")
            more = message.get("more_body", False)
            if len(body) > MOST_BYTES:
                await _send_json(send, 413, f"a request may hold {MOST_BYTES // 1_000_000} MB")
                return
        whole: list[Message] = [{"type": "http.request", "body": bytes(body), "more_body": False}]

        async def receive_whole() -> Message:
            return whole.pop() if whole else await receive()

        await self.app(scope, receive_whole, send)

    def _with_headers(self, send: Send) -> Send:
        async def send_with_headers(message: Message) -> None:
            if message["type"] == "http.response.start":
                given = {name for name, _ in message["headers"]}
                extra = [(name.encode(), value.encode()) for name, value in HEADERS.items()]
                if b"cache-control" not in given:
                    extra.append((b"cache-control", b"no-store"))
                message = {**message, "headers": [*message["headers"], *extra]}
            await send(message)

        return send_with_headers


async def _send_json(send: Send, status: int, error: str) -> None:
    body = json.dumps({"error": error}).encode()
    headers = [(b"content-type", b"application/json"), (b"content-length", str(len(body)).encode())]
    await send({"type": "http.response.start", "status": status, "headers": headers})
    await send({"type": "http.response.body", "body": body})
