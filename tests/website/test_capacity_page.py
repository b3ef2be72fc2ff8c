"""The report has the tables of `python -m bench.capacity`, docs/performance.md the limits. The arithmetic is right."""

from dataclasses import asdict, replace
from pathlib import Path
from typing import Any, Final

import pytest

from bench import capacity
from bench.capacity import Assumptions, Costs, Model, kind_of, load_model, needs, turns_of
from bench.workers import CHECKS, LOADS, Load, Measured, Use
from tests.processes import ROOT

REPORT: Final = ROOT / "bench" / "reports" / "capacity.md"
PAGE: Final = ROOT / "docs" / "performance.md"
COSTS: Final = Costs(turn=0.04, second=0.003, chunk=0.0005, tool=0.02, chat=0.01, past=0.0001)
"""Processor seconds that follow the model exactly."""


def used_in_that_world(load: Load) -> dict[str, Any]:
    turns = turns_of(asdict(load))
    turn_seconds = turns * (0.1 + 0.05 * load.tools + (load.chunks / load.rate if load.rate else 0.0))
    cost = turns * COSTS.of(kind_of({"load": asdict(load), "turn_seconds": turn_seconds}))
    use = Use(**dict.fromkeys(Use.__dataclass_fields__, cost))
    chunks = turns * load.chunks
    return asdict(Measured(load, use, seconds=cost, turn_seconds=turn_seconds, chunks=chunks, egress=turns))


@pytest.fixture
def model() -> Model:
    return Model(
        {
            "memory": {"worker_mib": 200.0, "stream_kib": 50.0, "log_kib_per_chunk": 0.1},
            "loads": [used_in_that_world(load) for load in LOADS],
            "checks": [used_in_that_world(load) for load in CHECKS],
        }
    )


@pytest.mark.parametrize("print_table", ["costs_table", "checks_table"])
def test_the_report_has_the_measured_costs(print_table: str) -> None:
    assert getattr(capacity, print_table)(load_model()) in REPORT.read_text(encoding="utf-8")


@pytest.mark.parametrize(
    ("print_table", "page"), [("needs_table", REPORT), ("limits_table", REPORT), ("limits_table", PAGE)]
)
def test_the_report_and_the_page_have_the_predicted_needs(print_table: str, page: Path) -> None:
    assert getattr(capacity, print_table)(load_model(), Assumptions()) in page.read_text(encoding="utf-8")


def test_the_model_finds_the_costs_from_which_the_loads_were_made(model: Model) -> None:
    assert asdict(model.costs["worker_cpu"]) == pytest.approx(asdict(COSTS), rel=1e-6)
    assert capacity.checks_table(model).count("+0%") >= len(CHECKS) * len(capacity.CHECKED)


def test_a_load_that_is_dearer_than_predicted_is_shown_so(model: Model) -> None:
    model.told["checks"][0]["use"]["worker_cpu"] *= 1.5
    assert "+50%" in capacity.checks_table(model)


def test_twice_the_chats_need_twice_as_much(model: Model) -> None:
    one, two = (needs(model, Assumptions(), chats) for chats in (100_000, 200_000))
    assert two.egress == pytest.approx(2 * one.egress)
    assert abs(two.workers - 2 * one.workers) <= 1


@pytest.mark.parametrize("changed", [{"pause": 20}, {"answer_chunks": 400}, {"tools": 4}, {"turns_before": 100}])
def test_an_assumption_of_more_work_needs_more_workers(model: Model, changed: dict[str, float]) -> None:
    usual = Assumptions()
    more = replace(usual, **changed)
    assert needs(model, more, 100_000).workers > needs(model, usual, 100_000).workers
