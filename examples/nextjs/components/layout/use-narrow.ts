import { useSyncExternalStore } from "react";

const narrow = () => window.matchMedia("(max-width: 767px)");

/** Whether there is no room for anything beside the chat. */
export function useNarrow(): boolean {
  return useSyncExternalStore(subscribe, () => narrow().matches, () => false);
}

function subscribe(onChange: () => void): () => void {
  const query = narrow();
  query.addEventListener("change", onChange);
  return () => query.removeEventListener("change", onChange);
}
