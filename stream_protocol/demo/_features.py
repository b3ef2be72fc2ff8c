"""Replies of the scripted demo. Each function returns the reply that shows one feature of the page."""

from typing import Final

from stream_protocol.demo._question import Question, which_city
from stream_protocol.demo._tools import HOTELS
from stream_protocol.testing import Call, Step, Thought

MARKDOWN: Final = """
## Three days, in Markdown

| City | Train | Price |
| --- | --- | ---: |
| Lisbon | none | 95 € |
| Oslo | night train | 130 € |
| Rome | high speed | 110 € |

What a stay costs, for $$n$$ nights at price $$p$$ with a city tax of $$t$$:

$$
c(n) = n \\cdot (p + t)
$$

```python
def cost(nights: int, price: float, tax: float = 3.5) -> float:
    \"\"\"What a stay costs, in euros.\"\"\"
    return nights * (price + tax)
```

- [x] passport
- [x] tickets
- [ ] a plan for *Sunday*

> Travel light: **one** bag, and [a good map](https://www.openstreetmap.org/).
"""

TRIP: Final = {
    "type": "object",
    "required": ["name", "city", "nights", "interests", "contact"],
    "properties": {
        "name": {"type": "string", "title": "Your name", "minLength": 2},
        "city": {"type": "string", "title": "City", "enum": list(HOTELS)},
        "nights": {"type": "integer", "title": "Nights", "minimum": 1, "maximum": 14, "default": 2},
        "budget": {"type": "number", "title": "Budget", "minimum": 0, "description": "In euros, for all of it."},
        "interests": {
            "type": "array",
            "title": "Interests",
            "minItems": 1,
            "items": {"type": "string", "enum": ["Food", "Art", "Walks", "Music"]},
        },
        "late_arrival": {"type": "boolean", "title": "I arrive after 22:00"},
        "contact": {
            "type": "object",
            "title": "Contact",
            "required": ["email"],
            "properties": {
                "email": {"type": "string", "title": "E-mail", "format": "email"},
                "phone": {"type": "string", "title": "Phone"},
            },
        },
    },
}
"""JSON schema of a form that has all kinds of controls."""


def markdown(_: Question) -> list[Step]:
    """Scripted reply with Markdown: a table, a formula, code and a task list."""
    return [MARKDOWN]


def reason(question: Question) -> list[Step]:
    """Scripted reply with reasoning before the text."""
    city = (question.cities or ["A city"])[0]
    thought = (
        f"**What counts**\n\n{city} has an old town, a river and more museums than a week has days. Nobody sees all, "
        "so the question is when a visitor begins to repeat the way to the same café.\n\n**The sum**\n\n"
        "One day for the centre, one for a museum and its garden, one for getting lost. That makes three."
    )
    return [Thought(thought, signature=b"scripted"), f"**Three.** {city} in two is a race, and in four a habit."]


def write_itinerary(question: Question) -> list[Step]:
    """Scripted reply with a tool call whose long arguments are streamed."""
    if not question.cities:
        return which_city(question)
    if "write_itinerary" in question.results:
        return ["Five days, written down."]
    city = question.cities[0]
    themes = ("The old town", "Museums", "The hills", "Markets", "The way back")
    days = [
        {
            "title": f"Day {number}: {theme}",
            "morning": f"Early in {city}: {theme.lower()}, before the coaches come.",
            "afternoon": "A long lunch, then a walk without a map until the tea is ready.",
            "evening": "Where the menu is only in the local language, and the last tram home.",
        }
        for number, theme in enumerate(themes, start=1)
    ]
    return ["Five days take a while to write:", Call("write_itinerary", {"city": city, "days": days}, streamed=True)]


def export(question: Question) -> list[Step]:
    """Scripted reply with a tool that returns a file."""
    if not question.cities:
        return which_city(question)
    if "export_temperatures" in question.results:
        return ["Twelve lines, one for each month."]
    return [Call("export_temperatures", {"city": question.cities[0]})]


def read_files(question: Question) -> list[Step]:
    """Scripted reply that lists the files that the user has attached."""
    if not question.files:
        return [
            "There is no file yet. Paste one, drop it on the page, or choose one with the paper clip; then ask again."
        ]
    sizes = (f"- `{file.mime_type}`, {_size(len(file.data or b''))}" for file in question.files)
    return ["\n".join(["You attached:", "", *sizes])]


def _size(size: int) -> str:
    return f"{size} bytes" if size < 1000 else f"{size / 1000:,.1f} kB"


def time_zone(question: Question) -> list[Step]:
    """Scripted reply with a client tool that the page executes without asking the user."""
    match question.results:
        case {"get_time_zone": {"timeZone": zone}}:
            return [f"Your clock is set to **{zone}**."]
        case {"get_time_zone": _}:
            return ["The page did not say."]
    return [Call("get_time_zone", {})]


def theme(question: Question) -> list[Step]:
    """Scripted reply with a client tool that changes the page."""
    if "set_theme" in question.results:
        return ["Done. Say *light theme* to have it the other way."]
    return [Call("set_theme", {"theme": "dark" if "dark" in question.text.casefold() else "light"})]


def location(question: Question) -> list[Step]:
    """Scripted reply with a client tool that the page executes only after it has asked the user."""
    match question.results:
        case {"get_location": {"latitude": latitude, "longitude": longitude}}:
            return [f"You are at **{latitude:.2f}°, {longitude:.2f}°**."]
        case {"get_location": _}:
            return ["That stays your secret, then."]
    return [Call("get_location", {})]


def ask(question: Question) -> list[Step]:
    """Scripted reply with a question that the user answers in a form."""
    match question.results:
        case {"adk_request_input": {"name": name, "city": city, "nights": nights}}:
            return [f"Thank you, {name}: {nights} nights in {city} it is."]
        case {"adk_request_input": _}:
            return ["Thank you."]
    asked = {"message": "What does your trip need?", "response_schema": TRIP}
    return [Call("adk_request_input", asked)]


def calendar(question: Question) -> list[Step]:
    """Scripted reply with a tool that needs a credential."""
    match question.results:
        case {"read_calendar": {"entries": _}}:
            return ["Saturday is free, and on Sunday there is brunch at 11."]
        case {"read_calendar": _}:
            return ["The calendar needs its key: any will do."]
    return [Call("read_calendar", {})]


def hand_over(_: Question) -> list[Step]:
    """Scripted reply with a transfer to another agent."""
    return ["That is a question for the foodie.", Call("transfer_to_agent", {"agent_name": "foodie"})]


def forecast(question: Question) -> list[Step]:
    """Scripted reply with a tool that sends a data part. The page draws this part."""
    if not question.cities:
        return which_city(question)
    if "show_forecast" in question.results:
        return ["Four days, drawn by a component of the page."]
    return [Call("show_forecast", {"city": question.cities[0]})]


class Hiccup:
    """Simulates a model that fails in each chat at the first attempt, succeeds at the second, fails at the third, and
    so on.
    """

    def __init__(self) -> None:
        self._failed: set[str] = set()
        """The ids of the chats whose last attempt failed."""

    def fail(self, question: Question) -> list[Step]:
        """Scripted reply with an error after half of the sentence. After a retry, the reply has the whole sentence."""
        if question.chat not in self._failed:
            self._failed.add(question.chat)
            return ["I begin, and then", ConnectionError("The model has hung up, as it was told to.")]
        self._failed.remove(question.chat)
        return ["I begin, and then I come to the end of my sentence: the second attempt is as good as the first."]
