import { Ban, CircleAlert, CircleCheck, Hand, Loader, PencilLine } from "lucide-react";
import type { ComponentType } from "react";
import { isCutOff, isUnanswered } from "../chat/message-types";
import { Badge, type Tone } from "../ui/badge";
import { duration } from "../ui/duration";
import type { ToolPart } from "./ToolCard";

type Look = { label: string; tone: Tone; Icon: ComponentType<{ className?: string; "aria-hidden"?: boolean }> };

const LOOKS: Record<ToolPart["state"], Look> = {
  "input-streaming": { label: "writing arguments…", tone: "quiet", Icon: PencilLine },
  "input-available": { label: "running…", tone: "quiet", Icon: Loader },
  "approval-requested": { label: "needs approval", tone: "waiting", Icon: Hand },
  "approval-responded": { label: "approved", tone: "good", Icon: CircleCheck },
  "output-available": { label: "done", tone: "good", Icon: CircleCheck },
  "output-error": { label: "failed", tone: "bad", Icon: CircleAlert },
  "output-denied": { label: "denied", tone: "bad", Icon: Ban },
};

/** A call whose reply ended before the call had a result. */
const CANCELLED: Look = { label: "cancelled", tone: "quiet", Icon: Ban };

/** A call that the user did not answer before a later message. */
const UNANSWERED: Look = { label: "not answered", tone: "quiet", Icon: Ban };

type ToolStateProps = {
  part: ToolPart;
  waiting: "user" | "credential" | undefined;
  passed: boolean;
  stopped: boolean;
  seconds: number | undefined;
};

/** The states of a call that has not ended. */
const OPEN: ToolPart["state"][] = ["input-streaming", "input-available", "approval-requested"];

/** Minimum seconds of a finished call whose duration is shown. Tools in the browser finish at once. */
const SHORTEST = 0.05;
/** Seconds after which a running call shows its duration. */
export const LONG = 2;

/** The state of a call, with its duration if this page has measured it. */
export function ToolState({ part, waiting, passed, stopped, seconds }: ToolStateProps) {
  const { label, tone, Icon } = look({ part, waiting, passed, stopped });
  return (
    <Badge tone={tone} className="ms-auto">
      {isApproved(part) && <span className="text-muted-foreground">Approved</span>}
      <Icon className={Icon === Loader ? "animate-spin motion-reduce:animate-none" : ""} aria-hidden />
      <span className={label === LOOKS["output-available"].label ? "sr-only" : "inline-block first-letter:uppercase"}>{label}</span>
      {seconds !== undefined && waiting === undefined && Icon !== CANCELLED.Icon && <Time seconds={seconds} running={OPEN.includes(part.state)} />}
    </Badge>
  );
}

/** Return true for an ended call that the user approved. Until then its state says so. */
function isApproved({ state, approval }: ToolPart): boolean {
  return approval?.approved === true && (state === "output-available" || state === "output-error");
}

function Time({ seconds, running }: { seconds: number; running: boolean }) {
  if (seconds < (running ? LONG : SHORTEST)) return null;
  // On a phone, the state's text would leave too little room for the name.
  return <bdi className={`text-muted-foreground tabular-nums ${running ? "" : "max-sm:[span:not(.sr-only)+&]:hidden"}`}>{duration(seconds, running)}</bdi>;
}

function look({ part, waiting, passed, stopped }: Omit<ToolStateProps, "seconds">): Look {
  if (isCutOff(part, stopped)) return CANCELLED;
  if ((passed && OPEN.includes(part.state)) || isUnanswered(part)) return UNANSWERED;
  if (waiting === "credential") return { label: "sign-in required", tone: "waiting", Icon: Hand };
  if (waiting === "user") return { label: "needs your input", tone: "waiting", Icon: Hand };
  if (part.state === "approval-responded" && !part.approval.approved) return LOOKS["output-denied"];
  if (part.state === "output-available" && part.preliminary) return { ...LOOKS["input-available"], label: "working…" };
  return LOOKS[part.state];
}
