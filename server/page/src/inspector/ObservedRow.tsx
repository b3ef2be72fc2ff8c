import type { Entry, Failure, Prompt, Row } from "./entries";
import { EventFigures } from "./Figures";
import { Excerpt, Marked } from "./Marked";
import { figuresOf, modelOf, promptLine } from "./ModelCall";
import { Author, CELL, RowButton, TEXTS } from "./RowButton";
import { COLOURS } from "./runs";

type ObservedRowProps = { row: Row; hit: string; chosen: Entry | undefined; onChoose: (entry: Entry) => void };

/** Row of a model call. It covers both columns, because it is not an event or a chunk. */
export function ModelRow({ row, prompt, hit, chosen, onChoose }: ObservedRowProps & { prompt: Prompt }) {
  const { answer, entry } = row;
  const figures = figuresOf(row).filter(([name]) => name !== "Finish" && name !== "First response");
  return (
    <li data-row={row.key} className="border-b bg-muted/50">
      <RowButton side="event" wide pressed={entry === chosen} onClick={() => onChoose(entry)}>
        <span className={CELL}>
          <span className={`mt-1 size-2 shrink-0 rounded-full ${COLOURS[answer?.error ? "error" : "model"]}`} aria-hidden />
          <span className={TEXTS}>
            <span className="wrap-anywhere">
              Model call {prompt.call}: <Marked text={modelOf(prompt, answer)} />
            </span>
            <Author name={prompt.agent} />
            <Hit text={hit} />
          </span>
          <EventFigures {...entry} />
        </span>
        <span className={`${CELL} flex-col ps-8! text-muted-foreground @max-lg:ps-7!`}>
          <span className="tabular-nums">{[promptLine(prompt), ...figures.map(([name, figure]) => told(name, figure))].join(" · ")}</span>
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

/** Row of the exception that ended the run. */
export function FailureRow({ row, failure, hit, chosen, onChoose }: ObservedRowProps & { failure: Failure }) {
  const { entry } = row;
  return (
    <li data-row={row.key} className="border-b bg-destructive/5" data-exception={failure.type}>
      <RowButton side="event" wide pressed={entry === chosen} onClick={() => onChoose(entry)}>
        <span className={CELL}>
          <span className={`mt-1 size-2 shrink-0 rounded-full ${COLOURS.error}`} aria-hidden />
          <span className={TEXTS}>
            <span>The run failed</span>
            <Hit text={hit} />
          </span>
          <EventFigures {...entry} />
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

/** The searched words in data that the row does not show. */
function Hit({ text }: { text: string }) {
  return text === "" ? null : (
    <span className="line-clamp-2 basis-full font-mono text-[0.6875rem] wrap-anywhere text-muted-foreground" dir="ltr">
      <Excerpt text={text} />
    </span>
  );
}
