"""Tools of the scenarios. They work with old ADK versions."""

from typing import Any

from google.adk.tools.tool_context import ToolContext


def get_weather(city: str) -> dict[str, Any]:
    """Returns the weather."""
    return {"city": city, "celsius": 21}


def pay(amount: int) -> dict[str, Any]:
    """Pays."""
    return {"paid": amount}


def transfer(amount: int, tool_context: ToolContext) -> dict[str, Any]:
    """Asks by itself whether it may."""
    if tool_context.tool_confirmation is None:
        tool_context.request_confirmation(hint=f"Transfer {amount}?", payload={"amount": amount})
        return {"status": "waiting"}
    return {"status": "done" if tool_context.tool_confirmation.confirmed else "not done"}


def pick_colour(colours: list[str]) -> None:
    """Runs in the browser."""


def order(item: str) -> dict[str, str]:
    """Starts something long and says so."""
    return {"status": "pending"}


def book(trip: dict[str, Any], note: str = "") -> dict[str, str]:
    """Books a trip."""
    return {"booked": "yes"}


def explode() -> dict[str, str]:
    """Fails."""
    raise ValueError("the key is hunter2")
