"""Settings that must exist before a module of this folder imports litellm."""

import os
from pathlib import Path

import certifi
import pytest

os.environ["LITELLM_LOCAL_MODEL_COST_MAP"] = "True"  # without this, the import of litellm loads prices from the network


@pytest.fixture(scope="session")
def one_authority(tmp_path_factory: pytest.TempPathFactory) -> Path:
    file = tmp_path_factory.mktemp("tls") / "one.pem"
    end = "-----END CERTIFICATE-----\n"
    file.write_text(certifi.contents().partition(end)[0] + end)
    return file


@pytest.fixture(autouse=True)
def few_authorities(one_authority: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Use a single certificate authority. No test uses TLS, but each model client would load all authorities several
    times.
    """
    monkeypatch.setenv("SSL_CERT_FILE", str(one_authority))
