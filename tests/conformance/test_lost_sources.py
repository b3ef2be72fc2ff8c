"""Sources that ADK drops: see ``docs/decisions/what-a-message-cannot-show.md``. If ADK keeps them, the row goes."""

from typing import Any

import pytest
from anthropic.types import TextBlock
from google.adk.agents import LlmAgent, RunConfig
from google.adk.agents.run_config import StreamingMode
from google.adk.models.anthropic_llm import content_block_to_part
from google.adk.models.lite_llm import LiteLlm, LiteLLMClient
from google.adk.models.llm_response import LlmResponse
from google.genai import types
from litellm import ModelResponse
from typing_extensions import override

from stream_protocol.serving import ChatService, create_app
from tests.serving.chat_client import Page

pytestmark = [
    pytest.mark.samples,
    pytest.mark.filterwarnings("ignore:Accessing the .model_(computed_)?fields. attribute"),
]  # litellm does

URL = "https://a.example/"


def test_adk_drops_the_urls_that_gemini_has_read() -> None:
    read = types.UrlContextMetadata(url_metadata=[types.UrlMetadata(retrieved_url=URL)])
    content = types.Content(role="model", parts=[types.Part(text="Read.")])
    candidate = types.Candidate(content=content, finish_reason=types.FinishReason.STOP, url_context_metadata=read)
    made = LlmResponse.create(types.GenerateContentResponse(candidates=[candidate]))
    assert URL not in made.model_dump_json()


class Client(LiteLLMClient):
    """Answers in place of a provider."""

    def __init__(self, message: dict[str, Any], **fields: Any) -> None:
        super().__init__()
        self._response = {"choices": [{"finish_reason": "stop", "message": message}], "model": "m", **fields}

    @override
    async def acompletion(self, *args: Any, **kwargs: Any) -> ModelResponse:
        return ModelResponse(**self._response)


async def shown(client: LiteLLMClient) -> list[dict[str, Any]]:
    """The parts of the answer."""
    agent = LlmAgent(name="root", model=LiteLlm(model="openai/m", llm_client=client))
    page = Page(create_app(ChatService(agent, run_config=RunConfig(streaming_mode=StreamingMode.NONE))))
    await page.send("Hi")
    return [dict(part) for part in page.messages[-1]["parts"]]


async def test_adk_drops_the_annotations_of_openai() -> None:
    cited = {"type": "url_citation", "url_citation": {"url": URL, "title": "A", "start_index": 0, "end_index": 2}}
    parts = await shown(Client({"role": "assistant", "content": "So it is.", "annotations": [cited]}))
    assert [part.get("text") for part in parts] == [None, "So it is."]
    assert URL not in str(parts)


async def test_adk_drops_the_citations_of_anthropic() -> None:
    cited = {"type": "web_search_result_location", "url": URL, "title": "A", "cited_text": "So.", "encrypted_index": ""}
    fields = {"citations": [[cited]]}
    parts = await shown(Client({"role": "assistant", "content": "So it is.", "provider_specific_fields": fields}))
    assert [part.get("text") for part in parts] == [None, "So it is."]
    assert URL not in str(parts)
    block = TextBlock.model_validate({"type": "text", "text": "So it is.", "citations": [cited]})
    assert URL not in content_block_to_part(block).model_dump_json()


async def test_litellm_keeps_the_grounding_of_gemini() -> None:
    grounding = {
        "groundingChunks": [{"web": {"uri": URL, "title": "A"}}],
        "groundingSupports": [{"segment": {"endIndex": 7, "text": "So 🐕"}, "groundingChunkIndices": [0]}],
    }
    message = {"role": "assistant", "content": "So 🐕 is."}
    parts = await shown(Client(message, vertex_ai_grounding_metadata=[grounding]))
    assert [part["url"] for part in parts if part["type"] == "source-url"] == [URL]
    [cited] = [part["data"]["citations"] for part in parts if part["type"] == "data-adk-citations"]
    assert [(each["startIndex"], each["endIndex"]) for each in cited] == [(0, 5)]
