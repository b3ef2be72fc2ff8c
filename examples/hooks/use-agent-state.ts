import { useState } from "react";

export function useAgentState<State extends object>(id: string, stored: State) {
  const [state, setState] = useState(stored);
  const merge = (changes: Partial<State>) => setState((now) => ({ ...now, ...changes }));
  const onData = ({ type, data }: { type: string; data: unknown }) => type === "data-adk-state" && merge(data as State);
  const write = async (changes: Partial<State>) => {
    const headers = { "content-type": "application/json" };
    const response = await fetch(`/api/chat/${id}/state`, { method: "PATCH", headers, body: JSON.stringify(changes) });
    if (!response.ok) throw new Error((await response.json()).error);
    setState((await response.json()).state);
  };
  return { state, onData, write };
}
