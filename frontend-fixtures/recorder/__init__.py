"""Records the events in ``fixtures/``, with scripted models, ADK's own Runner, and fixed ids and times."""

import os

os.environ.setdefault(
    "LITELLM_LOCAL_MODEL_COST_MAP", "True"
)  # without this, the import of LiteLLM loads prices from the network
