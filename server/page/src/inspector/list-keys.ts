import type { KeyboardEvent } from "react";

const ENTRIES = "button[data-side]";

/** Moves through the list of events with the arrow keys, Home and End. Returns whether the key was one of these. */
export function moveInList(event: KeyboardEvent<HTMLElement>): boolean {
  const list = event.currentTarget;
  const current = (document.activeElement?.closest(ENTRIES) ?? list.querySelector("button[aria-pressed='true']")) as HTMLElement | null;
  const side = current?.dataset.side ?? "event";
  const column = [...list.querySelectorAll<HTMLElement>(`button[data-side="${side}"]`)];
  const at = current === null ? -1 : column.indexOf(current);
  const next = {
    ArrowDown: () => column[at + 1],
    ArrowUp: () => column[at - 1],
    Home: () => column[0],
    End: () => column.at(-1),
    ArrowRight: () => (isRun(current, "false") ? current : besides(current, "chunk")),
    ArrowLeft: () => (isRun(current, "true") ? current : besides(current, "event")),
  }[event.key];
  if (next === undefined || event.ctrlKey || event.metaKey || event.altKey) return false;
  event.preventDefault();
  const entry = next();
  entry?.focus();
  if (entry && (entry === current || !entry.hasAttribute("aria-expanded"))) entry.click(); // a run opens only by Right or Enter
  return true;
}

/** The entry is a run of fragments that is open, or not. */
function isRun(entry: HTMLElement | null, open: "true" | "false"): boolean {
  return entry?.getAttribute("aria-expanded") === open;
}

/** The entry on the other side of the same row. */
function besides(entry: HTMLElement | null, side: "chunk" | "event"): HTMLElement | null | undefined {
  return entry?.closest("[data-row]")?.querySelector<HTMLElement>(`button[data-side="${side}"]`);
}
