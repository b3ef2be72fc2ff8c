"""The code and the screens of docs/inspector.md."""

from typing import Any

import httpx

from tests.documents import block
from tests.serving.support import HANG


async def test_the_app_of_the_page_has_an_inspector() -> None:
    shown: dict[str, Any] = {}
    exec(block("docs/inspector.md", "inspector_routes(inspector, service)"), shown)
    transport = httpx.ASGITransport(shown["app"])
    async with httpx.AsyncClient(transport=transport, base_url="http://app", timeout=HANG) as http:
        assert (await http.get("/page.json")).json()["inspector"] is True
        assert (await http.get("/api/chat/c1/inspect")).json() == {"entries": [], "next": 0}
