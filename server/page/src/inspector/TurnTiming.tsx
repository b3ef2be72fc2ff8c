import { inBytes, inSeconds, type Row } from "./entries";
import { type Span, timingOf } from "./runs";

/** What a turn took: figures, and when the model and the tools were at work. */
export function TurnTiming({ rows }: { rows: Row[] }) {
  const timing = timingOf(rows);
  if (timing === undefined) return null;
  const { first, total, spans, tokens, bytesIn, bytesOut } = timing;
  const speaking = spans.filter(({ isTool }) => !isTool).reduce((sum, { from, to }) => sum + to - Math.max(from, first ?? from), 0);
  const figures = [
    first !== undefined && `first event ${inSeconds(first)}`,
    tokens > 0 && speaking > 0 && `${Math.round(tokens / speaking)} tokens/s`,
    `total ${inSeconds(total)}`,
    bytesIn > 0 && `${inBytes(bytesIn)} → ${inBytes(bytesOut)}`,
  ];
  return (
    <div className="px-4 pb-2">
      <p dir="ltr" className="text-xs text-muted-foreground tabular-nums">
        {figures.filter(Boolean).join(" · ")}
      </p>
      <div role="img" aria-label={spans.map(told).join(", ")} dir="ltr" className="mt-1 flex flex-col gap-0.5">
        <Lane spans={spans.filter(({ isTool }) => !isTool)} total={total} colour="bg-(--code-literal)" />
        {spans.filter(({ isTool }) => isTool).map((span, index) => (
          <Lane key={index} spans={[span]} total={total} colour="bg-(--code-string)" name={span.name} />
        ))}
      </div>
    </div>
  );
}

type LaneProps = { spans: Span[]; total: number; colour: string; name?: string };

/** A row of the waterfall: the name in a gutter of its own, and the bars beside it. */
function Lane({ spans, total, colour, name = "model" }: LaneProps) {
  return (
    <div className="grid h-3.5 grid-cols-[6rem_1fr] gap-x-2 text-[0.625rem] leading-3.5 text-muted-foreground" data-lane={name}>
      <span className="truncate text-end" title={name}>
        {name}
      </span>
      <span className="relative">
        {spans.map(({ from, to }, index) => (
          <span
            key={index}
            title={`${name} ${inSeconds(to - from)}`}
            className={`absolute inset-y-1 min-w-0.5 rounded-full ${colour}`}
            style={{ left: `${(100 * from) / total}%`, width: `${(100 * (to - from)) / total}%` }}
          />
        ))}
      </span>
    </div>
  );
}

function told({ name, from, to }: Span): string {
  return `${name} from ${inSeconds(from)} to ${inSeconds(to)}`;
}
