"""Suggested prompts of the demo's page: one for each feature, with a title."""

from typing import Final

from stream_protocol.serving import Suggestion

SUGGESTIONS: Final = tuple(
    Suggestion(title=title, prompt=prompt)
    for title, prompt in (
        ("Nearly everything at once", "Plan a weekend in Lisbon"),
        ("Reasoning", "How many days does Rome need?"),
        ("Parallel tools", "Compare the weather in Oslo and Rome"),
        ("Streamed tool input", "Write a long itinerary for Kyoto"),
        ("Approval", "Book two nights in Kyoto"),
        ("Approval with a payload", "Reserve a seat on the train to Oslo"),
        ("A choice", "Help me choose a city"),
        ("A form from its schema", "Ask me what my trip needs"),
        ("Sign-in", "What does my calendar say?"),
        ("Tools of the page: time zone", "Which time zone am I in?"),
        ("Tools of the page: theme", "Make the page dark"),
        ("Tools of the page: location", "Where am I?"),
        ("Sources", "What is worth seeing in Rome?"),
        ("An image", "Draw the temperatures of Kyoto"),
        ("A file from the agent", "Give me the temperatures of Rome as CSV"),
        ("A file for the agent", "What is in the file that I attach?"),
        ("Another agent", "Where do I eat in Lisbon?"),
        ("Data of your own", "Show the forecast for Lisbon"),
        ("A tool that fails", "Do I need a visa for Norway?"),
        ("An error, and retry", "Fail in the middle of a sentence"),
        ("Markdown", "Show what Markdown can do"),
        ("A long answer, to be stopped", "Tell me a long story"),
    )
)
