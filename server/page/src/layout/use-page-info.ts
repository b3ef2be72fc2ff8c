import { useEffect, useState } from "react";

/** What is sent, and what it shows; a server may also list mere prompts. */
export type Suggestion = { title?: string; prompt: string };

/** What the server says of itself before anything is said: who answers, by which models. The built page knows nothing. */
export type PageInfo = {
  agent?: string;
  description?: string;
  models: string[];
  /** What the agent can do, where nothing is suggested. */
  tools?: { name: string; description: string }[];
  suggestions: Suggestion[];
  inspector: boolean;
};

/** `undefined` until the server was asked. */
export function usePageInfo(): PageInfo | undefined {
  const [info, setInfo] = useState<PageInfo>();
  useEffect(() => {
    const show = (told: Told) => setInfo({ models: [], inspector: false, ...told, suggestions: (told.suggestions ?? []).map(titled) });
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
