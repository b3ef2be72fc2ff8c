"""Chats with ``useChat``: the model's replies, the actions on the page, and the expected results."""

from tests.conformance.visits.answers import APPROVALS, EAGER, PAGE_TOOLS, SAME_IDS
from tests.conformance.visits.ends import BROKEN, CUT, INTERRUPTED, TAKEN_BACK, WITH_WORDS
from tests.conformance.visits.kits import ELEMENTS, TEMPLATE

VISITS = [
    *APPROVALS,
    *PAGE_TOOLS,
    *TAKEN_BACK,
    *BROKEN,
    *EAGER,
    *SAME_IDS,
    *INTERRUPTED,
    *TEMPLATE,
    *ELEMENTS,
    *CUT,
    *WITH_WORDS,
]

OF_THE_LAST_MESSAGE = [visit for visit in VISITS if not visit.is_template and visit not in [*CUT, *WITH_WORDS]]
"""Visits that also work if the client sends only its last message."""
