"""Measures the time from a tool's report of progress to its chunk at an HTTP client, while the tool runs."""

import asyncio
import os
from collections.abc import Iterator
from pathlib import Path
from statistics import median, quantiles
from tempfile import TemporaryDirectory
from time import monotonic
from typing import NamedTuple

import orjson

from bench.load import Ours, post, started
from bench.reporting_agent import TOOLS


class Delays(NamedTuple):
    """Seconds until the client has a report. ``sent``: the number of reports that were sent."""

    tool: str
    sent: int
    p50: float
    p99: float
    worst: float


class _Reporting(Ours):
    agent = "bench.reporting_agent:root_agent"


def progress_delays() -> Iterator[Delays]:
    """Yield the delays of each kind of tool, one after the other, at one server."""
    server = _Reporting()
    with TemporaryDirectory() as folder, started(server, Path(folder), os.environ) as (_, port):
        for tool in TOOLS:
            delays = asyncio.run(_delays(server, port, tool))
            yield Delays(
                tool, len(delays), median(delays), quantiles(delays, n=100, method="inclusive")[-1], max(delays)
            )


async def _delays(server: Ours, port: int, tool: str) -> list[float]:
    [(path, body)] = server.requests(tool, "Go on.")
    delays: list[float] = []
    seen: set[str] = set()
    rest = b""
    async for data in post(port, path, body):
        now = monotonic()
        *events, rest = (rest + data).split(b"\n\n")
        for event in events:
            if b'"data-adk-progress"' in event:
                reported_at = orjson.loads(event.partition(b"data: ")[2])["data"]["message"]
                if reported_at not in seen:  # the stored copy of the last report comes again
                    seen.add(reported_at)
                    delays.append(now - float(reported_at))
    return delays
