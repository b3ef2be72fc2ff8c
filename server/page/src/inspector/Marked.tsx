import { createContext, useContext } from "react";
import { excerptOf } from "./entries";

/** The searched words. */
export const Searched = createContext("");

/** Beginning of a long text. If the text contains the searched words, the part around the first hit. */
export function Excerpt({ text }: { text: string }) {
  return <Marked text={excerptOf(text, useContext(Searched))} />;
}

/** A text in which the searched words are marked. */
export function Marked({ text }: { text: string }) {
  const words = useContext(Searched).toLowerCase();
  const at = words === "" ? -1 : text.toLowerCase().indexOf(words);
  if (at < 0) return text;
  return (
    <>
      {text.slice(0, at)}
      <mark className="rounded-xs bg-[light-dark(#fde68a,#7c5e10)] text-inherit">{text.slice(at, at + words.length)}</mark>
      <Marked text={text.slice(at + words.length)} />
    </>
  );
}
