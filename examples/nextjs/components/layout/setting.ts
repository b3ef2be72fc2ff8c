import { useCallback, useSyncExternalStore } from "react";

const CHANGED = "setting-changed";

/** A setting that the user has chosen. It is stored in the browser if the browser allows storage. */
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
    return; // the browser blocks storage: the setting is lost with the page
  }
  window.dispatchEvent(new Event(CHANGED));
}

export function useSetting(name: string, otherwise: string): [string, (value: string) => void] {
  const value = useSyncExternalStore(subscribe, () => readSetting(name), () => null) ?? otherwise;
  const choose = useCallback((chosen: string) => writeSetting(name, chosen), [name]);
  return [value, choose];
}

function subscribe(onChange: () => void): () => void {
  const events = [CHANGED, "storage"]; // `storage`: another tab has changed it
  for (const event of events) window.addEventListener(event, onChange);
  return () => {
    for (const event of events) window.removeEventListener(event, onChange);
  };
}
