"""The prompts that the demo's page suggests: one for each feature, in groups."""

from typing import Final

from stream_protocol.serving import Suggestion

_NEEDS_FILE: Final = "A file for the agent"

SUGGESTIONS: Final = tuple(
    Suggestion(group=group, title=title, prompt=prompt, attach=title == _NEEDS_FILE)
    for group, title, prompt in (
        ("Answers", "Nearly everything at once", "Plan a weekend in Lisbon"),
        ("Answers", "Reasoning", "How many days does Rome need?"),
        ("Tools", "Parallel tools", "Compare the weather in Oslo and Rome"),
        ("Tools", "Streamed tool input", "Write a long itinerary for Kyoto"),
        ("Asking you", "Approval", "Book two nights in Kyoto"),
        ("Asking you", "Approval with a payload", "Reserve a seat on the train to Oslo"),
        ("Asking you", "A choice", "Help me choose a city"),
        ("Asking you", "A form from its schema", "Ask me what my trip needs"),
        ("Asking you", "Sign-in", "What does my calendar say?"),
        ("Tools", "A tool in your browser: time zone", "Which time zone am I in?"),
        ("Tools", "A tool in your browser: theme", "Make the page dark"),
        ("Tools", "A tool in your browser: location", "Where am I?"),
        ("Files and data", "Sources", "What is worth seeing in Rome?"),
        ("Files and data", "An image", "Draw the temperatures of Kyoto"),
        ("Files and data", "A file from the agent", "Give me the temperatures of Rome as CSV"),
        ("Files and data", _NEEDS_FILE, "What is in the file that I attach?"),
        ("Answers", "Another agent", "Where do I eat in Lisbon?"),
        ("Files and data", "Data of your own", "Show the forecast for Lisbon"),
        ("Tools", "A tool that fails", "Do I need a visa for Norway?"),
        ("Answers", "An error, and retry", "Fail in the middle of a sentence"),
        ("Answers", "Markdown", "Show what Markdown can do"),
        ("Answers", "A long answer, to be stopped", "Tell me a long story"),
    )
)
