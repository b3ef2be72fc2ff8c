import type { TextUIPart } from "ai";
import type { ChatMessage } from "../../chat/message-types";

/** A page or a document that a text rests on. */
export type CitedSource = { id: string; title?: string } & (
  | { sourceType: "url"; url: string }
  | { sourceType: "document"; mediaType: string; filename?: string }
);

/** A place in a text, in JavaScript's own indexes, the source that it rests on, and the words of that source. */
export type Citation = { source: CitedSource; startIndex?: number; endIndex?: number; citedText?: string };

/** The citations of a text: clients of AI SDK 7 may have them in the text, and others in a part beside it. */
export function citationsOf(message: ChatMessage, text: TextUIPart): Citation[] {
  if ("citations" in text) return text.citations as Citation[];
  const index = message.parts.filter((part) => part.type === "text").indexOf(text);
  return message.parts
    .flatMap((part) => (part.type === "data-adk-citations" ? [part.data as { textIndex: number; citations: Citation[] }] : []))
    .flatMap((cited) => (cited.textIndex === index ? cited.citations : []));
}
