import { UNFINISHED } from "./formula-placeholders";
import { FENCE } from "./late-scripts";

/**
 * Code, escaped backslashes and complete formulas, or the beginning of a formula without an end (group 1). A single
 * dollar begins a formula only before a LaTeX command, a power, an index or an equals sign.
 */
const PIECES =
  /`[^`]*`|\\\\|\$\$[^]*?\$\$|\\\([^]*?\\\)|\\\[[^]*?\\\]|(\$\$|\\[([]|\\begin\{(?:align|equation|gather)|(?<![\w$\\])\$(?=\\[a-z]|[a-z](?:[\^_]| ?=))(?=[^$]*$(?![^])))/gi;

/**
 * Complete a formula at the end of a growing block and mark it as unfinished, because half a formula is no valid LaTeX.
 */
export function withoutHalfFormula(block: string): string {
  if (FENCE.test(block)) return block;
  for (const { 1: opening, index } of block.matchAll(PIECES)) {
    if (opening === undefined) continue;
    const before = block.slice(0, index);
    const body = UNFINISHED + block.slice(index + opening.length).replace(/[\s$]+/g, " ");
    const indent = /(?:^|\n)([ \t]*)$/.exec(before)?.[1];
    const displayed = indent !== undefined && opening !== "\\(" && opening !== "$";
    return before + (displayed ? ["$$", body, "$$"].join(`\n${indent}`) : `$$${body}$$`);
  }
  return block;
}
