import { type ComponentType, type ReactNode, Suspense, use, useState } from "react";
import { Button } from "./button";

/** A component without its script is `undefined`. */
type Loading<Props> = Promise<ComponentType<Props> | undefined>;

/** `preload` loads the script before the component is shown. Its promise is never rejected. */
type Later<Props> = ((props: Props) => ReactNode) & { preload: () => Promise<unknown> };

/**
 * A component whose script is loaded when it is first shown. Offline, or after a new version of the page was installed,
 * the script may be missing: then a line with "Try again" stands in its place, and the next use loads it again. `lazy`
 * of React would throw, and keep the failure. `otherwise` puts the line where it can be seen, and
 * `meanwhile` is shown until the script is there.
 */
export function later<Props extends object>(
  load: () => Promise<{ default: ComponentType<Props> }>,
  otherwise: (line: ReactNode, props: Props) => ReactNode = (line) => line,
  meanwhile: (props: Props) => ReactNode = () => null,
): Later<Props> {
  let loading: Loading<Props> | undefined;
  let loaded: ComponentType<Props> | undefined;
  const start = (): Loading<Props> => {
    const started: Loading<Props> = load().then(
      (module) => {
        loaded = module.default;
        Object.assign(started, { status: "fulfilled", value: loaded }); // `use` returns it without a wait
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
    const Piece = use(from) ?? loaded; // if it was missing here, another place may have loaded it
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
