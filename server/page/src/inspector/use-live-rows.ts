import { startTransition, useEffect, useReducer, useRef, useState } from "react";
import { addToRows, type Row } from "./entries";
import { loadEntries } from "./inspector-api";

/** Milliseconds between two requests. */
const EVERY = 300;

/** Return the rows of a chat. While the chat is `busy`, the hook polls the server for new rows. */
export function useLiveRows(id: string, busy: boolean): { rows: Row[]; loaded: boolean; problem: string } {
  const [rows, add] = useReducer(addToRows, []);
  const [loaded, setLoaded] = useState(false);
  const [problem, setProblem] = useState("");
  const after = useRef(0);
  useEffect(() => {
    const { signal, abort } = abortable();
    const follow = async () => {
      const { entries, next } = await loadEntries(id, after.current, signal);
      if (signal.aborted) return;
      setProblem("");
      if (entries.length > 0) startTransition(() => add(entries));
      setLoaded(true);
      after.current = next;
      if (busy || entries.length > 0) window.setTimeout(() => void load(), EVERY);
    };
    const load = () => follow().catch((error: Error) => signal.aborted || setProblem(error.message));
    void load();
    return abort;
  }, [id, busy]);
  return { rows, loaded, problem };
}

function abortable(): { signal: AbortSignal; abort: () => void } {
  const controller = new AbortController();
  return { signal: controller.signal, abort: () => controller.abort() };
}
