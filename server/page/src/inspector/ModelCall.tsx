import { ChevronDown, Copy, MessageSquareText } from "lucide-react";
import { type ReactNode, useState } from "react";
import { Button } from "../components/ui/button";
import { type Entry, inSeconds, speakerOf, type ModelAnswer, type Prompt, type PromptContent, type Row, type Unanswered } from "./entries";
import { mediaOf, Thumbnail } from "./Media";
import { Shown } from "./Shown";

/** Prompt, duration, tokens and result of a model call. `rows`: all rows, because a prompt refers to earlier prompts of its turn. */
export function ModelCall({ prompt, rows, onChoose }: { prompt: Prompt; rows: Row[]; onChoose: (entry: Entry) => void }) {
  const row = rows.find(({ entry }) => entry.prompt === prompt);
  const { call, agent, instruction, tools, config, repeats = 0, of } = prompt;
  const earlier = repeats > 0 && row ? takeContents(contentsOf(of, row, rows), repeats) : [];
  const own = ownContents(prompt);
  const count = countOf(own);
  const response = row && responseOf(row, rows);
  return (
    <div className="flex flex-col gap-3 text-sm" data-call={call}>
      <span className="flex flex-wrap gap-2">
        <CopyPrompt prompt={prompt} contents={[...earlier, ...own]} />
        {response && (
          <Button size="small" onClick={() => onChoose(response)}>
            <MessageSquareText className="size-4" aria-hidden /> Show the response
          </Button>
        )}
      </span>
      <dl className="flex flex-wrap gap-x-5 gap-y-1">
        <Figure name="Model">{modelOf(prompt, row?.answer)}</Figure>
        <Figure name="Agent">{agent}</Figure>
        {figuresOf(row ?? {}).map(([name, figure]) => (
          <Figure key={name} name={name}>
            {figure}
          </Figure>
        ))}
      </dl>
      {row?.answer?.error && (
        <p className="wrap-anywhere whitespace-pre-wrap text-destructive" data-error>
          {row.answer.error}
        </p>
      )}
      <Section title="System instruction" open>
        {instruction === undefined ? <None /> : typeof instruction === "string" ? <Text>{instruction}</Text> : <Shown value={instruction} label="System instruction" />}
      </Section>
      <Section title={earlier.length > 0 ? `Contents: ${repeats} as in call ${of}, ${count} new` : `Contents: ${count}`} open>
        <Earlier key={call} contents={earlier} of={of} count={repeats} />
        <Contents contents={own} />
      </Section>
      <Section title={`Tools: ${tools.length}`} open={tools.length > 0}>
        {tools.length === 0 ? (
          <None />
        ) : (
          <ul className="flex flex-wrap gap-1.5">
            {tools.map((name) => (
              <li key={name} className="rounded-md border bg-muted px-1.5 font-mono text-xs leading-5">
                {name}
              </li>
            ))}
          </ul>
        )}
      </Section>
      <Section title="Config">{Object.keys(config).length === 0 ? <None /> : <Shown value={config} label="Config" />}</Section>
    </div>
  );
}

/** Button that copies the whole prompt, including the contents that an earlier call has, too. */
function CopyPrompt({ prompt, contents }: { prompt: Prompt; contents: Item[] }) {
  const [said, setSaid] = useState("");
  const copy = async () => {
    const { model, agent, instruction, tools, config } = prompt;
    const omitted = contents.find((content) => typeof content === "number");
    const kept = contents.filter((content) => typeof content !== "number");
    const asked = { model, agent, instruction, ...(omitted && { omitted }), contents: kept, tools, config };
    const isCopied = await navigator.clipboard?.writeText(JSON.stringify(asked, null, 2)).then(() => true, () => false);
    setSaid(isCopied ? "Copied" : "The browser does not allow it");
  };
  return (
    <>
      <Button size="small" onClick={() => void copy()}>
        <Copy className="size-4" aria-hidden /> Copy as JSON
      </Button>
      <span role="status" className="self-center text-xs text-muted-foreground empty:hidden">
        {said}
      </span>
    </>
  );
}

/** Return the complete event of the call's response, or the newest event if there is no complete event yet. */
function responseOf(row: Row, rows: Row[]): Entry | undefined {
  const later = rows.slice(rows.indexOf(row) + 1);
  const next = later.findIndex(({ entry }) => entry.turn || entry.prompt?.agent === row.entry.prompt?.agent);
  const response = (next < 0 ? later : later.slice(0, next)).map(({ entry }) => entry).filter(({ event }) => speakerOf(event) === row.entry.prompt?.agent);
  return response.find(({ event }) => event?.partial !== true && !event?.content?.parts?.every(({ text }) => text === "")) ?? response.at(-1);
}

/** Return the model's name, and the version that answered. */
export function modelOf({ model }: Prompt, answer: ModelAnswer | undefined): string {
  return answer?.version && answer.version !== model ? `${model ?? ""} (${answer.version})` : (model ?? answer?.version ?? "unknown");
}

/** Return the names and values of a call's times and tokens. */
export function figuresOf({ answer, unanswered = {} }: Pick<Row, "answer" | "unanswered">): [string, string][] {
  if (answer === undefined) return [["Time", soFar(unanswered)]];
  const { seconds, first, tokens = {}, finish } = answer;
  const count = (tokens: number) => tokens.toLocaleString("en");
  const names = { in: "Tokens in", cached: "Cached", out: "Tokens out", thoughts: "Thoughts" } as const;
  const counts = Object.entries(names).flatMap(([key, name]): [string, string][] => {
    const known = tokens[key as keyof typeof names];
    return known === undefined ? [] : [[name, count(known)]];
  });
  const times: [string, string][] = [["Time", inSeconds(seconds)], ...(first === undefined ? [] : [["First response", inSeconds(first)] as [string, string]])];
  return [...times, ...counts, ...(finish ? [["Finish", finish] as [string, string]] : [])];
}

/** Return the state of a call without an answer. */
function soFar({ first, stopped, lost = false }: Unanswered): string {
  const begun = first === undefined ? "" : `, first response after ${inSeconds(first)}`;
  if (stopped !== undefined) return `stopped after ${inSeconds(stopped)}${begun}`;
  if (lost) return `not known${begun}`;
  return first === undefined ? "no response yet" : `streaming${begun}`;
}

/** A content, or the number of omitted contents. */
type Item = PromptContent | number;

function ownContents({ omitted = 0, contents }: Prompt): Item[] {
  return omitted > 0 ? [omitted, ...contents] : contents;
}

/** Return all contents of an earlier call of the same turn. */
function contentsOf(call: number | undefined, row: Row, rows: Row[]): Item[] {
  const at = rows.indexOf(row);
  const turn = rows.slice(0, at).findLastIndex(({ entry }) => entry.turn);
  const before = rows.find(({ entry }, index) => index > turn && entry.prompt?.call === call);
  const prompt = before?.entry.prompt;
  if (!before || !prompt) return [];
  const earlier = prompt.repeats ? takeContents(contentsOf(prompt.of, before, rows), prompt.repeats) : [];
  return [...earlier, ...ownContents(prompt)];
}

/** Return the first `count` contents of a prompt. */
function takeContents(items: Item[], count: number): Item[] {
  const taken: Item[] = [];
  for (const item of items) {
    const left = count - countOf(taken);
    if (left <= 0) break;
    taken.push(typeof item === "number" ? Math.min(item, left) : item);
  }
  return taken;
}

function countOf(items: Item[]): number {
  return items.reduce<number>((sum, item) => sum + (typeof item === "number" ? item : 1), 0);
}

function Earlier({ contents, of, count }: { contents: Item[]; of: number | undefined; count: number }) {
  const [open, setOpen] = useState(false);
  if (contents.length === 0) return null;
  return (
    <>
      <Toggle open={open} onToggle={() => setOpen(!open)}>
        {count} {count === 1 ? "content" : "contents"} as in call {of}
      </Toggle>
      {open && <Contents contents={contents} />}
    </>
  );
}

function Contents({ contents }: { contents: Item[] }) {
  return (
    <ol className="flex flex-col gap-2">
      {contents.map((content, index) =>
        typeof content === "number" ? (
          <li key={index} className="text-xs text-muted-foreground">
            {content} {content === 1 ? "content is" : "contents are"} not kept: the prompt is too long.
          </li>
        ) : (
          <li key={index} className="flex min-w-0 flex-col gap-1 border-s-2 ps-3" data-role={content.role}>
            <span className="text-xs font-medium text-muted-foreground">{content.role ?? "no role"}</span>
            {content.parts?.map((part, at) => (
              <Part key={at} part={part} />
            ))}
          </li>
        ),
      )}
    </ol>
  );
}

function Part({ part }: { part: NonNullable<PromptContent["parts"]>[number] }) {
  const { text, thought, functionCall, functionResponse, inlineData } = part;
  const media = mediaOf(inlineData);
  if (media) return <Thumbnail media={media} />;
  if (text !== undefined) {
    return (
      <>
        {thought && <span className="text-xs text-muted-foreground">thought</span>}
        <Text>{text}</Text>
      </>
    );
  }
  if (functionCall) return <Named name={`calls ${functionCall.name ?? ""}`} value={functionCall.args ?? {}} />;
  if (functionResponse) return <Named name={`result of ${functionResponse.name ?? ""}`} value={functionResponse.response ?? {}} />;
  return <Shown value={part} label="Part" />;
}

function Named({ name, value }: { name: string; value: unknown }) {
  return (
    <div className="flex min-w-0 flex-col gap-1">
      <span className="text-xs">{name}</span>
      <Shown value={value} label={name} />
    </div>
  );
}

function Text({ children }: { children: string }) {
  return (
    <p dir="auto" className="text-sm leading-relaxed whitespace-pre-wrap wrap-anywhere">
      {children}
    </p>
  );
}

function None() {
  return <p className="text-sm text-muted-foreground">None</p>;
}

function Figure({ name, children }: { name: string; children: ReactNode }) {
  return (
    <div className="flex flex-col">
      <dt className="text-xs text-muted-foreground">{name}</dt>
      <dd className="tabular-nums">{children}</dd>
    </div>
  );
}

function Section({ title, open: opens = false, children }: { title: string; open?: boolean; children: ReactNode }) {
  const [open, setOpen] = useState(opens);
  return (
    <section className="flex min-w-0 flex-col gap-2">
      <Toggle open={open} onToggle={() => setOpen(!open)}>
        <span className="font-medium">{title}</span>
      </Toggle>
      {open && <div className="flex min-w-0 flex-col gap-2 ps-5.5">{children}</div>}
    </section>
  );
}

function Toggle({ open, onToggle, children }: { open: boolean; onToggle: () => void; children: ReactNode }) {
  return (
    <button type="button" aria-expanded={open} onClick={onToggle} className="flex items-center gap-1.5 rounded-md py-0.5 text-start text-sm hover:bg-accent">
      <ChevronDown className={`size-4 shrink-0 text-muted-foreground transition-transform ${open ? "" : "-rotate-90"}`} aria-hidden />
      {children}
    </button>
  );
}

/** Return the summary of a prompt for its row. */
export function promptLine({ contents, tools, repeats = 0, omitted = 0 }: Prompt): string {
  const count = repeats + omitted + contents.length;
  return `${count} ${count === 1 ? "content" : "contents"}, ${tools.length} ${tools.length === 1 ? "tool" : "tools"}`;
}
