import type { MathPlugin } from "streamdown";
import { latePlugin } from "./late-plugin";

/** A formula between two dollars, or in a fence of its own. */
const FORMULA = /\$\$|^\s*[`~]{3,}math/m;

const useKatex = latePlugin<MathPlugin>(
  () => import("./katex").then(({ math }) => math),
  "Formulas are shown as they were written:",
);

/** The plugin that draws formulas, for a text with formulas. */
export function useMath(markdown: string): MathPlugin | undefined {
  return useKatex(FORMULA.test(markdown));
}
