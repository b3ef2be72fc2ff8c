"""The script of the travel guide, for the demo without an API key.

Each reply depends only on the user's last message and the tool results after it. So one agent serves any number of
chats, and a chat can continue after a restart. The only state is the set of chats whose last attempt has failed.
"""

import re
from collections.abc import Mapping, Sequence
from typing import Any, Final

from google.adk.models.llm_request import LlmRequest

from stream_protocol.demo import _features as features
from stream_protocol.demo._question import Question, Scene, read_question, which_city
from stream_protocol.demo._sights import see_sights
from stream_protocol.demo._tools import HOTELS
from stream_protocol.testing import Call, ScriptedLlm, Step, Thought, Wait, token_usage, web_sources

PACE: Final = 0.04
"""Seconds between two fragments."""


def scripted_model() -> ScriptedLlm:
    hiccup = features.Hiccup()
    scenes = ((r"\bfail\b", hiccup.fail), *SCENES)
    return ScriptedLlm(model="scripted", respond=lambda request: respond(request, scenes), delay=PACE)


def respond(request: LlmRequest, scenes: Sequence[tuple[str, Scene]]) -> list[Step]:
    """Return the scripted reply to a request, and its token usage.

    ``scenes``: pairs of a regular expression and a function. The first expression that matches the user's message
    decides which function creates the reply.
    """
    question = read_question(request)
    scene = next((scene for pattern, scene in scenes if re.search(pattern, question.text, re.IGNORECASE)), small_talk)
    steps = scene(question)
    return [Wait(10 * PACE), *steps, _usage(request, *steps)]


def scripted_foodie() -> ScriptedLlm:
    return ScriptedLlm(model="scripted", respond=where_to_eat, delay=PACE)


def where_to_eat(request: LlmRequest) -> list[Step]:
    """Scripted reply of the restaurant agent: where to eat in the city that was mentioned last."""
    texts = [part.text for content in reversed(request.contents) for part in content.parts or [] if part.text]
    city = next((city for text in texts for city in HOTELS if city.casefold() in text.casefold()), "town")
    reply = f"In {city}, eat where the market eats, at noon. In the evening, follow the noise one street uphill."
    return [reply, _usage(request, reply)]


def plan_weekend(question: Question) -> list[Step]:
    """Scripted reply with most features: reasoning, parallel tools, sources, streamed arguments, an image, an
    approval.
    """
    if not question.cities:
        return which_city(question)
    city = question.cities[0]
    match question.results:
        case {"book_trip": booking}:
            return [_booked(booking)]
        case {"draw_temperatures": _, "find_hotels": {"price_eur": price}}:
            text = "Pack for the season in the chart. Shall I book it? It needs your approval."
            return [text, Call("book_trip", {"city": city, "nights": 2, "price_eur": price})]
        case {"write_itinerary": _}:
            return ["The itinerary is saved. One look at the year:", Call("draw_temperatures", {"city": city})]
        case {"get_weather": weather, "find_hotels": hotel}:
            news = (
                f"**{city}** will have a {weather['sky']} weekend at {weather['celsius']} °C, and *{hotel['hotel']}* "
                f"has a room for **{hotel['price_eur']} €**. I'll write the plan down."
            )
            return [
                news,
                web_sources({f"https://en.wikivoyage.org/wiki/{city}": f"{city} on Wikivoyage"}),
                Call("write_itinerary", {"city": city, "days": _days(city)}, streamed=True),
            ]
        case _:
            return [
                Thought(
                    f"A weekend in {city}: two nights. The weather decides between gardens and museums, and the hotel "
                    "decides the budget. The two don't depend on each other, so I can ask for both at once.",
                    signature=b"scripted",
                ),
                "I'll look at the weather and at hotels, both at once.",
                Call("get_weather", {"city": city}),
                Call("find_hotels", {"city": city, "nights": 2}),
            ]


def compare_weather(question: Question) -> list[Step]:
    """Scripted reply with parallel calls of one tool for several cities."""
    if not question.cities:
        return which_city(question)
    if "get_weather" in question.results:
        found = (each for each in question.forecasts if "celsius" in each)
        lines = "\n".join(f"- **{each['city']}**: {each['celsius']} °C, {each['sky']}" for each in found)
        return [f"This weekend:\n\n{lines}\n\nPick the one that suits your shoes."]
    return ["One forecast each:", *(Call("get_weather", {"city": city}) for city in question.cities)]


def draw_temperatures(question: Question) -> list[Step]:
    """Scripted reply with a tool that returns an image."""
    if not question.cities:
        return which_city(question)
    if "draw_temperatures" in question.results:
        return ["The highest temperature of the day in each month. Blue is cold, and orange is warm."]
    return [Call("draw_temperatures", {"city": question.cities[0]})]


def book_trip(question: Question) -> list[Step]:
    """Scripted reply with a tool that needs approval."""
    if not question.cities:
        return which_city(question)
    match question.results:
        case {"book_trip": booking}:
            return [_booked(booking)]
        case _:
            city = question.cities[0]
            nights = _nights(question.text)
            arguments = {"city": city, "nights": nights, "price_eur": nights * HOTELS[city][1]}
            return ["I can book that as soon as you approve it.", Call("book_trip", arguments, streamed=True)]


def reserve_seat(question: Question) -> list[Step]:
    """Scripted reply with a tool that requests approval while it runs. The approval has a payload."""
    if not question.cities:
        return which_city(question)
    match question.results:
        case {"reserve_seat": {"reserved": None}}:
            return ["No seat, then. You can always stand."]
        case {"reserve_seat": {"reserved": {"seat": seat, "quiet_car": quiet}}}:
            return [f"Seat **{seat}** is yours{', in the quiet car' if quiet else ''}."]
        case {"reserve_seat": _}:
            return ["I'll reserve it as soon as you have chosen."]
        case _:
            return [Call("reserve_seat", {"city": question.cities[0]})]


def check_visa(question: Question) -> list[Step]:
    """Scripted reply with a tool that fails."""
    if "check_visa" in question.results:
        return ["The visa office did not answer, so I can't tell. Please try again later."]
    country = question.text.rstrip("?!. ").split()[-1]
    return [Call("check_visa", {"country": country})]


def choose_city(question: Question) -> list[Step]:
    """Scripted reply with a question that has choices."""
    match question.results:
        case {"adk_request_input": {"result": city}}:
            return [f"A good choice. Try *Plan a weekend in {city}* next."]
        case {"adk_request_input": _}:
            return ["A good choice."]
        case _:
            schema = {"type": "string", "enum": list(HOTELS)}
            return [Call("adk_request_input", {"message": "Which city do you fancy?", "response_schema": schema})]


def long_story(_: Question) -> list[Step]:
    """Scripted reply with a text that takes half a minute, so that the user can stop the run."""
    stations = [f"{time} in {city}" for time in ("At dawn", "At noon", "At night") for city in HOTELS] * 3
    chapters = (
        f"### {number}. {station}\n\nThe train stood longer than it should. A woman with a cello case got in, asked "
        "whether the seat was free, and told the whole carriage why it never is. Then the whistle blew.\n\n"
        for number, station in enumerate(stations, start=1)
    )
    return ["".join(chapters)]


def small_talk(question: Question) -> list[Step]:
    """Scripted reply to a message that matches no pattern."""
    if question.files:
        return [*features.read_files(question), "\n\nThe demo is a script, so it cannot say more about them."]
    excuse = "I answer from a script, because the server has no `GOOGLE_API_KEY`, and the script has no line for that."
    return [f"{excuse} Try *Plan a weekend in Lisbon*: it shows nearly everything."]


SCENES: Final[tuple[tuple[str, Scene], ...]] = (
    (r"\bmarkdown\b", features.markdown),
    (r"\bhow many days\b", features.reason),
    (r"\bitinerary\b", features.write_itinerary),
    (r"\bcsv\b", features.export),
    (r"\battach", features.read_files),
    (r"\btime zone\b", features.time_zone),
    (r"\bdark\b|\blight theme\b", features.theme),
    (r"\bwhere am i\b", features.location),
    (r"\bask me\b", features.ask),
    (r"\bcalendar\b", features.calendar),
    (r"\beat\b", features.hand_over),
    (r"\bforecast\b", features.forecast),
    (r"\bplan\b|\bweekend\b", plan_weekend),
    (r"\bweather\b", compare_weather),
    (r"\bdraw\b|\btemperatures?\b|\bchart\b", draw_temperatures),
    (r"\bbook\b", book_trip),
    (r"\bseat\b", reserve_seat),
    (r"\bvisa\b", check_visa),
    (r"\bworth seeing\b|\bsights?\b", see_sights),
    (r"\bchoose\b", choose_city),
    (r"\bstory\b", long_story),
)
"""Patterns for the user's message and their scenes. The first pattern that matches is used."""


def _usage(request: LlmRequest, *steps: Step) -> Step:
    prompt = sum(len((part.text or "").split()) for content in request.contents for part in content.parts or [])
    reply = sum(len(step.split()) for step in steps if isinstance(step, str))
    thoughts = sum(len(step.text.split()) for step in steps if isinstance(step, Thought))
    return token_usage(prompt=prompt, answer=reply, thoughts=thoughts)


def _nights(text: str) -> int:
    named = re.search(r"\b(\w+) nights?\b", text, re.IGNORECASE)
    number = named[1].casefold() if named else ""
    numbers = {"one": 1, "a": 1, "two": 2, "three": 3, "four": 4, "five": 5, "six": 6, "seven": 7}
    return numbers.get(number, int(number) if number.isdecimal() and 0 < int(number) < 100 else 2)


def _booked(booking: Mapping[str, Any]) -> str:
    if booking.get("booked"):
        return f"Booked. Your reference is **{booking['reference']}**."
    return "Then I won't book it. Nothing was charged."


def _days(city: str) -> list[dict[str, str]]:
    return [
        {
            "title": f"Arriving in {city}",
            "morning": "Coffee near the station, then drop the bags at the hotel.",
            "afternoon": "The old town on foot, along the walls and back by the river.",
            "evening": "Dinner where the menu is only in the local language.",
        },
        {
            "title": f"{city} from above",
            "morning": "The hill before the queues, with a map and no plan.",
            "afternoon": "The market hall, then one museum and not two.",
            "evening": "The last tram, all the way to its end.",
        },
    ]
