import { useCallback, useSyncExternalStore } from "react";

/** Pixels of a window that has room for something beside the chat. */
const TWO_COLUMNS = 768;

/** Whether the window is narrower than that. */
export function useNarrow(than = TWO_COLUMNS): boolean {
  const query = `(max-width: ${than - 1}px)`;
  const subscribe = useCallback((onChange: () => void) => watch(window.matchMedia(query), onChange), [query]);
  return useSyncExternalStore(subscribe, () => window.matchMedia(query).matches, () => false);
}

function watch(query: MediaQueryList, onChange: () => void): () => void {
  query.addEventListener("change", onChange);
  return () => query.removeEventListener("change", onChange);
}
