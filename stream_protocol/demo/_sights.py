"""A reply with citations and search suggestions, as Gemini sends it with Google Search."""

from collections.abc import Mapping, Sequence
from html import escape
from typing import Final
from urllib.parse import quote_plus

from google.genai import types

from stream_protocol.demo._question import Question, which_city
from stream_protocol.testing import Step, Thought

_CHIPS: Final = """\
<style>
.container { display: flex; align-items: center; gap: 8px; padding: 8px; border: 1px solid #d2d2d2; border-radius: 8px;
  overflow-x: auto; font: 14px/20px "Google Sans", Roboto, Arial, sans-serif; background: #fafafa; }
.chip { flex: none; padding: 5px 16px; border: 1px solid #d2d2d2; border-radius: 16px; color: #1f1f1f;
  background: #fff; text-decoration: none; }
.chip:hover { background: #f2f2f2; }
@media (prefers-color-scheme: dark) {
  .container { background: #1f1f1f; border-color: #444; }
  .chip { background: #2c2c2c; border-color: #444; color: #fff; }
}
</style>
"""


def see_sights(question: Question) -> list[Step]:
    """Scripted reply with sources, citations and search suggestions."""
    if not question.cities:
        return which_city(question)
    city = question.cities[0]
    old_town, market, hill = "early, before the coaches.", "hungry: it opens at seven.", "at dusk."
    sights = (
        f"Three things in {city}:\n\n1. **The old town**, {old_town}\n2. **The market**, {market}\n"
        f"3. **The hill** with the view, {hill}\n\n> Leave one afternoon without a plan."
    )
    pages = {
        f"https://en.wikivoyage.org/wiki/{city}": f"{city} on Wikivoyage",
        f"https://en.wikipedia.org/wiki/{city}": f"{city} on Wikipedia",
    }
    return [
        Thought("Three places are enough for one answer, and the sources say more."),
        sights,
        grounding(sights, pages, {old_town: [0], market: [0, 1], hill: [1]}, [f"sights in {city}", f"market {city}"]),
    ]


def grounding(
    text: str, pages: Mapping[str, str], cited: Mapping[str, Sequence[int]], searches: Sequence[str]
) -> types.GroundingMetadata:
    """Return grounding metadata for a text.

    ``pages``: the sources. The keys are URLs, the values titles. ``cited``: the citations. A key is a part of the text,
    and its value has the positions of its sources in ``pages``.
    """
    supports: list[types.GroundingSupport] = []
    for words, numbers in cited.items():
        start = len(text[: text.index(words)].encode())
        segment = types.Segment(start_index=start, end_index=start + len(words.encode()), text=words)
        supports.append(types.GroundingSupport(segment=segment, grounding_chunk_indices=[*numbers]))
    chips = "".join(
        f'<a class="chip" href="https://www.google.com/search?q={quote_plus(search)}">{escape(search)}</a>'
        for search in searches
    )
    return types.GroundingMetadata(
        grounding_chunks=[
            types.GroundingChunk(web=types.GroundingChunkWeb(uri=url, title=title)) for url, title in pages.items()
        ],
        grounding_supports=supports,
        web_search_queries=[*searches],
        search_entry_point=types.SearchEntryPoint(rendered_content=f'{_CHIPS}<div class="container">{chips}</div>'),
    )
