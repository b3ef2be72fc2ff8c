import { useCallback, useSyncExternalStore } from "react";

/** Width in pixels from which a window has room for a panel beside the chat. */
const TWO_COLUMNS = 768;

/** Return true while the window has no room for a panel. */
export function useNarrow(than = TWO_COLUMNS): boolean {
  const query = `(max-width: ${than - 1}px)`;
  const subscribe = useCallback((onChange: () => void) => watch(window.matchMedia(query), onChange), [query]);
  return useSyncExternalStore(subscribe, () => window.matchMedia(query).matches, () => false);
}

function watch(query: MediaQueryList, onChange: () => void): () => void {
  query.addEventListener("change", onChange);
  return () => query.removeEventListener("change", onChange);
}
