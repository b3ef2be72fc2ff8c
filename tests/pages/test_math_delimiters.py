"""Formulas and prices in the text of a model: ``withDollars`` of the chat components, without a browser."""

from typing import Final

import pytest

from tests.pages.components import in_node

pytestmark = [pytest.mark.pages, pytest.mark.node]

SAME: Final = [
    "It costs $5 and $10.",
    "It costs $10. US$ 30, or $7, R$ 35, or $20 (CA$ 28), or $5 / AU$ 7, or $5 AU$ 7.",
    "I have $5 or 10$, and she pays $5 per day for 2$.",
    "From $1,000.50 to $2k, $100/month vs. $1,200/year, US$30, $10k-$20k, **$5** and *$10*.",
    "Pay $5! Then 10$ more, or $5! US$ 7, or $10 (R$ 50), or $5.50, R$ 28, or $3; R$ 15, or $1,000 (MX$ 20).",
    "It was $5? No, $6. It was $5.99. Now 3$ and $4.",
    "Save $1,200 a year, $100 a month or $5M-$10M, and $20 (HK$ 156); fees are $0.30 + 2.9%.",
    "Between $5 and $10, from $5 to $7, $5 vs $7, under $50, $5,000 - $7,000 and $1.5B (US$ 1.5B).",
    "Buy $AAPL/$TSLA, $AAPL and $TSLA, or $BTC,$ETH.",
    '"$5" "$x" and [$5](https://x.example/$a)',
    "$HOME and ${PATH}, A$AP and Ke$ha, https://x.example/?a=$1&b=$2",
    r"\\(not a formula\\), \[1\], `\(x\)` and \$5",
    "In a line, \\begin{align} a &= b \\end{align} stays.\n\n\\begin{itemize}\n\\item $5\n\\end{itemize}",
    "```latex\n\\begin{align}\na &= b\n\\end{align}\n```",
    "\\begin{equation}\nis how one begins:\n\n```latex\n\\end{equation}\n$x$\n```",
    "\\[\nis how one begins:\n\n~~~latex\n\\]\n$x$\n~~~",
    "$$\nis how one begins:\n```latex\n$$\n$x$\n```",
    "Write $$ twice:\n\n- So:\n\n  ```latex\n  $$x$$ $x$\n  ```",
    "A \\( or \\[ begins:\n```latex\n\\) or \\] $x$\n```",
    "- Run:\n     ```sh\n     echo $A $\n\n     echo $B $\n     ```",
]

FORMULAS: Final = {
    "$x^2$ costs $5": "$$x^2$$ costs $5",
    "the $n$th, the $x$-axis, $a$, $b$": "the $$n$$th, the $$x$$-axis, $$a$$, $$b$$",
    "$x = 5 mod 3$, $5 mod 3$, $C^*$ and $A^+$": "$$x = 5 mod 3$$, $$5 mod 3$$, $$C^*$$ and $$A^+$$",
    "So $5! = 120$, $0! = 1$, $5! / 3! = 20$, $6! mod 7$ and $n! + 1$": (
        "So $$5! = 120$$, $$0! = 1$$, $$5! / 3! = 20$$, $$6! mod 7$$ and $$n! + 1$$"
    ),
    r"with $q, r$, $x \in S, R$, $R$, $2\pi r, R$ and $P, Q, R$": (
        r"with $$q, r$$, $$x \in S, R$$, $$R$$, $$2\pi r, R$$ and $$P, Q, R$$"
    ),
    r"$E = mc^2$, $0 \le x < 1$, $10^{-3}$, $2x + 3 = 7$, $3.14$ and $1, 2, \ldots, n$": (
        r"$$E = mc^2$$, $$0 \le x < 1$$, $$10^{-3}$$, $$2x + 3 = 7$$, $$3.14$$ and $$1, 2, \ldots, n$$"
    ),
    r"$p = \text{the mass of earth}$, $2 \text{ for all } x$, $5\,\text{m}$ and $\operatorname{arg max} f$": (
        r"$$p = \text{the mass of earth}$$, $$2 \text{ for all } x$$, $$5\,\text{m}$$ and $$\operatorname{arg max} f$$"
    ),
    r"$f: X \to Y$, $a_1, \dots, a_n$, $|x| \leq 5$, $[0, 1)$, $f'(x)$, $A^T$, $\sin x \cos y$": (
        r"$$f: X \to Y$$, $$a_1, \dots, a_n$$, $$|x| \leq 5$$, $$[0, 1)$$, $$f'(x)$$, $$A^T$$, $$\sin x \cos y$$"
    ),
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
    body = 'const { withDollars } = await load("messages/math-delimiters.ts"); return given.map(withDollars);'
    result: list[str] = in_node(body, texts)
    return result


def test_prices_and_code_stay_as_they_are() -> None:
    assert with_dollars(SAME) == SAME


def test_a_formula_gets_two_dollars() -> None:
    assert with_dollars([*FORMULAS]) == [*FORMULAS.values()]


@pytest.mark.timeout(60)
def test_beginnings_without_an_end_take_linear_time() -> None:
    texts = [
        beginning * 200_000
        for beginning in (
            r"\(a",
            "\\[\n",
            "\\[ a",
            "$$ ",
            "$$a\n",
            "$a ",
            "`a\n",
            "\\begin{align}\na\n",
            "$$\n```\n",
            "\\[\n~~~\n",
        )
    ]
    assert [len(text) for text in with_dollars(texts)] == [len(text) for text in texts]
