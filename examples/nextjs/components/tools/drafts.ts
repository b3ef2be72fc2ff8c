import { createContext, useContext, useState } from "react";

/** The input of a chat's forms, by key. A form that is shown again restores its input. */
export const Drafts = createContext(new Map<string, unknown>());

/** State that outlives its component. If the server refuses an answer, the form shows the input again. */
export function useDraft<Value>(name: string, initial: () => Value): [Value, (value: Value) => void] {
  const drafts = useContext(Drafts);
  const [value, setValue] = useState(() => (drafts.has(name) ? (drafts.get(name) as Value) : initial()));
  const change = (changed: Value) => {
    drafts.set(name, changed);
    setValue(changed);
  };
  return [value, change];
}
