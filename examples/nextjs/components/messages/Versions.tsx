import { ChevronLeft, ChevronRight } from "lucide-react";
import type { MessageVersions } from "../chat/message-types";
import { IconButton } from "../ui/icon-button";

type VersionsProps = { of: MessageVersions; busy: boolean; onChoose: (version: string) => void };

/** `< 2/3 >`: the number of the shown version, with buttons for the previous and next version. */
export default function Versions({ of: { current, ids }, busy, onChoose }: VersionsProps) {
  const arrow = (label: string, to: number, icon: React.ReactNode) => (
    <IconButton
      label={label}
      size="small icon"
      disabled={busy || ids[to] === undefined}
      onClick={() => ids[to] !== undefined && onChoose(ids[to])}
    >
      {icon}
    </IconButton>
  );
  return (
    <span role="group" aria-label="Versions" className="flex items-center text-xs text-muted-foreground tabular-nums">
      {arrow("Previous version", current - 1, <ChevronLeft className="rtl:-scale-x-100" />)}
      <span aria-live="polite">
        {current + 1}/{ids.length}
      </span>
      {arrow("Next version", current + 1, <ChevronRight className="rtl:-scale-x-100" />)}
    </span>
  );
}
