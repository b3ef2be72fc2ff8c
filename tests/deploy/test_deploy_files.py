"""The program accepts the settings of ``examples/deploy``, and its files agree with each other."""

import re
from collections.abc import Mapping
from typing import Any, Final

import pytest
from google.adk.agents import LlmAgent

from stream_protocol.serving import ChatService
from stream_protocol.serving.http._routes import chat_routes
from stream_protocol.serving.http._stream_response import KEEP_ALIVE
from tests.batch import batch
from tests.deploy.files import FOLDER, STORING, compose, documents, entrypoint, lines, serve_options, words_of
from tests.documents import all_blocks
from tests.processes import ROOT

PORT: Final = 8000
DOCKERFILES: Final = {"a project": FOLDER / "Dockerfile", "the demo": ROOT / "server" / "Dockerfile"}
CONFIGURATION: Final = (FOLDER / "nginx.conf").read_text(encoding="utf-8")
NGINX_WAITS: Final = 60.0
"""Seconds between two bytes of a worker: the default of ``proxy_read_timeout``."""

Container = Mapping[str, Any]


def kubernetes(kind: str) -> dict[str, Any]:
    (found,) = [each for each in documents("kubernetes.yaml") if each["kind"] == kind]
    return found


def pod() -> dict[str, Any]:
    spec: dict[str, Any] = kubernetes("Deployment")["spec"]["template"]["spec"]
    return spec


def cloud_run() -> dict[str, Any]:
    (service,) = documents("cloud-run.yaml")
    spec: dict[str, Any] = service["spec"]["template"]["spec"]
    return spec


def workers() -> dict[str, list[str]]:
    """The whole command of each worker, wherever it runs."""
    services = compose()["services"]
    (in_pod,), (in_cloud_run,) = pod()["containers"], cloud_run()["containers"]
    shell, minus_c, *_ = in_cloud_run["command"]
    assert (shell, minus_c) == ("sh", "-c")
    (script,) = in_cloud_run["args"]
    return {
        "compose, first": [*entrypoint(), *services["worker-1"]["command"]],
        "compose, second": [*entrypoint(), *services["worker-2"]["command"]],
        "Kubernetes": [*entrypoint(), *in_pod["args"]],
        "Cloud Run": [word for word in words_of(script) if word != "exec"],
    }


@batch(command=workers)
def test_serve_takes_the_command_of_a_worker(command: list[str]) -> None:
    options = serve_options(command)
    assert (options["target"], options["host"], options["port"]) == ("my_package", "0.0.0.0", PORT)
    assert options["run_log_url"]
    assert options["session_service_uri"]
    assert options["log_format"] == "json"


def test_workers_that_have_an_address_have_numbers_there() -> None:
    metrics = {name: serve_options(command)["metrics"] for name, command in workers().items()}
    assert metrics == {"compose, first": True, "compose, second": True, "Kubernetes": True, "Cloud Run": False}
    annotations = kubernetes("Deployment")["spec"]["template"]["metadata"]["annotations"]
    assert annotations == {"prometheus.io/scrape": "true", "prometheus.io/port": str(PORT)}
    (installed,) = re.findall(r'"adk-ui-stream\[(.*)\]"', DOCKERFILES["a project"].read_text(encoding="utf-8"))
    assert "prometheus" in installed.split(",")


def test_a_worker_has_the_time_that_it_needs_to_end() -> None:
    commands = workers()
    drain = {name: serve_options(command)["drain"] for name, command in commands.items()}
    for number, name in ((1, "compose, first"), (2, "compose, second")):
        grace = compose()["services"][f"worker-{number}"]["stop_grace_period"]
        assert float(grace.removesuffix("s")) >= drain[name] + STORING
    (container,) = pod()["containers"]
    (sleep, seconds) = container["lifecycle"]["preStop"]["exec"]["command"]
    assert sleep == "sleep"
    assert pod()["terminationGracePeriodSeconds"] >= float(seconds) + drain["Kubernetes"] + STORING
    assert drain["Cloud Run"] < 10, "Cloud Run kills 10 seconds after SIGTERM"


def test_probes_ask_for_routes_that_there_are() -> None:
    routes = {route.path for route in chat_routes(ChatService(LlmAgent(name="assistant")))}
    (in_pod,), (in_cloud_run,) = pod()["containers"], cloud_run()["containers"]
    ports = {port["name"]: port["containerPort"] for port in in_pod["ports"]}
    probes = [
        *((ports[probe["port"]], probe["path"]) for probe in http_probes(in_pod)),
        *((in_cloud_run["ports"][0]["containerPort"], probe["path"]) for probe in http_probes(in_cloud_run)),
    ]
    assert len(probes) == 5
    assert {port for port, _ in probes} == {PORT}
    assert {path for _, path in probes} == {"/healthz", "/readyz"} <= routes
    (port,) = kubernetes("Service")["spec"]["ports"]
    assert ports[port["targetPort"]] == PORT
    for file in DOCKERFILES.values():
        (health,) = [line for line in lines(file) if line.startswith("HEALTHCHECK ")]
        assert "/readyz" in health


def http_probes(container: Container) -> list[dict[str, Any]]:
    return [
        container[name]["httpGet"] for name in ("startupProbe", "readinessProbe", "livenessProbe") if name in container
    ]


def test_labels_find_the_workers() -> None:
    deployment = kubernetes("Deployment")["spec"]
    labels = deployment["template"]["metadata"]["labels"]
    for selector in (
        deployment["selector"]["matchLabels"],
        kubernetes("Service")["spec"]["selector"],
        kubernetes("PodDisruptionBudget")["spec"]["selector"]["matchLabels"],
    ):
        assert selector == labels


@pytest.mark.parametrize(
    "container", [pod()["containers"][0], cloud_run()["containers"][0]], ids=["Kubernetes", "Cloud Run"]
)
def test_a_command_has_the_variables_that_it_names(container: Container) -> None:
    given = {variable["name"] for variable in container["env"]}
    named = {*re.findall(r"\$\(?(\w+)\)?", " ".join(container["args"]))}
    assert named == {"SESSIONS", "REDIS"} <= given


def test_the_secret_has_the_keys_that_the_pod_wants() -> None:
    (command,) = [each.code for each in all_blocks() if "kubectl create secret" in each.code]
    wanted = {variable["valueFrom"]["secretKeyRef"]["key"] for variable in pod()["containers"][0]["env"]}
    assert {*re.findall(r"--from-literal=([\w-]+)=", command)} == wanted


@batch(file=DOCKERFILES)
def test_an_image_is_nobodys_and_nothing_runs_in_it_as_root(file: Any) -> None:
    text = file.read_text(encoding="utf-8")
    (user,) = re.findall(r"^USER (\d+):(\d+)$", text, re.MULTILINE)
    assert "0" not in user
    assert text.index("\nUSER ") > text.rindex("\nRUN ")
    assert "--chown" not in text
    assert f"EXPOSE {PORT}" in text


def test_every_container_that_takes_requests_has_no_rights_and_nowhere_to_write_but_tmp() -> None:
    services = compose()["services"]
    for name in ("worker-1", "worker-2", "nginx"):
        service = services[name]
        assert (service["read_only"], service["tmpfs"], service["cap_drop"]) == (True, "/tmp", ["ALL"])
    (container,) = pod()["containers"]
    assert container["securityContext"]["readOnlyRootFilesystem"] is True
    assert pod()["securityContext"]["runAsNonRoot"] is True
    assert [mount["mountPath"] for mount in container["volumeMounts"]] == ["/tmp"]


def test_nginx_goes_round_the_workers_of_compose() -> None:
    services = compose()["services"]
    asked = re.findall(r"^\s*server ([\w-]+):(\d+) max_fails=0;$", CONFIGURATION, re.MULTILINE)
    assert asked == [(name, str(PORT)) for name in services if name.startswith("worker-")]
    (published,) = services["nginx"]["ports"]
    assert f"listen {published.rpartition(':')[2]} ssl" in CONFIGURATION
    inside = {volume.split(":")[1] for volume in services["nginx"]["volumes"]}
    assert inside == {"/etc/nginx/nginx.conf", "/etc/nginx/tls"}
    for path in re.findall(r"/[\w/.]+\.(?:crt|key)", CONFIGURATION):
        assert path.startswith("/etc/nginx/tls/")


def test_compose_waits_for_what_a_worker_needs() -> None:
    services = compose()["services"]
    options = serve_options(workers()["compose, first"])
    hosts = re.findall(r"(?://|@)([\w-]+)(?::\d+)?/", options["run_log_url"] + options["session_service_uri"])
    assert sorted(hosts) == sorted(services["worker-1"]["depends_on"])
    for name in services["worker-1"]["depends_on"]:
        assert "healthcheck" in services[name]


def test_nginxs_defaults_do_for_streams() -> None:
    assert not re.search(r"^\s*(?:proxy_read_timeout|proxy_buffering)\s", CONFIGURATION, re.MULTILINE)
    assert KEEP_ALIVE * 2 <= NGINX_WAITS
