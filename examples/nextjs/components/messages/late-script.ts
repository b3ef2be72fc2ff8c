import { useEffect, useSyncExternalStore } from "react";

/** `"failed"` if the script could not be loaded. */
export type LateScript<Loaded> = {
  /** Load the script, unless it is loaded or loading. The promise is never rejected. */
  load: () => Promise<Loaded | undefined>;
  /** Hook: load the script if it is needed. `undefined` until it is loaded, and if it is not needed. */
  use: (needed: boolean) => Loaded | "failed" | undefined;
};

/**
 * A script that loads with the first text that needs it. If loading fails, the next text loads it again, and the
 * earlier texts then use it too.
 */
export function lateScript<Loaded extends object>(load: () => Promise<Loaded>, problem: string): LateScript<Loaded> {
  let state: Loaded | "failed" | undefined;
  let loading: Promise<Loaded | undefined> | undefined;
  const listeners = new Set<() => void>();
  const subscribe = (listener: () => void) => {
    listeners.add(listener);
    return () => void listeners.delete(listener);
  };
  const become = (next: Loaded | "failed") => {
    state = next;
    for (const listener of listeners) listener();
  };
  const start = async () => {
    try {
      const loaded = await load();
      become(loaded);
      return loaded;
    } catch (error) {
      console.error(problem, error);
      loading = undefined;
      become("failed");
      return undefined;
    }
  };
  const once = () => (loading ??= start());

  function useScript(needed: boolean) {
    useEffect(() => {
      if (needed) void once();
    }, [needed]);
    const current = useSyncExternalStore(subscribe, () => state, () => undefined);
    return needed ? current : undefined;
  }

  return { load: once, use: useScript };
}
