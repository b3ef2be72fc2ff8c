import { useEffect, useState } from "react";

/**
 * A hook for a plugin whose script loads with the first text that needs it. Until then, and if loading fails, the text
 * renders without the plugin.
 */
export function latePlugin<Plugin>(load: () => Promise<Plugin>, problem: string): (needed: boolean) => Plugin | undefined {
  let plugin: Plugin | undefined;

  return function useLatePlugin(needed) {
    const [loaded, setLoaded] = useState<Plugin | undefined>(() => plugin);
    const missing = needed && loaded === undefined;
    useEffect(() => {
      if (!missing) return;
      let current = true;
      load().then(
        (found) => {
          plugin = found;
          if (current) setLoaded(() => found);
        },
        (error: unknown) => console.error(problem, error),
      );
      return () => {
        current = false;
      };
    }, [missing]);
    return loaded;
  };
}
