"""A client cuts its text at the indexes of each citation, and has the words that Google names."""

import json
import subprocess
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from stream_protocol.wire import AiSdkVersion
from tests.conformance.fixtures import PROJECT, VERSIONS, load_fixture
from tests.documents import block
from tests.tools import require_node_project

FOLD = """
const { readUIMessageStream } = await import(process.argv[2]);
const { citationsOf } = await import(process.argv[3]);
const chunks = JSON.parse(process.argv[4]);
let message;
const stream = new ReadableStream({ start(to) { chunks.forEach((one) => to.enqueue(one)); to.close(); } });
for await (message of readUIMessageStream({ stream }));
const texts = message.parts.filter((part) => part.type === "text");
const cited = texts.flatMap((part, index) => citationsOf(message, index).map((citation) => ({
  ...citation, words: part.text.slice(citation.startIndex, citation.endIndex) })));
console.log(JSON.stringify(cited));
"""


def named_by_google(name: str) -> Iterator[tuple[str, int]]:
    """The words that the recorded answer names, and the numbers of their sources."""
    [turn] = load_fixture(name).turns
    metadata = turn.events[-1].grounding_metadata
    assert metadata is not None
    for support in metadata.grounding_supports or []:
        assert support.segment is not None
        for index in support.grounding_chunk_indices or []:
            yield support.segment.text or "", index


@pytest.mark.node
@pytest.mark.parametrize("ai_sdk", VERSIONS)
def test_a_client_has_the_words_that_google_names(ai_sdk: AiSdkVersion, tmp_path: Path) -> None:
    node = require_node_project(PROJECT)
    (fold := tmp_path / "fold.mjs").write_text(FOLD, encoding="utf-8")
    (reader := tmp_path / "citations.mjs").write_text(block("docs/citations.md", "citationsOf"), encoding="utf-8")
    package = PROJECT / "node_modules" / f"ai-v{ai_sdk}" / "dist" / "index.js"
    [chunks] = load_fixture("grounding_places").convert(ai_sdk)
    run = subprocess.run(
        [node, fold, package, reader, json.dumps(chunks)], capture_output=True, text=True, timeout=300, check=False
    )
    assert run.returncode == 0, run.stderr
    cited: list[dict[str, Any]] = json.loads(run.stdout)
    named = [(citation.pop("words"), int(citation["source"]["id"].removeprefix("source-"))) for citation in cited]
    assert named == [*named_by_google("grounding_places")]
    form = json.loads(block("docs/citations.md", '"citedText"'))
    assert {key for citation in cited for key in citation} == form.keys()
    assert form["source"].keys() <= {key for citation in cited for key in citation["source"]}
