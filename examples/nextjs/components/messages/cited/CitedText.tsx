import type { TextUIPart } from "ai";
import { createContext, type ReactNode, useContext, useMemo } from "react";
import type { ChatMessage } from "../../chat/message-types";
import { Tooltip } from "../../ui/tooltip";
import { Elsewhere } from "../Elsewhere";
import { COMPONENTS, type Extension, RenderedMarkdown } from "../RenderedMarkdown";
import { numberedSources, type Source } from "../Sources";
import { type Citation, type CitedSource, citationsOf } from "./citations";
import { marksAsLinks, withMarks } from "./marks";

const CitedContext = createContext<{ citations: Citation[]; sources: Source[] }>({ citations: [], sources: [] });

/** Prefix of the URL of a link that represents a citation. The citation's index follows. */
const LINK = "#citation-";

const components = { ...COMPONENTS, a: LinkOrMark };
const EXTENSION: Extension = { remark: marksAsLinks, components };

type CitedTextProps = { part: TextUIPart; message: ChatMessage; answer: string };

/** The reply after the text's reasoning, with source numbers behind the cited words. */
export default function CitedText({ part, message, answer }: CitedTextProps) {
  const cited = useMemo(
    () => ({ citations: citationsOf(message, part), sources: numberedSources(message.parts) }),
    [message, part],
  );
  return (
    <CitedContext value={cited}>
      <RenderedMarkdown text={withMarks(part.text, cited.citations, part.text.length - answer.length)} extension={EXTENSION} />
    </CitedContext>
  );
}

function LinkOrMark({ href: url, children }: { href?: string | undefined; children?: ReactNode }) {
  const { citations, sources } = useContext(CitedContext);
  const citation = url?.startsWith(LINK) ? citations[Number.parseInt(url.slice(LINK.length), 10)] : undefined;
  if (citation === undefined) return <Elsewhere url={url}>{children}</Elsewhere>;
  const number = numberOf(citation.source, sources);
  return number > 0 && <Mark citation={citation} number={number} />;
}

/** The number of a source in the list below the reply. */
function numberOf(source: CitedSource, sources: Source[]): number {
  const isSame = (listed: Source) =>
    listed.type === "source-url" && source.sourceType === "url" ? listed.url === source.url : listed.sourceId === source.id;
  return sources.findIndex(isSame) + 1;
}

const MARK =
  "ms-0.5 inline-grid h-4 min-w-4 place-items-center rounded bg-accent px-1 align-super text-[0.6875rem] leading-none font-medium tabular-nums text-accent-foreground no-underline hover:bg-primary hover:text-primary-foreground";

function Mark({ citation: { source, citedText }, number }: { citation: Citation; number: number }) {
  const name = nameOf(source);
  const label = citedText === undefined ? name : `${name}: “${citedText}”`;
  return (
    <Tooltip label={label.length > LONGEST ? `${label.slice(0, LONGEST)}…` : label}>
      {source.sourceType === "url" && URL.canParse(source.url) ? (
        <a
          className={MARK}
          href={source.url}
          target="_blank"
          rel="noopener noreferrer"
          aria-label={`Source ${number}: ${name}`}
          data-citation={number}
        >
          {number}
        </a>
      ) : (
        <span className={MARK} role="note" tabIndex={0} aria-label={`Source ${number}: ${name}`} data-citation={number}>
          {number}
        </span>
      )}
    </Tooltip>
  );
}

/** Maximum characters in a tooltip. */
const LONGEST = 300;

function nameOf(source: CitedSource): string {
  if (source.sourceType === "document") return source.title || source.filename || "Document";
  return source.title || source.url;
}
