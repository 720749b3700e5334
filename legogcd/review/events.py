"""What the page is told as it happens, as server-sent events."""

import asyncio
import json
from collections.abc import AsyncIterator
from typing import Any

_BEAT = 15.0  # seconds after which a silent connection says that it lives
_QUEUED = 100  # events a slow page may have waiting; it asks for everything again after a gap


class Events:
    """Passes every event on to all pages that listen. ``tell`` may be called from any thread."""

    def __init__(self) -> None:
        self._listeners: set[asyncio.Queue[str]] = set()
        self._loop: asyncio.AbstractEventLoop | None = None
        self._closed = False

    def tell(self, **event: Any) -> None:
        text = f"data: {json.dumps(event)}\n\n"
        loop = self._loop
        if loop is not None and not loop.is_closed():
            loop.call_soon_threadsafe(self._pass_on, text)

    def close(self) -> None:
        """End all connections, so that the server can end."""
        self._closed = True
        for queue in self._listeners:
            queue.put_nowait("")

    async def listen(self, first: dict[str, Any]) -> AsyncIterator[str]:
        """The text of a stream of events, ``first`` being the first one."""
        self._loop = asyncio.get_running_loop()
        queue: asyncio.Queue[str] = asyncio.Queue(_QUEUED)
        self._listeners.add(queue)
        try:
            yield f"retry: 1000\ndata: {json.dumps(first)}\n\n"
            while not self._closed:
                try:
                    text = await asyncio.wait_for(queue.get(), _BEAT)
                except TimeoutError:
                    text = ": still here\n\n"
                if text:
                    yield text
        finally:
            self._listeners.discard(queue)

    def _pass_on(self, text: str) -> None:
        for queue in self._listeners:
            if queue.full():
                queue.get_nowait()
            queue.put_nowait(text)
