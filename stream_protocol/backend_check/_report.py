"""The report about a checked server as JSON, and a badge."""

from collections.abc import Collection, Mapping, Sequence
from typing import Any

from stream_protocol.backend_check._results import PROFILES, Outcome, Result
from stream_protocol.wire import AiSdkVersion, json_value


def failures(results: Sequence[Result], claimed: Collection[str]) -> list[Result]:
    """Return the results that make the check of a server fail: all broken rules, and missing features.

    A missing feature is included only if its profile is in ``claimed``, and if the feature is not optional
    (``excused``).
    """
    return [
        each
        for each in results
        if each.outcome is Outcome.BROKEN
        or (each.outcome is Outcome.NOT_OFFERED and each.check.profile in claimed and not each.excused)
    ]


def badge(
    results: Sequence[Result], versions: Sequence[AiSdkVersion], claimed: Collection[str] = ()
) -> Mapping[str, Any]:
    """Return the JSON of a shields.io badge with the number of passed checks of each profile.

    The badge is red if ``failures`` returns a result, otherwise green.
    """
    counts = []
    for profile in PROFILES:
        outcomes = [each.outcome for each in results if each.check.profile == profile]
        if outcomes:
            counts.append(f"{profile} {outcomes.count(Outcome.HOLDS)}/{len(outcomes)}")
    return {
        "schemaVersion": 1,
        "label": f"AI SDK {' and '.join(f'v{version}' for version in versions)}",
        "message": ", ".join(counts),
        "color": "red" if failures(results, claimed) else "green",
    }


def report(
    url: str, results: Sequence[Result], versions: Sequence[AiSdkVersion], claimed: Collection[str]
) -> Mapping[str, Any]:
    return {
        "url": url,
        "aiSdk": [*versions],
        "claimed": [*claimed],
        "passed": not failures(results, claimed),
        "badge": badge(results, versions, claimed),
        "checks": [_check(each) for each in results],
    }


def _check(result: Result) -> Mapping[str, Any]:
    check = result.check
    values: dict[str, Any] = {
        "name": check.name,
        "profile": check.profile,
        "rule": check.rule,
        "outcome": str(result.outcome),
    }
    if result.reason:
        values["reason"] = result.reason
    if result.outcome is Outcome.BROKEN:
        values |= {"source": result.source, "chunk": json_value(result.chunk, lossy=True)}
    return values
