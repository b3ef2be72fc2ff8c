"""Formulas and prices in the text of a model: ``withDollars`` of the chat components, without a browser."""

import json
import subprocess
from typing import Final

import pytest

from tests.processes import ROOT
from tests.tools import require_node_project

pytestmark = [pytest.mark.pages, pytest.mark.node]

EXAMPLE: Final = ROOT / "examples" / "nextjs"

SCRIPT: Final = """
const { readFileSync } = require("node:fs");
const typescript = require("typescript");
const source = readFileSync("components/messages/math-delimiters.ts", "utf8");
const options = { module: typescript.ModuleKind.CommonJS, target: typescript.ScriptTarget.ES2022 };
new Function("exports", typescript.transpileModule(source, { compilerOptions: options }).outputText)(exports);
process.stdout.write(JSON.stringify(JSON.parse(readFileSync(0, "utf8")).map(exports.withDollars)));
"""

SAME: Final = [
    "It costs $5 and $10.",
    "It costs $10. US$ 30, or $7, R$ 35, or $20 (CA$ 28), or $5 / AU$ 7, or $5 AU$ 7.",
    "I have $5 or 10$, and she pays $5 per day for 2$.",
    "From $1,000.50 to $2k, $100/month vs. $1,200/year, US$30, $10k-$20k, **$5** and *$10*.",
    "Buy $AAPL/$TSLA, $AAPL and $TSLA, or $BTC,$ETH.",
    '"$5" "$x" and [$5](https://x.example/$a)',
    "$HOME and ${PATH}, A$AP and Ke$ha, https://x.example/?a=$1&b=$2",
    r"\\(not a formula\\), \[1\], `\(x\)` and \$5",
    "In a line, \\begin{align} a &= b \\end{align} stays.\n\n\\begin{itemize}\n\\item $5\n\\end{itemize}",
    "```latex\n\\begin{align}\na &= b\n\\end{align}\n```",
    "- Run:\n     ```sh\n     echo $A $\n\n     echo $B $\n     ```",
]

FORMULAS: Final = {
    "$x^2$ costs $5": "$$x^2$$ costs $5",
    "the $n$th, the $x$-axis, $a$, $b$": "the $$n$$th, the $$x$$-axis, $$a$$, $$b$$",
    "$x = 5 mod 3$, $5 mod 3$, $C^*$ and $A^+$": "$$x = 5 mod 3$$, $$5 mod 3$$, $$C^*$$ and $$A^+$$",
    r"so \(a\), \(f(x)\) and \(\text{a} \\ b\)": r"so $$a$$, $$f(x)$$ and $$\text{a} \\ b$$",
    "Use ` as a quote.\n\nThe formula $x$ and `code`": "Use ` as a quote.\n\nThe formula $$x$$ and `code`",
    "> \\[\n> x = 1\n> \\]": "> $$\\displaystyle x = 1$$",
    "> so \\(a\n> + b\\)": "> so $$a\n+ b$$",
    "- \\[\n  x = 1\n  \\]": "- $$\\displaystyle x = 1$$",
    "\\[ a \\[\n\\[\nx = 1 \\\\[2pt]\ny\n\\]": "\\[ a \\[\n$$\nx = 1 \\\\[2pt]\ny\n$$",
    "\\begin{equation}\nE = mc^2 \\label{eq:mass}\n\\end{equation}\nwhere": (
        "$$\n\\begin{equation}\nE = mc^2 \n\\end{equation}\n$$\nwhere"
    ),
    "- So:\n\n  \\begin{align*}\n  a &= b \\\\\n\n  c &= d\n  \\end{align*}.": (
        "- So:\n\n  $$\n  \\begin{align*}\n  a &= b \\\\\n\n  c &= d\n  \\end{align*}.\n  $$"
    ),
    "$$\n\\begin{align}\na &= b\n\\end{align}\n$$": "$$\n\\begin{align}\na &= b\n\\end{align}\n$$",
}
"""Texts with formulas, and the same texts with two dollars around each formula."""


def with_dollars(texts: list[str]) -> list[str]:
    node = require_node_project(EXAMPLE)
    given = json.dumps(texts)
    done = subprocess.run([node, "-e", SCRIPT], cwd=EXAMPLE, input=given, capture_output=True, text=True, check=True)
    result: list[str] = json.loads(done.stdout)
    return result


def test_prices_and_code_stay_as_they_are() -> None:
    assert with_dollars(SAME) == SAME


def test_a_formula_gets_two_dollars() -> None:
    assert with_dollars([*FORMULAS]) == [*FORMULAS.values()]


@pytest.mark.timeout(60)
def test_beginnings_without_an_end_take_linear_time() -> None:
    texts = [
        beginning * 200_000
        for beginning in (r"\(a", "\\[\n", "\\[ a", "$$ ", "$$a\n", "$a ", "`a\n", "\\begin{align}\na\n")
    ]
    assert [len(text) for text in with_dollars(texts)] == [len(text) for text in texts]
