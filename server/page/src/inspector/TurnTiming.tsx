import { CircleX } from "lucide-react";
import { useEffect, useRef } from "react";
import { type Entry, inBytes, inSeconds, type Row } from "./entries";
import { type Span, timingOf } from "./timing";

type TurnTimingProps = { rows: Row[]; chosen: Entry | undefined; onChoose: (entry: Entry) => void };

/** What a turn took: figures, and when the models and the tools were at work. A bar leads to its event. */
export function TurnTiming({ rows, ...choice }: TurnTimingProps) {
  const timing = timingOf(rows);
  const lanes = useRef<HTMLDivElement>(null);
  useEffect(() => {
    const box = lanes.current;
    if (!box) return;
    const observer = new ResizeObserver(() => showChosen(box)); // the chosen entry takes room below the list
    observer.observe(box);
    return () => observer.disconnect();
  }, [choice.chosen]);
  if (timing === undefined) return null;
  const { first, total, spans, tokens, bytesIn, bytesOut } = timing;
  const speaking = spans.filter(({ isTool }) => !isTool).reduce((sum, { first: begun, from, to }) => sum + to - (begun ?? from), 0);
  const failed = spans.filter((span) => span.failed).length;
  const figures = [
    first !== undefined && `first event ${inSeconds(first)}`,
    tokens > 0 && speaking > 0 && `${Math.round(tokens / speaking).toLocaleString("en")} tokens/s`,
    `total ${inSeconds(total)}`,
    bytesIn > 0 && `${inBytes(bytesIn)} → ${inBytes(bytesOut)}`,
  ];
  return (
    <>
      <p dir="ltr" className="truncate text-xs text-muted-foreground tabular-nums">
        {figures.filter(Boolean).join(" · ")}
        {failed > 0 && <span className="text-destructive">{` · ${failed} failed`}</span>}
      </p>
      <div
        ref={lanes}
        role="group"
        aria-label={spans.map(told).join(", ")}
        dir="ltr"
        className="mt-1 max-h-[min(14rem,max(9rem,40cqh))] scroll-pb-4 overflow-y-auto pe-1 text-[0.6875rem] text-muted-foreground"
      >
        <div className="grid grid-cols-[fit-content(12rem)_1fr] gap-x-2">
          {spans.map((span, index) => (
            <Lane key={index} span={span} total={total} {...choice} />
          ))}
          <Axis total={total} />
        </div>
      </div>
    </>
  );
}

/** Scrolls the bars, and not the events, until the bar of the chosen entry is above the axis. */
function showChosen(box: HTMLElement): void {
  const bar = box.querySelector("[aria-current]")?.getBoundingClientRect();
  if (!bar) return;
  const seen = box.getBoundingClientRect();
  const below = bar.bottom - (seen.bottom - AXIS);
  box.scrollTop += bar.top < seen.top ? bar.top - seen.top : Math.max(0, below);
}

type LaneProps = Omit<TurnTimingProps, "rows"> & { span: Span; total: number };

/** A row of the waterfall: the name in a gutter of its own, and the bar with its duration beside it. */
function Lane({ span, total, chosen, onChoose }: LaneProps) {
  const { name, agent, from, to, isTool, failed, state, entry } = span;
  const [left, right] = [(100 * from) / total, (100 * to) / total];
  const colour = failed ? "bg-destructive" : isTool ? "bg-(--code-string)" : "bg-(--code-literal)";
  return (
    <div className="contents" data-lane={name} data-failed={failed || undefined}>
      <span className={`flex min-w-0 items-center justify-end gap-1 leading-4 ${failed ? "text-destructive" : ""}`} title={`${name}, ${agent}`}>
        {failed && <CircleX className="size-3 shrink-0" aria-hidden />}
        <span className="truncate">{name}</span>
      </span>
      <span className="relative h-4">
        <button
          type="button"
          title={`${agent}: ${told(span)}`}
          aria-label={told(span)}
          aria-current={entry === chosen || undefined}
          onClick={() => onChoose(entry)}
          className="group absolute inset-y-0 min-h-0! min-w-1! cursor-pointer"
          style={{ left: `min(${left}%, 100% - 4px)`, width: `${right - left}%` }}
        >
          <span
            className={`absolute inset-x-0 inset-y-1 rounded-full ${colour} ${state === "ended" ? "" : "opacity-50"} group-hover:inset-y-0.5 group-aria-[current]:inset-y-0.5`}
          />
        </button>
        <span className={`pointer-events-none absolute inset-y-0 px-1.5 leading-4 whitespace-nowrap tabular-nums ${failed ? "text-destructive" : ""}`} style={placeOf(left, right)} aria-hidden data-duration>
          {durationOf(span)}
        </span>
      </span>
    </div>
  );
}

/** So many percents of the width are room enough for a duration. */
const ROOM = 20;

/** Where the duration stands: behind the bar, before it, or upon it. */
function placeOf(left: number, right: number) {
  if (right <= 100 - ROOM) return { left: `max(${right}%, ${left}% + 4px)` };
  if (left >= ROOM) return { right: `${100 - left}%` };
  return { right: 0, background: "var(--muted)", borderRadius: "9999px" };
}

function durationOf({ from, to, state }: Span): string {
  if (state === "stopped") return `stopped after ${inSeconds(to - from)}`;
  return state === "ended" ? inSeconds(to - from) : state;
}

/** The most marks on the axis. */
const MARKS = 5;

/** Pixels of its height. */
const AXIS = 16;

/** The time below the bars, which stays in view while they are scrolled. */
function Axis({ total }: { total: number }) {
  const power = 10 ** Math.floor(Math.log10(total / MARKS));
  const step = power * ([1, 2, 5].find((each) => total / (each * power) <= MARKS) ?? 10);
  const marks = Array.from({ length: Math.floor(total / step) + 1 }, (_, index) => index * step);
  return (
    <div className="contents" aria-hidden data-axis>
      <span className="sticky bottom-0 z-10 bg-muted" />
      <span className="sticky bottom-0 z-10 h-4 border-t bg-muted">
        {marks.map((at) => (
          <span key={at} className="absolute top-0 border-s ps-1 leading-4 whitespace-nowrap tabular-nums" style={{ left: `${(100 * at) / total}%` }}>
            {at / total < 0.9 && (step < 1 ? `${Math.round(at * 1000)} ms` : `${at} s`)}
          </span>
        ))}
      </span>
    </div>
  );
}

function told(span: Span): string {
  return `${span.name} from ${inSeconds(span.from)} to ${inSeconds(span.to)}${span.failed ? ", failed" : span.state === "ended" ? "" : `, ${span.state}`}`;
}
