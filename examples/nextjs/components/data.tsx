import { FileText } from "lucide-react";
import type { ChatDataPart } from "@/lib/chat-message";

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
          {part.data.name}
        </a>
      );
    default:
      return null; // a confirmation is shown with its call
  }
}
