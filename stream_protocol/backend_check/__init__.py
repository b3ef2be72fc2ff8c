"""Checks a chat backend in any language, as stock AI SDK clients use it.

Where to change what:

- ``_settings``: prompts, routes and headers.
- ``_stock_client``: requests, and the folding and judging of responses.
- ``_results``: declared checks and their outcomes.
"""
