import { FileText } from "lucide-react";
import type { ChatDataPart } from "@/lib/chat-message";
import { Markdown } from "./markdown";

/** The parts that are neither words nor calls. Yours, of `emit_data`, get a case here. */
export function Data({ part }: { part: ChatDataPart }) {
  switch (part.type) {
    case "data-adk-agent":
      return <p className="text-sm text-muted-foreground">Handed over to {part.data.agent}</p>;
    case "data-adk-artifact":
      if (!part.data.url) return null;
      return (
        <a href={part.data.url} download className="inline-flex items-center gap-2 self-start rounded-xl border bg-card px-3 py-2 text-sm hover:bg-accent">
          <FileText className="size-4" aria-hidden />
          {part.data.filename}
        </a>
      );
    case "data-adk-file": // in a store that no browser can read: `gs://`
      return (
        <p className="inline-flex items-center gap-2 self-start rounded-xl border bg-card px-3 py-2 text-sm" title={part.data.uri}>
          <FileText className="size-4" aria-hidden />
          {part.data.filename ?? part.data.uri}
        </p>
      );
    case "data-adk-output": {
      const { output } = part.data;
      return <Markdown text={typeof output === "string" ? output : fenced(output)} live={false} />;
    }
    case "data-shopping-list":
      if (part.data.items.length === 0) return null;
      return (
        <ul aria-label="Shopping list" className="list-inside list-disc self-start rounded-xl border bg-card px-3 py-2 text-sm">
          {part.data.items.map((item, index) => (
            <li key={index}>{item}</li>
          ))}
        </ul>
      );
    default:
      return null; // a confirmation and a denial are shown with their calls
  }
}

function fenced(value: unknown): string {
  return `~~~json\n${JSON.stringify(value, null, 2)}\n~~~`;
}
