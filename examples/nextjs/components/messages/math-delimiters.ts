/** The display environments of LaTeX that KaTeX supports. */
const ENVIRONMENT = /\{(?:align|alignat|equation|gather)\*?\}/.source;

/** Lookahead before each character of a formula, so a formula cannot extend into code. */
const NO_FENCE = /(?!`{3}|^[ \t]*~{3})/.source;

/**
 * Groups: a fence (1, and 2 for a nested one), inline code (3), `$$…$$` on its own lines (4 and 5) and inline, `\[…\]`
 * on its own lines (6 and 7), `\(…\)` (8), inline `\[…\]` (9), a LaTeX environment on its own lines (10 and 11), an
 * escape, a shell's `${NAME}`, and `$…$` (12). A new Next.js app has a compile target without named groups.
 * A formula cannot contain the start of another formula. Each search ends there, so the time is linear.
 */
const PIECES = new RegExp(
  [
    /^ {0,3}(`{3,}|~{3,})[^]*?(?:^ {0,3}\1[`~]*[ \t]*$|$(?![^]))|(`{3,})(?!`)[^]*?(?<!`)\2(?!`)|(?<!`)(`{1,2})(?!`)(?:(?!\n[ \t]*\n)[^])*?(?<!`)\3(?!`)/,
    new RegExp(String.raw`^([ \t]*)\$\$((?:(?!\$\$|\n[ \t]*\n)${NO_FENCE}[^])+)\$\$[ \t]*$`),
    new RegExp(String.raw`\$\$(?:${NO_FENCE}[^])*?\$\$`),
    new RegExp(String.raw`^([ \t]*)\\\[((?:\\[^[\]]|${NO_FENCE}[^\\])+)\\\][ \t]*$`),
    new RegExp(String.raw`\\\(((?:\\[^()\n]|${NO_FENCE}[^\\\n]|\\?\n(?!\n))+)\\\)`),
    new RegExp(String.raw`\\\[((?:\\[^[\]]|${NO_FENCE}[^\\\n]|\n(?!\n))+)\\\]`),
    new RegExp(String.raw`^([ \t]*)(\\begin${ENVIRONMENT}(?:\\(?!begin${ENVIRONMENT})[^]|${NO_FENCE}[^\\])*?\\end${ENVIRONMENT}[.,;]?)[ \t]*$`),
    /\\[^]|\$\{[A-Z_]\w*\}(?![$^_])/,
    /(?<![\w$])\$([^\s$`](?:(?:\\\$|[^$`\n])*[^\s$`\\])?)\$(?![\d$])/,
  ]
    .map(({ source }) => source)
    .join("|"),
  "gm",
);

/**
 * Text between two dollars that is not a formula: it has two plain words in a row, a price before a word or at the end
 * of a sentence, or an end that no formula has. Examples: `$5 for me and 10$`, `$5 or 10$`, `$5. US$`, `$5, R$`,
 * `$5 (R$`, `$A/$B`. A factorial is not a price: `$5! = 120$`.
 */
const PROSE = /(?<![\\a-zA-Z{])[a-zA-Z]{2,} +[a-zA-Z]{2,}(?![a-zA-Z{(])|^\d[\d.,]*!? +(?!mod)[a-zA-Z]{2,} |^\d[\d.,]*[.;?]\s|^\d[^\\^_=]*(?:[\s(](?:US|CA|AU|NZ|HK|MX)|(?:, |\()R)$|[/("“=,:;]$/;

/** The argument of a LaTeX command, which may contain words: `\text{for all}`. */
const ARGUMENT = /(\\[a-zA-Z]+)\{[^{}]*\}/g;

/** The `>` of a quotation at the beginning of each line after the first. */
const QUOTED = /\n(?:[ \t]*>)+[ \t]?/g;

/** A `\label` of an equation, which KaTeX does not support. */
const LABEL = /\\label\{[^{}]*\}/g;

/** A command, a power or an operator. Escaped brackets and dollars without any of them are text: `\[1\]`. */
const FORMULA = /\\[a-z]|\^|\s[=<>+-]\s/i;

/**
 * Rewrite each formula as `$$…$$`, which the math plugin renders, and put the `$$` of a display formula on their own
 * lines. Models also write `$…$`, `\(…\)`, `\[…\]`, `\begin{align}` and prices, so a dollar before a space or a digit
 * does not end a formula.
 */
export function withDollars(markdown: string): string {
  if (!/[$\\]/.test(markdown)) return markdown;
  return markdown.replace(PIECES, (piece: string, ...groups: (string | undefined)[]) => {
    const [, , , indent, dollars, otherIndent, brackets, inline, inLine, thirdIndent, environment, single] = groups;
    const display = (dollars ?? brackets ?? environment)?.replace(LABEL, "").trim();
    if (display) return ["$$", display, "$$"].map((line) => (indent ?? otherIndent ?? thirdIndent ?? "") + line).join("\n");
    if (inline !== undefined) return `$$${inline.replace(QUOTED, "\n").trim()}$$`;
    if (inLine !== undefined) return FORMULA.test(inLine) ? `$$\\displaystyle ${inLine.replace(QUOTED, "\n").trim()}$$` : `\\[${withDollars(inLine)}\\]`;
    if (single !== undefined && !PROSE.test(single.replace(ARGUMENT, "$1{}")) && (!single.includes("\\$") || FORMULA.test(single))) return `$$${single}$$`;
    return piece;
  });
}
