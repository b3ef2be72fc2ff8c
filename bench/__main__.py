"""Prints the benchmark tables. Ratios compare values of this run. Microseconds depend on this machine."""

import argparse
import asyncio
import logging
from collections.abc import Callable
from operator import attrgetter
from statistics import median
from typing import Final

from bench.accepting import accepting_costs
from bench.conversation import EVENTS_PER_TURN, TURNS
from bench.durable import RunCost, durable_costs
from bench.growth import growths
from bench.keys import PER_SECOND, key_delays
from bench.load import PAIRS, SLOW, Load, compare_loads, compare_workers, measure_slow
from bench.memory import STREAMS, bytes_per_open_stream
from bench.progress import progress_delays
from bench.recordings import costs
from bench.run_logs import run_log_costs
from bench.run_path import run_path_cost
from bench.speed import ROUNDS, speeds
from bench.startup import FIRST_USE, IMPORT, startup


def _print_speed() -> None:
    chunks, rows = asyncio.run(speeds())
    events = TURNS * EVENTS_PER_TURN
    print(f"Speed: {events:,} events, {chunks:,} chunks; medians of {ROUNDS} interleaved rounds, collector off.\n")
    print(f"  {'':<28}{'µs per chunk':>14}{'to its floor':>14}")
    for row in rows:
        print(f"  {row.name:<28}{row.microseconds:>14.2f}{row.ratio:>14.2f}")


def _print_run_logs() -> None:
    print("\nRun logs: the same chunks written one by one, and read to the end.\n")
    print(f"  {'':<32}{'µs per chunk':>14}{'to memory':>14}")
    for row in asyncio.run(run_log_costs()):
        print(f"  {row.name:<32}{row.microseconds:>14.2f}{row.ratio:>14.2f}")


def _print_run_path() -> None:
    cost = asyncio.run(run_path_cost())
    print("\nA streamed run: processor time from ADK's event to ASGI's send.\n")
    print(f"  {cost.microseconds:.1f} µs per chunk, {cost.chunks_per_send:.2f} chunks per send")


def _print_memory() -> None:
    print(f"\nMemory: {bytes_per_open_stream() / 1024:.1f} KiB per open stream ({STREAMS:,} open, mid-turn).")


def _print_startup() -> None:
    bare, with_import, with_names = startup()
    print(f"\nStart: milliseconds of processor time on top of the {bare:.0f} of an empty interpreter.\n")
    for code, time in ((IMPORT, with_import), (FIRST_USE, with_names)):
        print(f"  {code:<80}{time - bare:>6.0f}")


def _print_growth() -> None:
    print("\nGrowth: µs per delta in the first and the last tenth of one part.\n")
    print(f"  {'':<36}{'deltas':>8}{'first':>8}{'last':>8}{'last/first':>12}")
    for row in growths():
        print(f"  {row.name:<36}{row.deltas:>8,}{row.first:>8.2f}{row.last:>8.2f}{row.last / row.first:>12.2f}")


def _print_recordings() -> None:
    print("\nRecordings: the commands over a JSONL of events; the process's peak memory, with ADK.\n")
    print(f"  {'':<16}{'events/s':>14}{'MiB for 1 MB':>14}{'for 200 MB':>14}")
    for row in costs():
        print(f"  {row.name:<16}{row.events_per_second:>14,.0f}{row.small:>14.0f}{row.large:>14.0f}")


def _print_load() -> None:
    print(f"\nLoad: one server process, ten seconds; ours, and `/run_sse` of ADK; medians of {PAIRS} pairs.\n")
    columns = "".join(f"{each:>14}" for each in ("ours", "/run_sse", "ratio", "ratios"))
    for compared in compare_loads():
        shape = compared.shape
        print(f"  {f'{shape.streams} streams, {shape.per_second} chunks/s':<32}{columns}")
        for row in LOAD_ROWS:
            _print_pairs(compared.pairs, *row)
        errors = sum(load.errors for pair in compared.pairs for load in pair)
        print(f"  {'streams that lack chunks':<32}{errors:>14}\n")
    slow = measure_slow()
    print(f"  {f'{SLOW.streams:,} streams, {SLOW.per_second} chunk/s':<32}{'ours':>14}")
    for name, unit, value in LOAD_ROWS:
        print(f"  {name:<32}{value(slow) * unit:>14.1f}")
    print(f"  {'streams that lack chunks':<32}{slow.errors:>14}")


def _print_pairs(pairs: list[tuple[Load, Load]], name: str, unit: float, value: Callable[[Load], float]) -> None:
    """Print the row of one value: the median of each column, and the ratio of the first two columns in each pair."""
    values = [(value(mine), value(its)) for mine, its in pairs]
    ratios = sorted(mine / its for mine, its in values)
    mine, its = (median(column) * unit for column in zip(*values, strict=True))
    print(f"  {name:<32}{mine:>14,.1f}{its:>14,.1f}{median(ratios):>14.2f}   {ratios[0]:.2f} to {ratios[-1]:.2f}")


def _print_workers() -> None:
    print(f"\nWorkers: as fast as they can, with a Redis; medians of {PAIRS} pairs.\n")
    print(f"  {'':<32}{'two':>14}{'one':>14}{'ratio':>14}{'ratios':>14}")
    pairs = compare_workers()
    for row in WORKER_ROWS:
        _print_pairs(pairs, *row)
    print(f"  {'streams that lack chunks':<32}{sum(load.errors for pair in pairs for load in pair):>14}")


def _print_durable() -> None:
    print(
        "\nDurable: a run with a run log on PostgreSQL, without an engine and with one; medians of interleaved runs.\n"
    )
    for compared in asyncio.run(durable_costs()):
        print(f"  {f'{compared.tools} tools':<32}{'without':>14}{'with':>14}{'on top':>14}")
        for name, unit, value in DURABLE_ROWS:
            without, durable = value(compared.without) * unit, value(compared.durable) * unit
            print(f"  {name:<32}{without:>14,.1f}{durable:>14,.1f}{durable - without:>14,.1f}")
        print(f"  {'rows that the engine writes':<32}{'':>14}{compared.rows:>14,.1f}")


def _print_accepting() -> None:
    print("\nAccepting: until a new chat's response begins, and what that contains; medians of turns.\n")
    names = ("ms for an event", "ms to accept", "in events", "ms to ask of stops", "share of that", "ms to words")
    print(f"  {'':<16}{''.join(f'{name:>20}' for name in names)}")
    for row in accepting_costs():
        asked = (row.asked * 1e3, row.asked / row.accepted)
        values = (row.append * 1e3, row.accepted * 1e3, row.accepted / row.append, *asked, row.first_chunk * 1e3)
        print(f"  {row.stores:<16}{''.join(f'{value:>20.3f}' for value in values)}")


def _print_progress() -> None:
    print(
        "\nProgress: from a tool's report to the client's chunk, while the tool runs. At most five reports a second are"
    )
    print("sent, so a report can wait for 0.2 s.\n")
    names = ("reports sent", "ms, median", "ms, 99 %", "ms, worst")
    print(f"  {'':<16}{''.join(f'{name:>16}' for name in names)}")
    for row in progress_delays():
        values = "".join(f"{value * 1e3:>16.1f}" for value in (row.p50, row.p99, row.worst))
        print(f"  {row.tool:<16}{row.sent:>16}{values}")


def _print_keys() -> None:
    print(f"\nKeys: from a key to the next frame of the built-in chat, while a reply grows by {PER_SECOND} tokens/s.\n")
    print(f"  {'':<16}{'keys':>16}{'ms, median':>16}{'ms, worst':>16}")
    for row in key_delays():
        print(f"  {row.reply:<16}{row.keys:>16}{row.p50:>16.0f}{row.worst:>16.0f}")


Rows = tuple[tuple[str, float, Callable[[Load], float]], ...]

LOAD_ROWS: Final[Rows] = (
    ("µs of processor time per chunk", 1e6, attrgetter("cpu_per_chunk")),
    ("ms late, median", 1e3, attrgetter("late_p50")),
    ("ms late, 99 %", 1e3, attrgetter("late_p99")),
    ("ms to the first chunk", 1e3, attrgetter("first_chunk")),
    ("ms to the first chunk, 99 %", 1e3, attrgetter("first_chunk_p99")),
    ("KiB per stream", 1 / 1024, attrgetter("memory")),
)

WORKER_ROWS: Final[Rows] = (
    ("chunks in a second", 1, attrgetter("per_second")),
    ("in one of processor time", 1, attrgetter("per_cpu_second")),
)

DURABLE_ROWS: Final[tuple[tuple[str, float, Callable[[RunCost], float]], ...]] = (
    ("ms to the first step", 1e3, attrgetter("first_chunk")),
    ("ms to the end", 1e3, attrgetter("whole")),
    ("ms of processor time", 1e3, attrgetter("cpu")),
)

TABLES = {
    "speed": _print_speed,
    "growth": _print_growth,
    "memory": _print_memory,
    "run-logs": _print_run_logs,
    "run-path": _print_run_path,
    "startup": _print_startup,
    "recordings": _print_recordings,
    "accepting": _print_accepting,
    "durable": _print_durable,
    "progress": _print_progress,
    "keys": _print_keys,
    "load": _print_load,
    "workers": _print_workers,
}


def main() -> None:
    """Run the named benchmarks, or all. All take eleven minutes, most of it for load and 200 MB files."""
    parser = argparse.ArgumentParser(prog="python -m bench", description=main.__doc__)
    logging.disable(logging.WARNING)  # ADK warns that the scripted model reports no tokens
    parser.add_argument("tables", nargs="*", choices=[*TABLES, []], metavar="table", help=", ".join(TABLES))
    for name in parser.parse_args().tables or TABLES:
        TABLES[name]()


if __name__ == "__main__":
    main()
