"""Set before any agent is made: nothing here may ask the network."""

import os

os.environ["NO_GCE_CHECK"] = "true"  # else google-auth asks whether this is Google's cloud
