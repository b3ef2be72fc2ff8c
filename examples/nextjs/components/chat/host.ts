import { type ComponentProps, type ComponentType, createContext, type ReactNode, useContext } from "react";

/** What a tool of the page needs: the call's id and input, and the two ways to answer it. */
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
  /** Where the server's routes are: `/api`. */
  api: string;
  chatHref: (id: string) => string;
  openNewChat: () => void;
  /** A link that stays in the app. */
  Link: ComponentType<ComponentProps<"a"> & { href: string }>;
  /** The tools that this app runs itself, by the names that the agent calls. */
  clientTools: Record<string, ComponentType<ClientToolProps>>;
  /** What draws the agent's own parts, of `emit_data`, by their types: `data-weather`. */
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
