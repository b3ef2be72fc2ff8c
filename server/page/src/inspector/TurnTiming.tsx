import { type Entry, inBytes, inSeconds, type Row } from "./entries";
import { type Span, timingOf } from "./runs";

type TurnTimingProps = { rows: Row[]; onChoose: (entry: Entry) => void };

/** What a turn took: figures, and when the model and the tools were at work. A bar leads to its first event. */
export function TurnTiming({ rows, onChoose }: TurnTimingProps) {
  const timing = timingOf(rows);
  if (timing === undefined) return null;
  const { first, total, spans, tokens, bytesIn, bytesOut } = timing;
  const speaking = spans.filter(({ isTool }) => !isTool).reduce((sum, { from, to }) => sum + to - Math.max(from, first ?? from), 0);
  const figures = [
    first !== undefined && `first event ${inSeconds(first)}`,
    tokens > 0 && speaking > 0 && `${Math.round(tokens / speaking).toLocaleString("en")} tokens/s`,
    `total ${inSeconds(total)}`,
    bytesIn > 0 && `${inBytes(bytesIn)} → ${inBytes(bytesOut)}`,
  ];
  const lane = { total, onChoose };
  return (
    <div className="px-4 pb-2">
      <p dir="ltr" className="text-xs text-muted-foreground tabular-nums">
        {figures.filter(Boolean).join(" · ")}
      </p>
      <div
        role="group"
        aria-label={spans.map(told).join(", ")}
        dir="ltr"
        className="mt-1.5 grid grid-cols-[fit-content(12rem)_1fr] gap-x-2 text-[0.6875rem] text-muted-foreground"
      >
        <Lane name="model" spans={spans.filter(({ isTool }) => !isTool)} colour="bg-(--code-literal)" {...lane} />
        {spans.filter(({ isTool }) => isTool).map((span, index) => (
          <Lane key={index} name={span.name} spans={[span]} colour="bg-(--code-string)" {...lane} />
        ))}
        <Axis total={total} />
      </div>
    </div>
  );
}

type LaneProps = Omit<TurnTimingProps, "rows"> & { spans: Span[]; total: number; colour: string; name: string };

/** A row of the waterfall: the name in a gutter of its own, and the bars beside it. */
function Lane({ spans, total, colour, name, onChoose }: LaneProps) {
  return (
    <div className="contents" data-lane={name}>
      <span className="truncate text-end leading-4" title={name}>
        {name}
      </span>
      <span className="relative">
        {spans.map((span, index) => (
          <button
            key={index}
            type="button"
            title={`${name}, ${inSeconds(span.to - span.from)}`}
            aria-label={told(span)}
            onClick={() => onChoose(span.entry)}
            className="group absolute inset-y-0 min-h-0! min-w-1! cursor-pointer"
            style={{ left: `${(100 * span.from) / total}%`, width: `${(100 * (span.to - span.from)) / total}%` }}
          >
            <span className={`absolute inset-x-0 inset-y-1 rounded-full ${colour} group-hover:inset-y-0.5`} />
          </button>
        ))}
      </span>
    </div>
  );
}

/** The most marks on the axis. */
const MARKS = 5;

/** The time below the bars. */
function Axis({ total }: { total: number }) {
  const power = 10 ** Math.floor(Math.log10(total / MARKS));
  const step = power * ([1, 2, 5].find((each) => total / (each * power) <= MARKS) ?? 10);
  const marks = Array.from({ length: Math.floor(total / step) + 1 }, (_, index) => index * step);
  return (
    <div className="contents" aria-hidden data-axis>
      <span />
      <span className="relative h-4 border-t">
        {marks.map((at) => (
          <span key={at} className="absolute top-0 border-s ps-1 leading-4 whitespace-nowrap tabular-nums" style={{ left: `${(100 * at) / total}%` }}>
            {at / total < 0.9 && (step < 1 ? `${Math.round(at * 1000)} ms` : `${at} s`)}
          </span>
        ))}
      </span>
    </div>
  );
}

function told({ name, from, to }: Span): string {
  return `${name} from ${inSeconds(from)} to ${inSeconds(to)}`;
}
