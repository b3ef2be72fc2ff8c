/** The displayed environments of LaTeX that KaTeX draws. */
const ENVIRONMENT = /\{(?:align|alignat|equation|gather)\*?\}/.source;

/** Stands before the characters of a formula: none goes on in code. */
const NO_FENCE = /(?!`{3}|^[ \t]*~{3})/.source;

/**
 * A fence (group 1, and 2 for one further in) or code in a line (3), `$$…$$` on lines of its own (4 and 5) and in a line;
 * then `\[…\]` on lines of its own (6 and 7), `\(…\)` (8), `\[…\]` in a line (9), an environment of LaTeX on lines of
 * its own (10 and 11), an escape, a shell's `${NAME}`, and `$…$` (12). Groups have no names: these need a newer target
 * than that of a new Next.js app. No formula holds the beginning of another: each search then ends there, and the time
 * is linear.
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
 * Two words beside each other that are no commands, a price before a word or at the end of a sentence, or an end that no
 * formula has: `$5 for me and 10$`, `$5 or 10$`, `$5. US$`, `$5, R$`, `$5 (R$`, `$A/$B`. A factorial is no price: `$5! = 120$`.
 */
const PROSE = /(?<![\\a-zA-Z{])[a-zA-Z]{2,} +[a-zA-Z]{2,}(?![a-zA-Z{(])|^\d[\d.,]*!? +(?!mod)[a-zA-Z]{2,} |^\d[\d.,]*[.;?]\s|^\d[^\\^_=]*(?:[\s(](?:US|CA|AU|NZ|HK|MX)|(?:, |\()R)$|[/("“=,:;]$/;

/** What a command of LaTeX is given, which may be words: `\text{for all}`. */
const ARGUMENT = /(\\[a-zA-Z]+)\{[^{}]*\}/g;

/** The marks of a quotation at the beginning of each line but the first. */
const QUOTED = /\n(?:[ \t]*>)+[ \t]?/g;

/** The name of an equation, which KaTeX does not know. */
const LABEL = /\\label\{[^{}]*\}/g;

/** A command, a power or an operator. Escaped brackets and dollars without one are text: `\[1\]`. */
const FORMULA = /\\[a-z]|\^|\s[=<>+-]\s/i;

/**
 * Writes each formula between two dollars, which is the form that is drawn, and a displayed one between lines of two
 * dollars. Models also write `$…$`, `\(…\)`, `\[…\]`, `\begin{align}` and prices: a dollar before a space or a digit
 * closes nothing.
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
