import type { MathPlugin } from "streamdown";
import { latePlugin } from "./late-plugin";

/** A formula in `$$…$$` or in a math fence. */
const FORMULA = /\$\$|^\s*[`~]{3,}math/m;

const useKatex = latePlugin<MathPlugin>(
  () => import("./katex").then(({ math }) => math),
  "Formulas are shown as they were written:",
);

/** The math plugin, if the text has formulas. */
export function useMath(markdown: string): MathPlugin | undefined {
  return useKatex(FORMULA.test(markdown));
}
