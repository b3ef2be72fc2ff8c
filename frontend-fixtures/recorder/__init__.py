"""Makes the recordings in ``fixtures/``: scripted models, ADK's own Runner, fixed ids and times."""

import os

os.environ.setdefault("LITELLM_LOCAL_MODEL_COST_MAP", "True")  # else LiteLLM asks the network for prices when imported
