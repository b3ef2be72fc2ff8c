"""The chat components in Node, without a browser."""

import json
import subprocess
from pathlib import Path
from typing import Any, Final

from tests.processes import ROOT
from tests.tools import require_node_project

EXAMPLE: Final = ROOT / "examples" / "nextjs"

SCRIPT: Final = """
import {{ readFileSync }} from "node:fs";
import {{ register }} from "node:module";
register({loader});
const load = (path) => import({components} + path);
const given = JSON.parse(readFileSync(0, "utf8"));
const run = async () => {{ {body} }};
process.stdout.write(JSON.stringify(await run()));
"""


def in_node(body: str, given: object, folder: Path = EXAMPLE / "components") -> Any:
    """Return the result of a JavaScript function, as JSON. Its body knows ``given``, and ``load`` imports a file of the
    folder."""
    node = require_node_project(EXAMPLE)
    loader = json.dumps(Path(__file__).with_name("typescript_loader.mjs").as_uri())
    components = json.dumps(folder.as_uri() + "/")
    script = SCRIPT.format(loader=loader, components=components, body=body)
    command = [node, "--input-type=module", "-e", script]
    done = subprocess.run(command, cwd=EXAMPLE, input=json.dumps(given), capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)
