import { useMemo } from "react";
import remarkMath from "remark-math";
import type { MathPlugin } from "streamdown";
import { allFormulas } from "./formula-placeholders";
import { beginsFormula, katexScript } from "./late-scripts";

/** A formula in `$$…$$` or in a math fence. */
const FORMULA = /\$\$|^\s*[`~]{3,}math/m;

/**
 * The math plugin, if the text has formulas, or a formula begins in a growing text. A formula is a placeholder while
 * KaTeX loads, and code if that fails.
 */
export function useMath(markdown: string, live: boolean): MathPlugin | undefined {
  const needed = FORMULA.test(markdown) || (live && beginsFormula(markdown));
  const katex = katexScript.use(needed);
  return useMemo(() => {
    if (!needed) return undefined;
    if (katex === undefined) return mathWith(allFormulas);
    return katex === "failed" ? mathWith(() => undefined) : mathWith([katex.default, { errorColor: "var(--color-muted-foreground)" }]);
  }, [needed, katex]);
}

function mathWith(rehypePlugin: MathPlugin["rehypePlugin"]): MathPlugin {
  return { name: "katex", type: "math", remarkPlugin: [remarkMath, { singleDollarTextMath: false }], rehypePlugin };
}
