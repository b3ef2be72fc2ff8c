"""Computes the resources for a number of chats: ``python -m bench.capacity`` prints the tables of
bench/reports/capacity.md.

It reads the results of ``python -m bench.workers FILE``. You pass your assumptions as command-line arguments.
"""

import argparse
import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import astuple, dataclass, fields
from math import ceil
from pathlib import Path
from typing import Any, Final

MEASURED: Final = Path(__file__).with_name("workers.json")
CHATS: Final = (10_000, 100_000, 1_000_000)

KIB, MB, GIB = 1024, 10**6, 2**30
EVENTS_PER_TURN: Final = 2
"""Stored events of a turn: the user's message and the reply. Each tool adds two: its call and its result."""

EXPIRY: Final = 60.0
"""Seconds for which Redis stores a log after the end of its run."""

REDIS_CONNECTIONS_PER_WORKER: Final = 33
"""Connections to each Redis node: 32 for commands and one for notifications. Each reader of another worker's run adds
one.
"""

POSTGRES_CONNECTIONS_PER_WORKER: Final = 10
"""Connections in the pools of the session service: 5 for writes and 5 for reads."""


@dataclass(frozen=True, kw_only=True)
class Assumptions:
    """Assumptions about your users, which only you can measure. Times are in seconds."""

    chunk_rate: float = 20
    """Chunks per second while the model writes."""
    answer_chunks: float = 100
    """Chunks of a reply: 500 tokens, with five tokens per chunk."""
    tools: float = 1
    """Tool calls per reply."""
    waiting: float = 3
    """Seconds of a run without text, while the model starts and tools run."""
    pause: float = 60
    """Seconds between a reply and the user's next message: the user reads, thinks and types."""
    turns_before: float = 10
    """Average number of turns that a chat already has. Each turn reads all their events."""
    utilisation: float = 0.6
    """Utilisation of each core. The rest is for bursts, deployments and lost workers."""
    redis_clients: float = 10_000
    """Maximum connections of a Redis: its default."""
    postgres_connections: float = 500
    """Maximum connections of a PostgreSQL. Its default is 100."""
    postgres_cores: float = 16
    """Cores of the largest PostgreSQL that you want to run."""

    @property
    def busy(self) -> float:
        """Seconds of a run."""
        return self.waiting + self.answer_chunks / self.chunk_rate

    @property
    def active(self) -> float:
        """Share of the chats that have a run at a given time."""
        return self.busy / (self.busy + self.pause)


@dataclass(frozen=True)
class Turns:
    """Turns of one kind: see ``Load``.

    ``seconds``: duration of a turn. ``new``: share of turns that begin a chat. ``past``: average number of stored
    events before a turn.
    """

    seconds: float
    chunks: float
    tools: float
    new: float
    past: float


@dataclass(frozen=True)
class Costs:
    """Costs of a turn: fixed, per second, per chunk, per tool, for a new chat, and per earlier stored event."""

    turn: float
    second: float
    chunk: float
    tool: float
    chat: float
    past: float

    def of(self, turns: Turns) -> float:
        """Return the cost of one of these turns."""
        return sum((cost * count for cost, count in zip(astuple(self), (1, *astuple(turns)), strict=True)), 0.0)


class Model:
    """Costs of a turn for each resource: the resources of ``Use``, and ``egress``."""

    def __init__(self, told: Mapping[str, Any]) -> None:
        self.told = told
        self.costs = {name: self._costs(name) for name in (*told["loads"][0]["use"], "egress")}

    def _costs(self, resource: str) -> Costs:
        equations = [[1.0, *astuple(kind_of(each)), per_turn(each, resource)] for each in self.told["loads"]]
        # Noise may make a very small cost negative.
        return Costs(*(max(0.0, cost) for cost in solved(equations)))


def solved(equations: list[list[float]]) -> list[float]:
    """Solve linear equations. Each equation is its factors, then its result. Returns the unknowns."""
    for at in range(len(equations)):
        pivot = max(range(at, len(equations)), key=lambda row: abs(equations[row][at]))
        equations[at], equations[pivot] = equations[pivot], equations[at]
        equations[at] = [each / equations[at][at] for each in equations[at]]
        for row in range(len(equations)):
            if row != at:
                factor = equations[row][at]
                equations[row] = [
                    one - factor * other for one, other in zip(equations[row], equations[at], strict=True)
                ]
    return [equation[-1] for equation in equations]


def per_turn(measured: Mapping[str, Any], resource: str) -> float:
    """Return the use of a resource by one turn of a load."""
    used: float = measured["egress"] if resource == "egress" else measured["use"][resource]
    return used / turns_of(measured["load"])


def turns_of(load: Mapping[str, Any]) -> int:
    """Return the number of a load's turns."""
    turns: int = load["people"] * load["chats"] * load["turns"]
    return turns


def kind_of(measured: Mapping[str, Any]) -> Turns:
    """Return the turns of a load, with their measured duration."""
    load = measured["load"]
    events = EVENTS_PER_TURN * (1 + load["tools"])
    return Turns(
        seconds=measured["turn_seconds"] / turns_of(load),
        chunks=load["chunks"],
        tools=load["tools"],
        new=1 / load["turns"],
        past=events * (load["turns"] - 1) / 2,
    )


@dataclass(frozen=True)
class Needs:
    """Resources for a number of chats. ``workers``: processes with a core each.

    Per second: ``turns``, ``chunks``, ``redis_commands``, ``transactions``, ``rows``, ``wal`` (bytes) and ``egress``
    (bytes).
    """

    turns: float
    streams: float
    chunks: float
    workers: int
    worker_memory: float
    redis_commands: float
    shards: int
    redis_memory: float
    redis_connections: float
    transactions: float
    rows: float
    wal: float
    postgres_cores: float
    postgres_connections: float
    egress: float


def needs(model: Model, assumed: Assumptions, chats: float) -> Needs:
    """Return the resources for a number of chats."""
    turns = chats / (assumed.busy + assumed.pause)
    events = EVENTS_PER_TURN * (1 + assumed.tools)
    kind = Turns(
        seconds=assumed.busy,
        chunks=assumed.answer_chunks,
        tools=assumed.tools,
        new=1 / (2 * assumed.turns_before + 1),
        past=events * assumed.turns_before,
    )

    def each_second(resource: str) -> float:
        return turns * model.costs[resource].of(kind)

    workers = ceil(each_second("worker_cpu") / assumed.utilisation)
    memory, log_kib = model.told["memory"], model.told["memory"]["log_kib_per_chunk"] * assumed.answer_chunks
    return Needs(
        turns=turns,
        streams=chats * assumed.active,
        chunks=turns * assumed.answer_chunks,
        workers=workers,
        worker_memory=(memory["worker_mib"] * KIB + memory["stream_kib"] * chats * assumed.active / workers) * KIB,
        redis_commands=each_second("redis_commands"),
        shards=ceil(each_second("redis_cpu") / assumed.utilisation),
        redis_memory=turns * (assumed.busy + EXPIRY) * log_kib * KIB,
        redis_connections=workers * REDIS_CONNECTIONS_PER_WORKER,
        transactions=each_second("transactions"),
        rows=each_second("rows"),
        wal=each_second("wal_bytes"),
        postgres_cores=each_second("postgres_cpu") / assumed.utilisation,
        postgres_connections=workers * POSTGRES_CONNECTIONS_PER_WORKER,
        egress=each_second("egress"),
    )


def needs_table(model: Model, assumed: Assumptions, sizes: Sequence[int] = CHATS) -> str:
    """Return a table of the resources for each number of chats."""
    of = [needs(model, assumed, chats) for chats in sizes]

    def row(label: str, values: Sequence[str]) -> str:
        return f"| {label} | {' | '.join(values)} |"

    return "\n".join(
        [
            row("Chats", [f"{chats:,}" for chats in sizes]),
            "|---|" + "---:|" * len(sizes),
            row("chats with an active run", [_round(each.streams) for each in of]),
            row("turns per second", [_round(each.turns) for each in of]),
            row("chunks per second", [_round(each.chunks) for each in of]),
            row("**workers**, one core each", [f"**{_round(each.workers)}**" for each in of]),
            row("memory of a worker, MiB", [_round(each.worker_memory / KIB**2) for each in of]),
            row("**Redis shards**, one core each", [f"**{_round(each.shards)}**" for each in of]),
            row("Redis commands per second", [_round(each.redis_commands) for each in of]),
            row("total memory of Redis, GiB", [_round(each.redis_memory / GIB) for each in of]),
            row("connections to each shard", [_round(each.redis_connections) for each in of]),
            row("**transactions** per second", [f"**{_round(each.transactions)}**" for each in of]),
            row("rows written per second", [_round(each.rows) for each in of]),
            row("PostgreSQL's write-ahead log, MB per second", [_round(each.wal / MB) for each in of]),
            row("cores of PostgreSQL", [_round(each.postgres_cores) for each in of]),
            row("connections to PostgreSQL", [_round(each.postgres_connections) for each in of]),
            row("**egress**, Mbit per second", [f"**{_round(each.egress * 8 / MB)}**" for each in of]),
        ]
    )


def limits(model: Model, assumed: Assumptions) -> Iterator[tuple[float, str]]:
    """Yield the number of chats at which each limit is reached, and the limit."""
    one = needs(model, assumed, CHATS[-1])

    def chats_at(limit: float, needed: float) -> float:
        return CHATS[-1] * limit / needed

    yield chats_at(1, one.workers), f"one worker uses {100 * assumed.utilisation:.0f} % of its core"
    yield (
        chats_at(assumed.postgres_connections, one.postgres_connections),
        f"PostgreSQL reaches its assumed maximum of {assumed.postgres_connections:,.0f} connections",
    )
    yield chats_at(1, one.shards), f"one Redis uses {100 * assumed.utilisation:.0f} % of its only core"
    yield (
        chats_at(assumed.postgres_cores, one.postgres_cores),
        f"PostgreSQL uses {100 * assumed.utilisation:.0f} % of its {assumed.postgres_cores:.0f} cores",
    )
    yield (
        chats_at(assumed.redis_clients, one.redis_connections),
        f"each node of a Redis cluster reaches its maximum of {assumed.redis_clients:,.0f} connections",
    )
    yield chats_at(10**10 / 8, one.egress), "the workers send 10 Gbit a second to clients"


def limits_table(model: Model, assumed: Assumptions) -> str:
    """Return a table of the limits, in the order in which they are reached."""
    rows = [f"| {_round(chats)} | {what} |" for chats, what in sorted(limits(model, assumed))]
    return "\n".join(["| Chats | Limit |", "|---:|---|", *rows])


CHECKED: Final[Mapping[str, str]] = {
    "worker_cpu": "processor time of the workers, s",
    "redis_cpu": "processor time of Redis, s",
    "redis_commands": "Redis commands",
    "postgres_cpu": "processor time of PostgreSQL, s",
    "transactions": "transactions",
    "egress": "egress, bytes",
}


def checks_table(model: Model) -> str:
    """Return a table that compares the measured use of two workers with the model."""
    lines = ["| Load | Resource | Predicted | Measured | Deviation |", "|---|---|---:|---:|---:|"]
    for measured in model.told["checks"]:
        load, kind, turns = measured["load"], kind_of(measured), turns_of(measured["load"])
        for resource, label in CHECKED.items():
            predicted = turns * model.costs[resource].of(kind)
            lines.append(_compared(load["name"], label, predicted, turns * per_turn(measured, resource)))
        # The workers share the machine: their capacity is computed from the processor time that they got.
        share = measured["use"]["worker_cpu"] / measured["seconds"]
        possible = share / model.costs["worker_cpu"].of(kind) * load["chunks"]
        label = f"chunks per second, with {share:.1f} cores"
        lines.append(_compared(load["name"], label, possible, measured["chunks"] / measured["seconds"]))
    return "\n".join(lines)


def _compared(name: str, label: str, predicted: float, measured: float) -> str:
    return f"| {name} | {label} | {_round(predicted)} | {_round(measured)} | {measured / predicted - 1:+.0%} |"


def costs_table(model: Model) -> str:
    """Return a table of the model's costs."""
    lines = [
        "| Cost | Turn | Second | Chunk | Tool | New chat | Stored event |",
        "|---|" + "---:|" * len(fields(Costs)),
    ]
    for resource, label, unit in (
        ("worker_cpu", "worker, ms", 1e3),
        ("redis_cpu", "Redis, ms", 1e3),
        ("postgres_cpu", "PostgreSQL, ms", 1e3),
        ("redis_commands", "Redis commands", 1),
        ("transactions", "transactions", 1),
        ("egress", "egress, bytes", 1),
    ):
        costs = model.costs[resource]
        cells = [f"{getattr(costs, each.name) * unit:.3g}" for each in fields(costs)]
        lines.append(f"| {label} | {' | '.join(cells)} |")
    return "\n".join(lines)


def _round(number: float) -> str:
    """Return the number with two significant digits. The model is less precise than that."""
    if number < 10:
        return f"{number:.2g}"
    digits = len(str(int(number))) - 2
    return f"{round(number, -digits):,.0f}"


def load_model(file: Path = MEASURED) -> Model:
    """Return the model that fits the measurements."""
    return Model(json.loads(file.read_text(encoding="utf-8")))


def main() -> None:
    """Print the resources for several numbers of chats, the limits, and the quality of the model."""
    parser = argparse.ArgumentParser(prog="python -m bench.capacity", description=main.__doc__)
    parser.add_argument("--measured", type=Path, default=MEASURED, help="what `python -m bench.workers FILE` wrote")
    parser.add_argument("--chats", type=int, nargs="+", default=CHATS)
    for each in fields(Assumptions):
        parser.add_argument(f"--{each.name.replace('_', '-')}", type=float, default=each.default)
    given = vars(parser.parse_args())
    model, chats = load_model(given.pop("measured")), given.pop("chats")
    assumed = Assumptions(**given)
    for table in (
        costs_table(model),
        needs_table(model, assumed, chats),
        limits_table(model, assumed),
        checks_table(model),
    ):
        print(f"{table}\n")


if __name__ == "__main__":
    main()
