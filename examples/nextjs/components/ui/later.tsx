import { type ComponentType, type ReactNode, Suspense, use, useState, useSyncExternalStore } from "react";
import { Button } from "./button";

/** `undefined` if the script of the component could not be loaded. */
type Loading<Props> = Promise<ComponentType<Props> | undefined>;

/** `preload` loads the script before the component is shown. Its promise is never rejected. */
type Later<Props> = ((props: Props) => ReactNode) & { preload: () => Promise<unknown> };

/**
 * A component whose script loads when the component is first shown. Loading may fail offline, or after a new version of
 * the page was deployed. Then a line with "Try again" is shown, and the next use loads the script again. React's `lazy`
 * would throw and cache the failure. `otherwise` renders the line in a visible place, and `meanwhile` is shown during
 * loading.
 */
export function later<Props extends object>(
  load: () => Promise<{ default: ComponentType<Props> }>,
  otherwise: (line: ReactNode, props: Props) => ReactNode = (line) => line,
  meanwhile: (props: Props) => ReactNode = () => null,
): Later<Props> {
  let loading: Loading<Props> | undefined;
  let loaded: ComponentType<Props> | undefined;
  const listeners = new Set<() => void>();
  const subscribe = (onLoaded: () => void) => {
    listeners.add(onLoaded);
    return () => void listeners.delete(onLoaded);
  };
  const start = (): Loading<Props> => {
    const started: Loading<Props> = load().then(
      (module) => {
        loaded = module.default;
        Object.assign(started, { status: "fulfilled", value: loaded }); // then `use` returns the value without suspending
        for (const onLoaded of listeners) onLoaded();
        return loaded;
      },
      (error: unknown) => {
        console.error("A part of the page is missing:", error);
        return (loading = undefined);
      },
    );
    return (loading = started);
  };

  function Loaded({ from, props, onRetry }: { from: Loading<Props>; props: Props; onRetry: () => void }) {
    const later = useSyncExternalStore(subscribe, () => loaded, () => loaded);
    const Piece = use(from) ?? later; // another use may load it after this one failed
    // eslint-disable-next-line react-hooks/static-components -- it is loaded once, not created here
    return Piece ? <Piece {...props} /> : otherwise(<NotLoaded onRetry={onRetry} />, props);
  }

  function Later(props: Props) {
    const [from, setFrom] = useState(() => loading ?? start());
    return (
      <Suspense fallback={meanwhile(props)}>
        <Loaded from={from} props={props} onRetry={() => setFrom(start())} />
      </Suspense>
    );
  }

  return Object.assign(Later, { preload: () => loading ?? start() });
}

function NotLoaded({ onRetry }: { onRetry: () => void }) {
  return (
    <p role="alert" className="flex flex-wrap items-center gap-2 text-sm text-muted-foreground">
      This part of the page could not be loaded. If that happens again, reload the page.
      <Button size="small" onClick={onRetry}>
        Try again
      </Button>
    </p>
  );
}
