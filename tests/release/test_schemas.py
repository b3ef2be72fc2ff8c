"""The files of ``examples/deploy`` by their formats' own schemas, which are installed here."""

import sys
from collections.abc import Callable, Iterator
from copy import deepcopy
from importlib import import_module
from pathlib import Path
from typing import Any, Final

import pytest

from tests.deploy.files import FOLDER, documents
from tests.processes import ROOT
from tests.release.conftest import run

pytestmark = pytest.mark.release

KUBERNETES: Final = ("1.30", "1.37")


@pytest.fixture(scope="module", autouse=True)
def _judges(tmp_path_factory: pytest.TempPathFactory) -> Iterator[None]:
    folder = tmp_path_factory.mktemp("judges")
    install = (str(Path(sys.executable).with_name("uv")), "pip", "install", "--quiet", "--no-deps", "--require-hashes")
    locked = str(ROOT / "requirements" / "deploy.txt")
    run(*install, "--python", sys.executable, "--target", str(folder), "--requirement", locked, cwd=folder)
    with pytest.MonkeyPatch.context() as patched:
        patched.syspath_prepend(folder)
        yield


def judge_compose(text: str) -> None:
    import_module("compose_spec").PyCompose.from_yaml(text)


def judge_kubernetes(resource: dict[str, Any], version: str) -> None:
    judge = import_module("kubernetes_validate")
    try:
        judge.validate(resource, version, strict=True)
    except judge.ValidationError as error:  # quotes the whole schema
        raise AssertionError(error.message) from None


def test_the_compose_file_is_one() -> None:
    text = (FOLDER / "compose.yaml").read_text(encoding="utf-8")
    judge_compose(text)
    for right, wrong in (("read_only: true", "readonly: true"), ("stop_grace_period: 45s", "stop_grace_period: long")):
        assert right in text
        with pytest.raises(ValueError, match="services"):
            judge_compose(text.replace(right, wrong))


@pytest.mark.parametrize("version", KUBERNETES)
def test_kubernetes_has_all_that_is_said(version: str) -> None:
    (service,) = documents("cloud-run.yaml")
    containers = service["spec"]["template"]["spec"]["containers"]  # as of a pod; what is around them is Knative's
    pod = {"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "chat"}, "spec": {"containers": containers}}
    resources = deepcopy([*documents("kubernetes.yaml"), pod])
    for resource in resources:
        judge_kubernetes(resource, version)
    wrongs: list[Callable[[dict[str, Any]], object]] = [
        lambda deployment: deployment["spec"].pop("selector"),
        lambda service: service["spec"]["ports"][0].update(targetport="http"),
        lambda budget: budget["spec"].update(maxUnavailable=[1]),
        lambda pod: pod["spec"]["containers"][0]["startupProbe"]["httpGet"].pop("port"),
    ]
    for resource, spoil in zip(resources, wrongs, strict=True):
        spoil(resource)
        with pytest.raises(AssertionError):
            judge_kubernetes(resource, version)
