"""One connection of a load to the cloud, that is kept open."""

from __future__ import annotations

import asyncio


class Line:
    """One connection to the cloud that is kept open: HTTP/1.1 in plain."""

    def __init__(self, host: str, port: int) -> None:
        self._place = host, port
        self._streams: tuple[asyncio.StreamReader, asyncio.StreamWriter] | None = None

    async def ask(self, method: str, path: str, headers: str, body: bytes = b"") -> tuple[int, bytes]:
        """Status and body. Raises: OSError, asyncio.IncompleteReadError, asyncio.LimitOverrunError: cut."""
        if self._streams is None:
            self._streams = await asyncio.open_connection(*self._place, limit=2**17)
        reader, writer = self._streams
        head = f"{method} {path} HTTP/1.1\r\nhost: cloud\r\n{headers}content-length: {len(body)}\r\n\r\n"
        try:
            writer.write(head.encode() + body)
            await writer.drain()
            lines = (await reader.readuntil(b"\r\n\r\n")).decode("latin-1").split("\r\n")
            fields = {
                name.lower(): value.strip() for name, _, value in (line.partition(":") for line in lines)
            }
            content = await reader.readexactly(int(fields["content-length"]))
        except BaseException:
            self.close()
            raise
        if fields.get("connection", "").lower() == "close":
            self.close()
        return int(lines[0].split()[1]), content

    def close(self) -> None:
        """The next request opens another one."""
        if self._streams is not None:
            self._streams[1].close()
            self._streams = None
