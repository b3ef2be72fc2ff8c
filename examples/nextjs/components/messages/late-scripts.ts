import { lateScript } from "./late-script";

/** The fonts of most formulas. Without them, a formula would be invisible at first, and then change its size. */
const FONTS = ["1em KaTeX_Main", "italic 1em KaTeX_Math"];

/** The plugin that renders formulas with KaTeX. */
export const katexScript = lateScript(async () => {
  const katex = await import("./katex");
  await Promise.allSettled(FONTS.map((font) => document.fonts.load(font)));
  return katex;
}, "Formulas are shown as code:");

/** The languages whose code has colors. */
export const languagesScript = lateScript(() => import("./languages"), "Code is shown without colours:");

/** The beginning of a formula: `$$`, `$x`, `\(`, `\[`, `\begin{` or a math fence. A price begins no formula. */
const FORMULA = /\$[$a-z\\({[|+-]|\\[([]|\\begin\{|[`~]{3}math/i;

/** Code, in which `$HOME` is no formula. */
const CODE = /(`{3}|~{3})(?!math)(?:(?!\1)[^])*(?:\1|$)|`[^`\n]*`/g;

export const FENCE = /`{3}|~{3}/;

/** Return true if a formula begins in the text, also if its end is still missing. */
export function beginsFormula(text: string): boolean {
  return FORMULA.test(text) && FORMULA.test(text.replace(CODE, ""));
}

/** Load the scripts that render a text, as soon as a formula or a code block begins in it. */
export function loadScriptsFor(text: string): void {
  if (beginsFormula(text)) void katexScript.load();
  if (FENCE.test(text)) void languagesScript.load();
}
