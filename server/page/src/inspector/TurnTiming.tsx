import { ChevronDown, CircleX } from "lucide-react";
import { memo, type PointerEvent, useEffect, useRef, useState } from "react";
import { type Entry, inBytes, inSeconds, type Row } from "./entries";
import { COLOURS } from "./runs";
import { marksOf, type Span, timingOf } from "./timing";
import { type Cut, useCut } from "./use-cut";

type Choice = { chosen: Entry | undefined; onChoose: (entry: Entry) => void };

type TurnTimingProps = Choice & { rows: Row[] };

/** Number of bars that have room in a low box. */
const FEW = 4;

/** Figures of a turn, and a bar for each model call and tool call. A click on a bar selects its event. */
export const TurnTiming = memo(function TurnTiming({ rows, ...choice }: TurnTimingProps) {
  const timing = timingOf(rows);
  if (timing === undefined) return null;
  const { first, total, spans, tokens, bytesIn, bytesOut } = timing;
  const speaking = spans.filter(({ isTool }) => !isTool).reduce((sum, { first: begun, from, to }) => sum + to - (begun ?? from), 0);
  const failed = spans.filter((span) => span.failed).length;
  const figures = [
    `total ${inSeconds(total)}`,
    first !== undefined && `first event ${inSeconds(first)}`,
    tokens > 0 && speaking > 0 && `${Math.round(tokens / speaking).toLocaleString("en")} tokens/s`,
    bytesIn > 0 && `${inBytes(bytesIn)} → ${inBytes(bytesOut)}`,
  ];
  return (
    <div data-few={spans.length <= FEW || undefined}>
      <p dir="ltr" className="truncate text-xs text-muted-foreground tabular-nums low:hidden">
        {figures.filter(Boolean).join(" · ")}
        {failed > 0 && <span className="text-destructive">{` · ${failed} failed`}</span>}
      </p>
      {spans.length > 0 && <Waterfall spans={spans} total={total} {...choice} />}
    </div>
  );
});

type WaterfallProps = Choice & { spans: Span[]; total: number };

/** A bar for each call, above the time axis. In a low box the bars are thin and have no names, so that more bars are visible. */
function Waterfall({ spans, total, ...choice }: WaterfallProps) {
  const box = useRef<HTMLDivElement>(null);
  const track = useRef<HTMLDivElement>(null);
  const [pointed, point] = useState<number>();
  const cut = useCut(box);
  useEffect(() => {
    const lanes = box.current;
    if (!lanes) return;
    const observer = new ResizeObserver(() => showChosen(lanes)); // the details of the chosen entry make the list lower
    observer.observe(lanes);
    return () => observer.disconnect();
  }, [choice.chosen]);
  const onPointerMove = ({ clientX, pointerType }: PointerEvent) => {
    if (!track.current || pointerType === "touch") return;
    const { left, width } = track.current.getBoundingClientRect();
    const at = (total * (clientX - left)) / width;
    point(at >= 0 && at <= total ? at : undefined);
  };
  const agents = new Set(spans.map(({ agent }) => agent));
  const marks = marksOf(total);
  return (
    <div className="relative" data-cut={cut}>
      <div
        ref={box}
        role="group"
        aria-label={spans.map((span) => described(span, nameOf(span, agents.size))).join(", ")}
        dir="ltr"
        className="max-h-35 transition-none [@container_(min-height:30rem)]:max-h-55 scroll-pb-4 overflow-x-hidden overflow-y-auto pt-1 text-[0.6875rem] text-muted-foreground low:max-h-17"
        onPointerMove={onPointerMove}
        onPointerLeave={() => point(undefined)}
      >
        <div className="relative grid grid-cols-[fit-content(min(12rem,32cqw))_minmax(0,1fr)_minmax(3rem,auto)]">
          <div ref={track} className="pointer-events-none absolute inset-0 col-start-2 col-end-3" aria-hidden>
            {marks.map(({ at }) => (
              <span key={at} className="absolute inset-y-0 border-s border-border/60" style={{ left: percent(at, total) }} />
            ))}
            {pointed !== undefined && <span className="absolute inset-y-0 z-10 border-s border-foreground/60" style={{ left: percent(pointed, total) }} data-pointed />}
          </div>
          {spans.map((span, index) => (
            <Lane key={index} span={span} name={nameOf(span, agents.size)} total={total} isChosen={span.entry === choice.chosen} onChoose={choice.onChoose} />
          ))}
          <Axis marks={marks} total={total} pointed={pointed} />
        </div>
      </div>
      <CutEdges cut={cut} />
    </div>
  );
}

/** A fade and an arrow at each edge that cuts bars. The lower edge is above the axis. */
function CutEdges({ cut }: { cut: Cut }) {
  const edge = "pointer-events-none absolute inset-x-0 z-20 flex h-5 justify-center from-muted from-20% text-muted-foreground";
  return (
    <>
      {cut.includes("above") && (
        <span className={`${edge} top-0 items-start border-t bg-linear-to-b`} aria-hidden>
          <ChevronDown className="size-3.5 rotate-180" />
        </span>
      )}
      {cut.includes("below") && (
        <span className={`${edge} bottom-4 items-end bg-linear-to-t`} aria-hidden>
          <ChevronDown className="size-3.5" />
        </span>
      )}
    </>
  );
}

/** Scroll the bars until the bar of the chosen entry is above the axis. The events do not scroll. */
function showChosen(box: HTMLElement): void {
  const bar = box.querySelector("[aria-current]")?.getBoundingClientRect();
  if (!bar) return;
  const seen = box.getBoundingClientRect();
  const below = bar.bottom - (seen.bottom - AXIS);
  box.scrollTop += bar.top < seen.top ? bar.top - seen.top : Math.max(0, below);
}

type LaneProps = { span: Span; name: string; total: number; isChosen: boolean; onChoose: (entry: Entry) => void };

/** A row of the waterfall: a name, a bar, and a duration after the bar. The third column has room for durations of late bars. */
const Lane = memo(function Lane({ span, name, total, isChosen, onChoose }: LaneProps) {
  const { agent, from, to, isTool, failed, state, entry } = span;
  const [left, width] = [percent(from, total), percent(to - from, total)];
  const colour = COLOURS[failed ? "error" : isTool ? "tool" : "model"];
  const tone = failed ? "text-destructive" : isChosen ? "text-foreground" : "";
  return (
    <div className="contents" data-lane={span.name} data-failed={failed || undefined}>
      <span
        className={`col-start-1 flex min-w-0 items-center gap-1 pe-2 leading-4 ${tone} low:hidden`}
        style={{ paddingInlineStart: `${INDENT * span.depth}rem` }}
        title={`${nameOf(span, 1)}, ${agent}`}
        data-depth={span.depth}
      >
        {failed && <CircleX className="size-3 shrink-0" aria-hidden />}
        <span className="truncate">{name}</span>
      </span>
      <span className="relative col-start-2 h-4 transition-none low:h-1.5">
        <button
          type="button"
          title={`${agent}: ${described(span, nameOf(span, 1))}`}
          aria-label={described(span, name)}
          aria-current={isChosen || undefined}
          onClick={() => onChoose(entry)}
          className="absolute inset-y-0 min-h-0! min-w-1! cursor-pointer rounded-sm -outline-offset-1!"
          style={{ left: `min(${left}, 100% - 4px)`, width }}
        >
          <span
            className={`absolute inset-x-0 inset-y-1 rounded-full ${colour} ${state === "ended" ? "" : "opacity-50"} in-[[data-lane]:hover]:inset-y-0.5 ${isChosen ? "inset-y-0.5! ring-2 ring-ring/50" : ""} low:inset-y-px!`}
          />
        </button>
        <span
          className={`pointer-events-none absolute inset-y-0 ps-1.5 leading-4 whitespace-nowrap tabular-nums ${tone} low:hidden`}
          style={{ left: `max(${percent(to, total)}, ${left} + 4px)` }}
          aria-hidden
          data-duration
        >
          {durationOf(span)}
        </span>
      </span>
      <span className="invisible col-start-3 h-0 ps-1.5 leading-4 whitespace-nowrap tabular-nums" aria-hidden>
        {durationOf(span)}
      </span>
    </div>
  );
});

/** Indent of a called agent, in rem. */
const INDENT = 0.75;

/** The name of a call, with a number if there are several. The name of a model call has its agent if there are several agents. */
function nameOf({ name, number, agent, isTool }: Span, agents: number): string {
  const numbered = number === undefined ? name : `${name} ${number}`;
  return isTool || agents < 2 ? numbered : `${numbered} · ${agent}`;
}

function percent(at: number, total: number): string {
  return `${(100 * at) / total}%`;
}

function durationOf({ took, state }: Span): string {
  if (state === "stopped") return `stopped after ${inSeconds(took)}`;
  return state === "ended" ? inSeconds(took) : state;
}

/** Height of the axis in CSS pixels. */
const AXIS = 16;

type AxisProps = { marks: { at: number; text: string }[]; total: number; pointed: number | undefined };

/** Time axis below the bars, and the time at the pointer. The axis stays visible while the bars scroll. */
function Axis({ marks, total, pointed }: AxisProps) {
  return (
    <div className="contents" aria-hidden data-axis>
      <span className="sticky bottom-0 z-10 col-start-1 bg-muted" />
      <span className="sticky bottom-0 z-20 col-start-2 h-4 border-t bg-muted">
        {marks.map(({ at, text }, index) => (
          <span key={at} className="absolute top-0 border-s ps-1 leading-4 whitespace-nowrap tabular-nums" style={{ left: percent(at, total) }}>
            <span className={index % 2 === 1 ? "@max-lg:hidden" : ""}>{text}</span>
          </span>
        ))}
        {pointed !== undefined && (
          <span
            className="absolute top-0 -translate-x-1/2 rounded-sm bg-foreground px-1 leading-4 whitespace-nowrap text-background tabular-nums"
            style={{ left: percent(pointed, total) }}
            data-time
          >
            {inSeconds(pointed)}
          </span>
        )}
      </span>
      <span className="sticky bottom-0 z-10 col-start-3 h-4 bg-muted" />
    </div>
  );
}

function described(span: Span, name: string): string {
  return `${name} from ${inSeconds(span.from)} to ${inSeconds(span.to)}${span.failed ? ", failed" : span.state === "ended" ? "" : `, ${span.state}`}`;
}
