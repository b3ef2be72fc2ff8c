/**
 * A fence (group 1) or code in a line (2), `$$…$$` on lines of its own (3 and 4) and in a line; then `\[…\]` on lines of
 * its own (5 and 6), `\(…\)` (7), `\[…\]` in a line (8), an escape and `$…$` (9). Groups have no names: these need a
 * newer target than that of a new Next.js app.
 */
const PIECES = new RegExp(
  [
    /^ {0,3}(`{3,}|~{3,})[^]*?(?:^ {0,3}\1[`~]*[ \t]*$|$(?![^]))|(`+)(?!`)[^]*?(?<!`)\2(?!`)/,
    /^([ \t]*)\$\$((?:(?!\$\$|\n[ \t]*\n)[^])+)\$\$[ \t]*$/,
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
 * Writes each formula between two dollars, which is the form that is drawn, and a displayed one between lines of two
 * dollars. Models also write `$…$`, `\(…\)`, `\[…\]` and prices: a dollar before a space or a digit closes nothing.
 */
export function withDollars(markdown: string): string {
  if (!/[$\\]/.test(markdown)) return markdown;
  return markdown.replace(PIECES, (piece: string, ...groups: (string | undefined)[]) => {
    const [, , indent, dollars, otherIndent, brackets, inline, inLine, single] = groups;
    const display = dollars ?? brackets;
    if (display?.trim()) return ["$$", display.trim(), "$$"].map((line) => (indent ?? otherIndent ?? "") + line).join("\n");
    if (inline !== undefined) return `$$${inline.trim()}$$`;
    if (inLine !== undefined) return FORMULA.test(inLine) ? `$$\\displaystyle ${inLine.trim()}$$` : `\\[${withDollars(inLine)}\\]`;
    if (single !== undefined && !PROSE.test(single) && (!single.includes("\\$") || FORMULA.test(single))) return `$$${single}$$`;
    return piece;
  });
}
