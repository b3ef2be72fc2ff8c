"""Scenarios with other content than text: sources, files, artifacts, widgets, state."""

from google.adk.agents import LlmAgent
from google.adk.events.ui_widget import UiWidget
from google.adk.tools.tool_context import ToolContext
from google.genai import types

from recorder.model import call, calls, chunk, end, text, thought
from recorder.scenario import Scenario
from recorder.texts import agent
from recorder.tools import PIXEL
from recorder.user import say

GROUNDING = types.GroundingMetadata(
    web_search_queries=["paris"],
    grounding_chunks=[
        types.GroundingChunk(web=types.GroundingChunkWeb(uri="https://paris.example/", title="Paris")),
        types.GroundingChunk(web=types.GroundingChunkWeb(uri="https://paris.example/", title="Paris")),
        types.GroundingChunk(
            retrieved_context=types.GroundingChunkRetrievedContext(
                uri="gs://docs/paris.pdf", title="Paris guide", document_name="docs/paris.pdf", text="Paris is …"
            )
        ),
        types.GroundingChunk(maps=types.GroundingChunkMaps(uri="https://maps.example/louvre", title="Louvre")),
    ],
)
CITED = (
    "Himeji Castle 🏯 stands in 姫路市. ",
    "It was built in 1333, and is a World Heritage Site. ",
    "שלום, say its visitors; Cafe\u0301s are near.",
)
"""Text in several scripts, in fragments."""


def _support(cited: str, *indices: int) -> types.GroundingSupport:
    """Return the sources of a cited text. Google gives its position in bytes."""
    whole = "".join(CITED)
    start = len(whole[: whole.index(cited)].encode())
    segment = types.Segment(start_index=start or None, end_index=start + len(cited.encode()), text=cited)
    return types.GroundingSupport(segment=segment, grounding_chunk_indices=list(indices))


PLACES = types.GroundingMetadata(
    web_search_queries=["himeji castle", "姫路城"],
    search_entry_point=types.SearchEntryPoint(
        rendered_content=(
            "<style>.chip { color: #1f1f1f }</style>"
            '<div class="container"><a class="chip" href="https://search.example/himeji">himeji castle</a>'
            '<a class="chip" href="https://search.example/%E5%A7%AB">姫路城</a></div>'
        )
    ),
    grounding_chunks=[
        types.GroundingChunk(web=types.GroundingChunkWeb(uri="https://castle.example/", title="Himeji Castle")),
        types.GroundingChunk(
            retrieved_context=types.GroundingChunkRetrievedContext(
                uri="gs://docs/japan.pdf", title="Japan guide", text="The first fort was built in 1333."
            )
        ),
        types.GroundingChunk(maps=types.GroundingChunkMaps(uri="https://maps.example/himeji", title="Himeji Castle")),
    ],
    grounding_supports=[
        _support("Himeji Castle 🏯 stands in 姫路市.", 0, 2),
        _support("It was built in 1333", 1),
        _support("שלום", 0),
        _support("Cafe\u0301s are near", 2),
    ],
)
CITATIONS = types.CitationMetadata(
    citations=[types.Citation(uri="https://poem.example/", title="A poem", start_index=0, end_index=5)]
)


async def save(tool_context: ToolContext) -> dict[str, str]:
    """Saves a report, shows a widget, remembers a name."""
    await tool_context.save_artifact("report.txt", types.Part(text="All is well."))
    tool_context.render_ui_widget(UiWidget(id="w1", provider="mcp", payload={"resource_uri": "ui://report"}))
    tool_context.state["name"] = "Ann"
    tool_context.state["temp:draft"] = "scratch"
    return {"saved": "report.txt"}


def forecast(tool_context: ToolContext) -> dict[str, str]:
    """Shows data of the app's own, first a guess and then the fact."""
    for celsius in (20, 21):
        payload = {"name": "weather", "id": "paris", "data": {"celsius": celsius}}
        tool_context.render_ui_widget(UiWidget(id=f"w{celsius}", provider="adk_ui_stream", payload=payload))
    return {"shown": "yes"}


def _saves() -> LlmAgent:
    return agent(calls(call("save")), text("Saved."), tools=[save])


def _grounded() -> LlmAgent:
    return agent(
        [chunk(types.Part(text="Paris ")), chunk(types.Part(text="is big.")), end(grounding_metadata=GROUNDING)]
    )


def _file(uri: str, mime_type: str) -> types.Part:
    return types.Part(file_data=types.FileData(file_uri=uri, mime_type=mime_type))


def _image() -> LlmAgent:
    picture = types.Part(inline_data=types.Blob(data=PIXEL, mime_type="image/png"))
    return agent([chunk(types.Part(text="Here: ")), chunk(picture), chunk(types.Part(text="a rose.")), end()])


MEDIA: tuple[Scenario, ...] = (
    Scenario(
        name="grounding",
        description="Grounding: web, map and document sources, once each, though chunk and aggregate both list them.",
        build=_grounded,
        turns=[say("Paris?")],
    ),
    Scenario(
        name="grounding_hidden",
        description="The same with send_sources off.",
        build=_grounded,
        turns=[say("Paris?")],
        options={"send_sources": False},
    ),
    Scenario(
        name="grounding_places",
        description="Grounding of words in several scripts, by places in bytes, and Google's search suggestions.",
        build=lambda: agent(
            [
                chunk(thought("Look it up.")),
                *(chunk(types.Part(text=piece)) for piece in CITED),
                end(grounding_metadata=PLACES),
            ]
        ),
        turns=[say("Himeji?")],
        options={"ai_sdk": "7.0.173"},
    ),
    Scenario(
        name="citations",
        description="A citation is a source.",
        build=lambda: agent([chunk(types.Part(text="Roses are red.")), end(citation_metadata=CITATIONS)]),
        turns=[say("a poem")],
    ),
    Scenario(
        name="inline_image",
        description="An image between two texts: a data URL from the bytes, once.",
        build=_image,
        turns=[say("a rose")],
    ),
    Scenario(
        name="file_data",
        description="A file on the web is a file; one in a bucket, which no browser can load, is data.",
        build=lambda: agent(
            [
                chunk(_file("https://files.example/rose.png", "image/png")),
                chunk(_file("gs://bucket/rose.mp4", "video/mp4")),
                end(),
            ]
        ),
        turns=[say("files")],
    ),
    Scenario(
        name="artifact_and_widget",
        description="A tool saves an artifact and shows a widget; its state change is not sent.",
        build=_saves,
        turns=[say("save")],
    ),
    Scenario(
        name="app_data",
        description="A tool sends data of the app's own: data-weather, the second in place of the first.",
        build=lambda: agent(calls(call("forecast")), text("Sunny."), tools=[forecast]),
        turns=[say("weather?")],
    ),
    Scenario(
        name="artifact_widget_and_state",
        description="The same with send_state on: only the app's own keys.",
        build=_saves,
        turns=[say("save")],
        options={"send_state": True},
    ),
)
