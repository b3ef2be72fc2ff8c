"""Sample agents, by name."""

from tests.samples.agents import (
    answers,
    apps,
    callbacks,
    confirmation,
    graphs,
    remote_tools,
    speaking,
    teams,
    workflow_agents,
)

MODULES = (answers, apps, callbacks, confirmation, graphs, remote_tools, speaking, teams, workflow_agents)

SAMPLES = {sample.name: sample for module in MODULES for sample in module.SAMPLES}
