import { useEffect, useReducer, useState } from "react";
import { addToRows, type Entry, type Row } from "./entries";
import { loadEntries } from "./inspector-api";

const EVERY = 300;

/** The rows of a chat, as they come: the server is asked again and again while the chat is `busy`. */
export function useLiveRows(id: string, busy: boolean): { rows: Row[]; problem: string } {
  const [rows, add] = useReducer((rows: Row[], entries: Entry[]) => addToRows(rows, entries), []);
  const [after, setAfter] = useState(0);
  const [problem, setProblem] = useState("");
  useEffect(() => {
    const aborted = new AbortController();
    const { signal } = aborted;
    let timer: number | undefined;
    let next = after;
    const load = async () => {
      try {
        const loaded = await loadEntries(id, next, signal);
        if (signal.aborted) return;
        next = loaded.next;
        setProblem("");
        if (loaded.entries.length > 0) {
          add(loaded.entries);
          setAfter(next);
        }
        if (busy || loaded.entries.length > 0) timer = window.setTimeout(() => void load(), loaded.entries.length > 2000 ? 0 : EVERY);
      } catch (error) {
        if (!signal.aborted) setProblem((error as Error).message);
      }
    };
    void load();
    return () => {
      aborted.abort();
      window.clearTimeout(timer);
    };
    // What was loaded is no reason to begin anew.
  }, [id, busy]); // eslint-disable-line
  return { rows, problem };
}
