import type { TextUIPart } from "ai";
import type { ChatMessage } from "../../chat/message-types";

/** A web page or a document that a text cites. */
export type CitedSource = { id: string; title?: string } & (
  | { sourceType: "url"; url: string }
  | { sourceType: "document"; mediaType: string; filename?: string }
);

/** A cited range of a text in UTF-16 indexes, its source, and a quote from the source. */
export type Citation = { source: CitedSource; startIndex?: number; endIndex?: number; citedText?: string };

/** The citations of a text. They come in the text part's metadata (AI SDK 7) or in a data part. */
export function citationsOf(message: ChatMessage, text: TextUIPart): Citation[] {
  if ("citations" in text) return text.citations as Citation[];
  const index = message.parts.filter((part) => part.type === "text").indexOf(text);
  return message.parts
    .flatMap((part) => (part.type === "data-adk-citations" ? [part.data as { textIndex: number; citations: Citation[] }] : []))
    .flatMap((cited) => (cited.textIndex === index ? cited.citations : []));
}
