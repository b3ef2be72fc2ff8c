import { ChevronDown, Loader, Wrench } from "lucide-react";
import { type ReactNode, useId, useState } from "react";
import { isCutOff, isUnanswered } from "../chat/message-types";
import { duration } from "../ui/duration";
import { useSeconds } from "../ui/use-seconds";
import { isOver, type ToolPart } from "./ToolCard";
import { nameOf } from "./tool-name";
import { LONG } from "./ToolState";

type CallsProps = {
  parts: ToolPart[];
  passed: boolean;
  stopped: boolean;
  /** True if one of the calls has more to show than its line. */
  show: boolean;
  /** True while the message is streaming. */
  live: boolean;
  children: ReactNode;
};

/** The frame around several calls. */
const LIST =
  "min-w-0 overflow-hidden rounded-xl border bg-card *:data-tool:rounded-none *:data-tool:border-0 *:data-tool:not-first:border-t [&>[data-tool]>div>button]:py-1.5";

/** Consecutive calls. Several calls collapse to one line, unless one has more to show or the user opens them. */
export function Calls({ parts, passed, stopped, show, live, children }: CallsProps) {
  const [chosen, choose] = useState<boolean>();
  const id = useId();
  const open = parts.length === 1 || (chosen ?? show);
  const ended = parts.filter((part) => isOver(part, { passed, stopped })).length;
  const over = ended === parts.length;
  const seconds = useSeconds(live && !over);
  const names = [...new Set(parts.map(nameOf))].join(", ");
  const failed = parts.filter((part) => part.state === "output-error" && !isUnanswered(part) && !isCutOff(part, stopped)).length;
  return (
    <div className="flex min-w-0 flex-col gap-2" data-calls>
      {parts.length > 1 && (
        <button
          type="button"
          aria-expanded={open}
          aria-controls={id}
          onClick={() => choose(!open)}
          className="flex max-w-full min-w-0 items-center gap-2 self-start rounded-md py-0.5 text-start text-sm text-muted-foreground hover:text-foreground"
        >
          {over || open ? (
            <Wrench className="size-4 shrink-0" aria-hidden />
          ) : (
            <Loader className="size-4 shrink-0 animate-spin motion-reduce:animate-none" aria-hidden />
          )}
          <span className="min-w-0 truncate tabular-nums">
            {live && !over && "Running "}
            {parts.length} tool calls
            {!over && ended > failed && ` · ${ended - failed} done`}
            {failed > 0 && <> · <span className="text-destructive">{failed} failed</span></>}
            {!over && seconds !== undefined && seconds >= LONG && ` · ${duration(seconds, true)}`}
            {!open && <> · <bdi>{names}</bdi></>}
          </span>
          <ChevronDown className={`size-4 shrink-0 transition-transform ${open ? "rotate-180" : ""}`} aria-hidden />
        </button>
      )}
      <div id={id} hidden={!open} className={parts.length > 1 ? LIST : "min-w-0"}>
        {children}
      </div>
    </div>
  );
}
