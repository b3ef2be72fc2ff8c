"""Set before any module here imports litellm."""

import os

os.environ["LITELLM_LOCAL_MODEL_COST_MAP"] = "True"  # else it fetches its price list from the network
