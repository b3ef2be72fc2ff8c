import type { KeyboardEvent } from "react";

const ENTRIES = "button[data-side]";

/** Move through the list of events with the arrow keys, Home and End. Return true for these keys. */
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
  if (entry && (entry === current || !entry.hasAttribute("aria-expanded"))) entry.click(); // only Right and Enter open a run
  return true;
}

/** Return true if the entry is a run of fragments in this state. */
function isRun(entry: HTMLElement | null, open: "true" | "false"): boolean {
  return entry?.getAttribute("aria-expanded") === open;
}

/** Return the entry on the other side of the same row. */
function besides(entry: HTMLElement | null, side: "chunk" | "event"): HTMLElement | null | undefined {
  return entry?.closest("[data-row]")?.querySelector<HTMLElement>(`button[data-side="${side}"]`);
}
