import { ChevronDown, Loader, Wrench } from "lucide-react";
import { type ReactNode, useId, useState } from "react";
import { isCutOff, isUnanswered } from "../chat/message-types";
import { isOver, type ToolPart } from "./ToolCard";

type CallsProps = {
  parts: ToolPart[];
  passed: boolean;
  stopped: boolean;
  /** One of the calls has more to show than its line. */
  show: boolean;
  children: ReactNode;
};

/** Several calls are rows in one frame. */
const LIST =
  "min-w-0 overflow-hidden rounded-xl border bg-card *:data-tool:rounded-none *:data-tool:border-0 *:data-tool:not-first:border-t [&>[data-tool]>div>button]:py-1.5";

/** Calls that follow each other. Several are one line, unless one has more to show or the reader opens them. */
export function Calls({ parts, passed, stopped, show, children }: CallsProps) {
  const [chosen, choose] = useState<boolean>();
  const id = useId();
  const open = parts.length === 1 || (chosen ?? show);
  const over = parts.every((part) => isOver(part, { passed, stopped }));
  const failed = parts.filter((part) => part.state === "output-error" && !isUnanswered(part) && !isCutOff(part, stopped)).length;
  return (
    <div className="flex min-w-0 flex-col gap-2" data-calls>
      {parts.length > 1 && (
        <button
          type="button"
          aria-expanded={open}
          aria-controls={id}
          onClick={() => choose(!open)}
          className="flex items-center gap-2 self-start rounded-md py-0.5 text-start text-sm text-muted-foreground hover:text-foreground"
        >
          {over || open ? (
            <Wrench className="size-4 shrink-0" aria-hidden />
          ) : (
            <Loader className="size-4 shrink-0 animate-spin motion-reduce:animate-none" aria-hidden />
          )}
          {over ? "Used" : "Using"} {parts.length} tools
          {failed > 0 && <span className="text-destructive">{failed} failed</span>}
          <ChevronDown className={`size-4 shrink-0 transition-transform ${open ? "rotate-180" : ""}`} aria-hidden />
        </button>
      )}
      <div id={id} hidden={!open} className={parts.length > 1 ? LIST : "min-w-0"}>
        {children}
      </div>
    </div>
  );
}
