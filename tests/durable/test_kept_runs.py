"""The state of a run's executions, as the engine keeps it."""

from stream_protocol.durable._runs import KeptRun, execution_attributes
from stream_protocol.serving.engine import RunRecord, ToldEnd
from stream_protocol.serving.engine._run_ends import end_of_orphan
from tests.serving.run_records import run_record

RUN = KeptRun(
    record=run_record(),
    version=[],
    log_id="r1",
)


def test_a_run_that_another_worker_has_stopped_stays_stopped_when_its_own_worker_leaves_it() -> None:
    stopped, left = execution_attributes("r1", ToldEnd("abort")), execution_attributes("r1", "left")
    run = RUN.with_attributes({**stopped, **left})
    assert run is not None
    assert end_of_orphan(run, []) == ToldEnd("abort")


def test_a_state_that_only_a_newer_release_knows_hides_the_run() -> None:
    assert RUN.with_attributes({"execution r1": "unknown"}) is None
    assert RUN.with_attributes({"end r1": "unknown"}) is None


def test_the_stored_names_of_ends_are_those_of_the_first_release() -> None:
    assert execution_attributes("r1", ToldEnd("error", "No.")) == {
        "execution r1": "failed",
        "end r1": "failed",
        "error": "No.",
    }
    run = RUN.with_attributes({"execution r1": "failed", "error": "No."})
    assert run is not None
    assert end_of_orphan(run, []) == ToldEnd("error", "No.")


def test_an_older_release_reads_a_record_that_uses_none_of_the_newer_fields() -> None:
    """An older release refuses unknown keys, so that it does not ignore a rewind."""
    record = run_record()
    stored = record.to_json()
    assert {"artifact_base", "state"} <= stored.keys()
    assert not {"rewind_before", "deployment", "trace", "words", "refusal"} & stored.keys()
    assert RunRecord.from_json(stored) == record
    rewinding = run_record(rewind_before="i0")
    assert rewinding.to_json()["rewind_before"] == "i0"
    assert RunRecord.from_json(rewinding.to_json()) == rewinding
