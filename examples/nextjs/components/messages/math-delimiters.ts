/**
 * A fence (group 1) or code in a line (2), a block of dollars; then what `\[…\]` on lines of its own (3 and 4), `\(…\)`
 * (5), `\[…\]` in a line (6), an escape and `$…$` (7) are. Groups have no names: these need a newer target than that of a
 * new Next.js app.
 */
const PIECES = new RegExp(
  [
    /^ {0,3}(`{3,}|~{3,})[^]*?(?:^ {0,3}\1[`~]*[ \t]*$|$(?![^]))|(`+)(?!`)[^]*?(?<!`)\2(?!`)/,
    /\$\$[^]*?\$\$/,
    /^([ \t]*)\\\[((?:\\[^\]]|[^\\])+)\\\][ \t]*$/,
    /\\\(((?:.|\n(?!\n))+?)\\\)/,
    /\\\[((?:\\[^[\]]|[^\\\n]|\n(?!\n))+)\\\]/,
    /\\[^]/,
    /(?<![\w$])\$([^\s$`](?:(?:\\\$|[^$`\n])*[^\s$`\\])?)\$(?![\d$])/,
  ]
    .map(({ source }) => source)
    .join("|"),
  "gm",
);

/** Two words beside each other that are no commands: `$5 for me and 10$`. */
const PROSE = /(?<![\\a-z{])[a-z]{2,} +[a-z]{2,}(?![a-z{(])/i;

/** A command, a power or an operator. Escaped brackets and dollars without one are text: `\[1\]`. */
const FORMULA = /\\[a-z]|\^|\s[=<>+-]\s/i;

/**
 * Writes each formula between two dollars, which is the form that is drawn. Models write `$…$`, `\(…\)` and `\[…\]`, too,
 * and prices: a dollar before a space closes nothing, nor does one before a digit.
 */
export function withDollars(markdown: string): string {
  if (!/[$\\]/.test(markdown)) return markdown;
  return markdown.replace(PIECES, (piece: string, ...groups: (string | undefined)[]) => {
    const [, , indent = "", display, inline, inLine, single] = groups;
    if (display !== undefined) return `${indent}$$\n${indent}${display.trim()}\n${indent}$$`;
    if (inline !== undefined) return `$$${inline.trim()}$$`;
    if (inLine !== undefined) return FORMULA.test(inLine) ? `$$\\displaystyle ${inLine.trim()}$$` : `\\[${withDollars(inLine)}\\]`;
    if (single !== undefined && !PROSE.test(single) && (!single.includes("\\$") || FORMULA.test(single))) return `$$${single}$$`;
    return piece;
  });
}
