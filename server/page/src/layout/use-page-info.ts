import { useEffect, useState } from "react";
import type { WhileBusy } from "../components/chat/use-queue";
import type { About, Suggestion } from "../components/chat/Welcome";

/** What the server says of itself before anything is said. The built page knows nothing. */
export type PageInfo = About & { inspector: boolean; whileBusy?: WhileBusy };

/** `undefined` until the server was asked. */
export function usePageInfo(): PageInfo | undefined {
  const [info, setInfo] = useState<PageInfo>();
  useEffect(() => {
    const show = (told: Told) => setInfo({ inspector: false, ...told, suggestions: (told.suggestions ?? []).map(titled) });
    void fetch("page.json")
      .then((response) => (response.ok ? response.json() : {}))
      .then(show, () => show({}));
  }, []);
  return info;
}

type Told = Partial<Omit<PageInfo, "suggestions">> & { suggestions?: (string | Suggestion)[] };

function titled(suggestion: string | Suggestion): Suggestion {
  return typeof suggestion === "string" ? { prompt: suggestion } : suggestion;
}
