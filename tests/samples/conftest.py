"""Settings that must exist before any agent is created. The models have test clients, as in ``tests/conformance``."""

import os

from tests.conformance.conftest import few_authorities, one_authority

__all__ = ["few_authorities", "one_authority"]

os.environ["NO_GCE_CHECK"] = "true"  # else google-auth asks whether this is Google's cloud
