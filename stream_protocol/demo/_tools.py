"""Tools of the travel guide. Their data is invented and constant."""

import asyncio
from collections.abc import Callable
from typing import Any, Final, TypeAlias

from google.adk.auth.auth_tool import AuthConfig
from google.adk.tools import BaseTool, FunctionTool, ToolContext, request_input
from google.genai import types
from pydantic import BaseModel

from stream_protocol.agents import client_tool, emit_data, for_users, report_progress
from stream_protocol.demo._chart import bar_chart

Json: TypeAlias = dict[str, Any]

RUN_SECONDS: Final = 0.7
"""The number of seconds that a tool runs, so that the page can show a running tool."""

TEMPERATURES: Final = {
    "Kyoto": (9, 10, 14, 20, 25, 28, 32, 33, 29, 23, 17, 11),
    "Lisbon": (15, 16, 19, 20, 23, 27, 29, 29, 27, 23, 18, 15),
    "Oslo": (-1, 0, 5, 10, 17, 20, 22, 21, 16, 9, 4, 0),
    "Rome": (12, 13, 16, 19, 24, 28, 31, 32, 27, 22, 17, 13),
}
"""City -> highest temperature of the day for each month, in degrees Celsius."""

HOTELS: Final = {
    "Kyoto": ("Kamo Ryokan", 140),
    "Lisbon": ("Casa do Miradouro", 95),
    "Oslo": ("Fjordhuset", 130),
    "Rome": ("Albergo Trastevere", 110),
}
"""City -> a hotel, and its price per night in euros."""

AGENCIES: Final = ("Posada", "Nachtlager", "Sleepwell", "Tatami")
"""Names of agencies. The tool reports progress for each of them."""


CALENDAR_KEY: Final = AuthConfig.model_validate(
    {"authScheme": {"type": "apiKey", "in": "header", "name": "X-Calendar-Key"}, "credentialKey": "calendar"}
)
"""The auth config for the calendar's API key. Any text works as the key."""


class Day(BaseModel):
    """One day of an itinerary."""

    title: str
    morning: str
    afternoon: str
    evening: str


@for_users(title="Weather")
async def get_weather(city: str) -> Json:
    """Tells the weather of the coming weekend in a city."""
    await asyncio.sleep(RUN_SECONDS)
    if city not in TEMPERATURES:
        return {"error": f"There is no forecast for {city}."}
    return {"city": city, "celsius": TEMPERATURES[city][4], "sky": "clear" if city != "Oslo" else "light rain"}


@for_users(title="Find a hotel")
async def find_hotels(city: str, nights: int, tool_context: ToolContext) -> Json:
    """Finds a hotel in a city and its price in euros for the given number of nights."""
    for number, agency in enumerate(AGENCIES):
        report_progress(tool_context, number, len(AGENCIES), f"Asking {agency}")
        await asyncio.sleep(2 * RUN_SECONDS / len(AGENCIES))
    report_progress(tool_context, len(AGENCIES), len(AGENCIES))
    if city not in HOTELS:
        return {"error": f"No hotel is known in {city}."}
    name, price = HOTELS[city]
    return {"hotel": name, "price_eur": price * nights, "rating": 4.6}


@for_users(title="Save the itinerary")
async def write_itinerary(city: str, days: list[Day]) -> Json:
    """Saves an itinerary of one or more days."""
    return {"saved": f"{city}, {len(days)} days"}


@for_users(title="Draw the temperatures")
async def draw_temperatures(city: str) -> Json:
    """Draws a bar chart of a city's temperatures, January to December."""
    await asyncio.sleep(RUN_SECONDS)
    if city not in TEMPERATURES:
        return {"error": f"No temperatures are known for {city}."}
    chart = types.Part.from_bytes(data=bar_chart(TEMPERATURES[city]), mime_type="image/png")
    return {"city": city, "unit": "°C", "chart": chart}


@for_users(title="Book a trip")
async def book_trip(city: str, nights: int, price_eur: int) -> Json:
    """Books a trip. The traveller is asked for approval first."""
    await asyncio.sleep(RUN_SECONDS)
    return {"booked": True, "reference": f"{city[:3].upper()}-{nights}-{price_eur}"}


@for_users(title="Reserve a seat")
async def reserve_seat(city: str, tool_context: ToolContext) -> Json:
    """Reserves a seat on the train to a city. The traveller is asked which seat to reserve."""
    free = {"seat": "12A", "quiet_car": True}
    answer = tool_context.tool_confirmation
    if answer is None:
        tool_context.request_confirmation(hint=f"Which seat on the train to {city}?", payload=free)
        return {"status": "The traveller is choosing a seat."}
    if not answer.confirmed:
        return {"reserved": None}
    chosen = answer.payload if isinstance(answer.payload, dict) else {}
    return {"reserved": free | chosen}


@for_users(title="Check the visa rules")
async def check_visa(country: str) -> Json:
    """Asks the visa office whether a visa is needed."""
    await asyncio.sleep(RUN_SECONDS)
    return {"error": f"The visa office did not answer about {country}: its line is busy."}


@for_users(title="Show the forecast")
async def show_forecast(city: str, tool_context: ToolContext) -> Json:
    """Shows the weather of the coming days in a city, as a card on the page."""
    await asyncio.sleep(RUN_SECONDS)
    if city not in TEMPERATURES:
        return {"error": f"There is no forecast for {city}."}
    warmest = TEMPERATURES[city][4]
    skies = (("Fri", 0, "clear"), ("Sat", -2, "light rain"), ("Sun", 1, "cloudy"), ("Mon", 2, "clear"))
    days = [{"day": day, "celsius": warmest + change, "sky": sky} for day, change, sky in skies]
    emit_data(tool_context, "weather", {"city": city, "days": days})
    return {"days": days}


@for_users(title="Export the temperatures")
async def export_temperatures(city: str) -> Json:
    """Makes a CSV file of a city's temperatures, January to December."""
    await asyncio.sleep(RUN_SECONDS)
    if city not in TEMPERATURES:
        return {"error": f"No temperatures are known for {city}."}
    lines = ["month,celsius", *(f"{month},{celsius}" for month, celsius in enumerate(TEMPERATURES[city], start=1))]
    return {"city": city, "file": types.Part.from_bytes(data="\n".join(lines).encode(), mime_type="text/csv")}


@for_users(title="Read the calendar")
async def read_calendar(tool_context: ToolContext) -> Json:
    """Reads the traveller's calendar. The traveller is asked for the key of the calendar."""
    if tool_context.get_auth_response(CALENDAR_KEY) is None:
        tool_context.request_credential(CALENDAR_KEY)
        return {"status": "The traveller is asked for the key."}
    return {"entries": [{"day": "Saturday", "entry": "Free"}, {"day": "Sunday", "entry": "Brunch at 11"}]}


get_time_zone = for_users(title="Your time zone")(
    client_tool("get_time_zone", "Tells the traveller's time zone and language.")
)
get_location = for_users(title="Your location")(
    client_tool("get_location", "Asks where the traveller is: latitude and longitude in degrees.")
)
set_theme = for_users(title="Change the theme")(
    client_tool(
        "set_theme",
        "Makes the page light or dark, or as the traveller's system is.",
        {
            "type": "object",
            "properties": {"theme": {"type": "string", "enum": ["light", "dark", "system"]}},
            "required": ["theme"],
        },
    )
)


TOOLS: Final[tuple[BaseTool | Callable[..., Any], ...]] = (
    get_weather,
    find_hotels,
    write_itinerary,
    draw_temperatures,
    FunctionTool(book_trip, require_confirmation=True),
    reserve_seat,
    check_visa,
    show_forecast,
    export_temperatures,
    read_calendar,
    get_time_zone,
    get_location,
    set_theme,
    request_input,
)
