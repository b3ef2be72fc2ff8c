import { type ComponentProps, type ComponentType, createContext, type ReactNode, useContext } from "react";

/** Props of a tool that runs in the browser: the call's id and input, and functions to send an output or an error. */
export type ClientToolProps = {
  id: string;
  input: Record<string, unknown>;
  onOutput: (output: Record<string, unknown>) => void;
  onError: (text: string) => void;
};

/** Draws the data of a part. */
export type DataPart = (props: { data: never }) => ReactNode;

/** The app around these components. */
export type Host = {
  /** Base path of the server's routes, such as `/api`. */
  api: string;
  chatHref: (id: string) => string;
  openNewChat: () => void;
  /** Component for a link inside the app. */
  Link: ComponentType<ComponentProps<"a"> & { href: string }>;
  /** The tools that run in the browser, by tool name. */
  clientTools: Record<string, ComponentType<ClientToolProps>>;
  /** The components for the agent's data parts (`emit_data`), by part type such as `data-weather`. */
  dataParts: Record<string, DataPart>;
};

export const HostContext = createContext<Host | null>(null);

export function useHost(): Host {
  const host = useContext(HostContext);
  if (host === null) throw new Error("These components need a HostContext around them.");
  return host;
}

export function chatPath(api: string, id: string): string {
  return `${api}/chat/${encodeURIComponent(id)}`;
}
