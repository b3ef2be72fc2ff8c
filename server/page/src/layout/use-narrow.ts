import { useSyncExternalStore } from "react";

const NARROW = window.matchMedia("(max-width: 767px)");

/** Whether there is no room for anything beside the chat. */
export function useNarrow(): boolean {
  return useSyncExternalStore(subscribe, () => NARROW.matches);
}

function subscribe(onChange: () => void): () => void {
  NARROW.addEventListener("change", onChange);
  return () => NARROW.removeEventListener("change", onChange);
}
