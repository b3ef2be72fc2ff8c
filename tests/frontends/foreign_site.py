"""Foreign site that records its requests, and texts of an agent that would make a page send them."""

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Final

from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route

from tests.served import served

PNG: Final = bytes.fromhex(
    "89504e470d0a1a0a0000000d4948445200000001000000010806000000"
    "1f15c4890000000d49444154789c63f8cfc0f01f000500015f0a2db40000000049454e44ae426082"
)
"""Image of one pixel."""

_NAMED: Final = """
![chart](SITE/1.png?q=secret) ![](//HOST/2.png) [![in a link](SITE/3.png)](/) ![by reference][r]

<img src="SITE/4.png"> <img src="data:image/png;base64,AAAA" srcset="SITE/5.png 2x">
<picture><source srcset="SITE/6.png"><img src="/7.png"></picture>
<video src="SITE/8.mp4" poster="SITE/9.png" autoplay></video> <audio src="SITE/10.mp3" autoplay></audio>
<svg><image href="SITE/11.png" xlink:href="SITE/12.png" /></svg> <input type="image" src="SITE/13.png">

<style>@import "SITE/14.css"; @font-face { font-family: f; src: url(SITE/15.woff2) } * { font-family: f }</style>

<link rel="stylesheet" href="SITE/16.css"><link rel="preload" as="image" href="SITE/17.png">
<link rel="prefetch" href="SITE/18">

<iframe src="SITE/19"></iframe> <object data="SITE/20"></object> <embed src="SITE/21">
<script src="SITE/22.js"></script>

<div style="background: url(SITE/23.png)" background="SITE/24.png">styled</div>

<table background="SITE/25.png"><tr><td background="SITE/26.png">cell</td></tr></table>

<meta http-equiv="refresh" content="0; url=SITE/27"> <base href="SITE/28/"> <a ping="SITE/29" href="SITE/30">a link</a>

$$\\includegraphics{SITE/31.png}$$ SITE/32.png <SITE/33.png>

![half](SITE/34.png?q=half

```html
<img src="SITE/35.png">
```

[r]: SITE/36.png

The end.
"""


@dataclass
class ForeignSite:
    """Foreign site. ``asked``: path of each request. ``told``: referrer of each request."""

    url: str = ""
    asked: list[str] = field(default_factory=list)
    told: set[str] = field(default_factory=set)

    async def answer(self, request: Request) -> Response:
        self.asked.append(request.url.path)
        self.told.update(request.headers.getlist("referer"))
        return Response(PNG, media_type="image/png", headers={"access-control-allow-origin": "*"})


@contextmanager
def serving_foreign_site() -> Iterator[ForeignSite]:
    site = ForeignSite()
    with served(Starlette(routes=[Route("/{path:path}", site.answer)])) as url:
        site.url = url
        yield site


def naming(url: str) -> str:
    """Return Markdown that refers to files of this site in all possible ways."""
    return _NAMED.replace("SITE", url).replace("HOST", url.partition("//")[2])
