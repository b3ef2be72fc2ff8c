"""Set before anything here imports litellm or makes an agent: nothing may ask the network."""

import os

os.environ["LITELLM_LOCAL_MODEL_COST_MAP"] = "True"  # else it fetches its price list
os.environ["NO_GCE_CHECK"] = "true"  # else google-auth asks whether this is Google's cloud
