import { useCallback, useSyncExternalStore } from "react";

const CHANGED = "setting-changed";

/** What the user has chosen for this browser; it outlives the page where the browser allows that. */
export function readSetting(name: string): string | null {
  try {
    return localStorage.getItem(name);
  } catch {
    return null;
  }
}

export function writeSetting(name: string, value: string): void {
  try {
    localStorage.setItem(name, value);
  } catch {
    return; // a browser that stores nothing keeps to what it is given
  }
  window.dispatchEvent(new Event(CHANGED));
}

export function useSetting(name: string, otherwise: string): [string, (value: string) => void] {
  const value = useSyncExternalStore(subscribe, () => readSetting(name), () => null) ?? otherwise;
  const choose = useCallback((chosen: string) => writeSetting(name, chosen), [name]);
  return [value, choose];
}

function subscribe(onChange: () => void): () => void {
  const events = [CHANGED, "storage"]; // the latter of other tabs
  for (const event of events) window.addEventListener(event, onChange);
  return () => {
    for (const event of events) window.removeEventListener(event, onChange);
  };
}
