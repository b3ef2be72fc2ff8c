import type { SourceDocumentUIPart, SourceUrlUIPart } from "ai";
import { FileText } from "lucide-react";
import type { ChatPart } from "@/lib/chat-message";

type Source = SourceUrlUIPart | SourceDocumentUIPart;

export function isSource(part: ChatPart): part is Source {
  return part.type === "source-url" || part.type === "source-document";
}

export function Sources({ sources }: { sources: Source[] }) {
  if (sources.length === 0) return null;
  return (
    <nav aria-label="Sources">
      <ol className="flex flex-wrap gap-2 text-sm">
        {sources.map((source, index) => (
          <li key={source.sourceId} className="flex max-w-full items-center gap-2 rounded-full border px-3 py-1">
            <span className="text-muted-foreground">{index + 1}</span>
            {source.type === "source-url" ? <WebPage source={source} /> : <Document source={source} />}
          </li>
        ))}
      </ol>
    </nav>
  );
}

function WebPage({ source: { url, title } }: { source: SourceUrlUIPart }) {
  const name = title || url;
  if (!/^https?:\/\//.test(url)) return <span className="truncate">{name}</span>;
  return (
    <a href={url} target="_blank" rel="noreferrer" className="truncate hover:underline">
      {name}
    </a>
  );
}

function Document({ source }: { source: SourceDocumentUIPart }) {
  return (
    <>
      <FileText className="size-4 shrink-0" aria-hidden />
      <span className="truncate">{source.title || source.filename}</span>
    </>
  );
}
