import { useEffect, useState } from "react";
import type { MathPlugin } from "streamdown";

/** A formula between two dollars, or in a fence of its own. */
const FORMULA = /\$\$|^\s*[`~]{3,}math/m;

let math: MathPlugin | undefined;

/** What draws formulas: it is fetched for the first text that has one, and until then the formula stands as written. */
export function useMath(markdown: string): MathPlugin | undefined {
  const [loaded, setLoaded] = useState(math);
  const needed = loaded === undefined && FORMULA.test(markdown);
  useEffect(() => {
    if (!needed) return;
    let current = true;
    void load().then((plugin) => current && setLoaded(plugin));
    return () => {
      current = false;
    };
  }, [needed]);
  return loaded;
}

async function load(): Promise<MathPlugin | undefined> {
  try {
    math ??= (await import("./katex")).math;
  } catch (error) {
    console.error("Formulas are shown as they were written:", error);
  }
  return math;
}
