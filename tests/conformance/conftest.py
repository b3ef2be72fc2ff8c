"""Set before any module here imports litellm."""

import os
from pathlib import Path

import certifi
import pytest

os.environ["LITELLM_LOCAL_MODEL_COST_MAP"] = "True"  # else it fetches its price list from the network


@pytest.fixture(scope="session")
def one_authority(tmp_path_factory: pytest.TempPathFactory) -> Path:
    file = tmp_path_factory.mktemp("tls") / "one.pem"
    end = "-----END CERTIFICATE-----\n"
    file.write_text(certifi.contents().partition(end)[0] + end)
    return file


@pytest.fixture(autouse=True)
def few_authorities(one_authority: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Nothing here speaks TLS, but each model's client reads all authorities, two or three times, 20 ms each."""
    monkeypatch.setenv("SSL_CERT_FILE", str(one_authority))
