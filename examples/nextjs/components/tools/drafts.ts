import { createContext, useContext, useState } from "react";

/** What was entered into the cards of a chat, by a name of each: a card that comes back has it again. */
export const Drafts = createContext(new Map<string, unknown>());

/** As `useState`, for what outlives the card: an answer that the server refuses is given back with it. */
export function useDraft<Value>(name: string, initial: () => Value): [Value, (value: Value) => void] {
  const drafts = useContext(Drafts);
  const [value, setValue] = useState(() => (drafts.has(name) ? (drafts.get(name) as Value) : initial()));
  const change = (changed: Value) => {
    drafts.set(name, changed);
    setValue(changed);
  };
  return [value, change];
}
