import type { Entry, Failure, Prompt, Row } from "./entries";
import { Figures } from "./Figures";
import { Excerpt, Marked } from "./Marked";
import { figuresOf, modelOf, promptLine } from "./ModelCall";
import { CELL, RowButton } from "./RowButton";
import { COLOURS } from "./runs";

type ObservedRowProps = { row: Row; hit: string; chosen: Entry | undefined; onChoose: (entry: Entry) => void };

/** A call of a model, over both columns: it is neither an event nor a chunk. */
export function ModelRow({ row, prompt, hit, chosen, onChoose }: ObservedRowProps & { prompt: Prompt }) {
  const { answer, entry } = row;
  const figures = figuresOf(row).filter(([name]) => name !== "Finish" && name !== "First response");
  return (
    <li data-row={row.key} className="border-b bg-muted/50">
      <RowButton side="event" wide pressed={entry === chosen} onClick={() => onChoose(entry)}>
        <span className={CELL}>
          <span className={`mt-1 size-2 shrink-0 rounded-full ${COLOURS[answer?.error ? "error" : "model"]}`} aria-hidden />
          <span className="flex min-w-0 flex-1 flex-col">
            <span className="wrap-anywhere">
              Model call {prompt.call}: <Marked text={modelOf(prompt, answer)} />
            </span>
            <span className="truncate text-[0.6875rem] text-muted-foreground">
              <Marked text={prompt.agent} />
            </span>
            <Hit text={hit} />
          </span>
          <Figures entry={entry} timed />
        </span>
        <span className={`${CELL} flex-col ps-8! text-muted-foreground @max-lg:flex-nowrap @max-lg:ps-7!`}>
          <span>{promptLine(prompt)}</span>
          <span className="tabular-nums">{figures.map(([name, figure]) => told(name, figure)).join(" · ")}</span>
          {answer?.error && (
            <span className="line-clamp-2 wrap-anywhere text-destructive">
              <Excerpt text={answer.error} />
            </span>
          )}
        </span>
      </RowButton>
    </li>
  );
}

function told(name: string, figure: string): string {
  return name === "Time" ? figure : `${figure} ${name.toLowerCase()}`;
}

/** The exception with which the run failed. */
export function FailureRow({ row, failure, hit, chosen, onChoose }: ObservedRowProps & { failure: Failure }) {
  const { entry } = row;
  return (
    <li data-row={row.key} className="border-b bg-destructive/5" data-exception={failure.type}>
      <RowButton side="event" wide pressed={entry === chosen} onClick={() => onChoose(entry)}>
        <span className={CELL}>
          <span className={`mt-1 size-2 shrink-0 rounded-full ${COLOURS.error}`} aria-hidden />
          <span className="flex min-w-0 flex-1 flex-col">
            <span>The run failed</span>
            <Hit text={hit} />
          </span>
          <Figures entry={entry} timed />
        </span>
        <span className={`${CELL} ps-8! @max-lg:ps-7!`}>
          <span className="line-clamp-3 wrap-anywhere text-destructive">
            <Marked text={failure.message} />
          </span>
        </span>
      </RowButton>
    </li>
  );
}

/** Where the searched words are in what the row does not show. */
function Hit({ text }: { text: string }) {
  return text === "" ? null : (
    <span className="line-clamp-2 font-mono text-[0.6875rem] wrap-anywhere text-muted-foreground" dir="ltr">
      <Excerpt text={text} />
    </span>
  );
}
