/** A fence, code in a line, a block of dollars; then what an escape, `\(…\)`, `\[…\]` and `$…$` are. */
const PIECES = new RegExp(
  [
    /^ {0,3}(?<fence>`{3,}|~{3,})[^]*?(?:^ {0,3}\k<fence>[`~]*[ \t]*$|$(?![^]))/,
    /(?<ticks>`+)(?!`)[^]*?(?<!`)\k<ticks>(?!`)/,
    /\$\$[^]*?\$\$/,
    /^(?<indent>[ \t]*)\\\[(?<display>[^]+?)\\\][ \t]*$/,
    /\\\((?<inline>(?:.|\n(?!\n))+?)\\\)/,
    /\\[^]/,
    /(?<![\w$])\$(?<single>[^\s$`](?:[^$`\n]*[^\s$`\\])?)\$(?![\d$])/,
  ]
    .map(({ source }) => source)
    .join("|"),
  "gm",
);

/** Two words beside each other that are no commands: `$5 for me and 10$`. */
const PROSE = /(?<![\\a-z{])[a-z]{2,} +[a-z]{2,}(?![a-z{(])/i;

/**
 * Writes each formula between two dollars, which is the form that is drawn. Models write `$…$`, `\(…\)` and `\[…\]`, too,
 * and prices: a dollar before a space closes nothing, nor does one before a digit.
 */
export function withDollars(markdown: string): string {
  if (!/[$\\]/.test(markdown)) return markdown;
  return markdown.replace(PIECES, (piece: string, ...rest: unknown[]) => {
    const { indent = "", display, inline, single } = rest.at(-1) as Record<string, string | undefined>;
    if (display !== undefined) return `${indent}$$\n${indent}${display.trim()}\n${indent}$$`;
    if (inline !== undefined) return `$$${inline.trim()}$$`;
    if (single !== undefined && !PROSE.test(single)) return `$$${single}$$`;
    return piece;
  });
}
