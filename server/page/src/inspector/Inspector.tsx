import { type Chat, useChat } from "@ai-sdk/react";
import { ArrowLeft, CircleX, Download, FlaskConical, FolderOpen, X } from "lucide-react";
import { Tabs } from "radix-ui";
import { type CSSProperties, type FormEvent, type ReactNode, startTransition, useEffect, useMemo, useRef, useState } from "react";
import type { ChatMessage } from "../components/chat/message-types";
import { Button } from "../components/ui/button";
import { Field, Input } from "../components/ui/field";
import { IconButton } from "../components/ui/icon-button";
import { Keys } from "../components/ui/keys";
import { useDropTarget } from "../components/ui/use-drop-target";
import { RecordedChat } from "../recorded/RecordedChat";
import { failureOf } from "../recorded/snapshots";
import { Check, ErrorCount } from "./Check";
import { addToRows, type Entry, type Row } from "./entries";
import { Events } from "./Events";
import { type Finding, type Findings, loadFindings, loadRecording, loadTest, type OpenedFile, openFile, type Source } from "./inspector-api";
import { Messages } from "./Messages";
import { NextRequest } from "./NextRequest";
import { Requests } from "./Requests";
import { RuleChoice } from "./Rows";
import { type ChosenRule, useChosenRule } from "./Rules";
import { Shown } from "./Shown";
import { State } from "./State";
import { useSize } from "./use-size";
import { useLiveRows } from "./use-live-rows";

/** Events, chunks, messages, requests and findings of a chat or of an opened file. */
export default function Inspector({ onClose, ...chat }: ChatViewProps & { onClose: () => void }) {
  const [width, handle] = useSize({ name: "inspector-width", label: "Width of the Inspector", side: "start", otherwise: 45, least: 25, most: 75 });
  const [opened, setOpened] = useState<OpenedFile>();
  const [refused, setRefused] = useState<{ file: File; text: string }>();
  const [loading, setLoading] = useState("");
  const chooser = useRef<HTMLInputElement>(null);

  const open = async (file: File | undefined, session = "") => {
    if (file === undefined) return;
    setLoading(file.name);
    setRefused(undefined);
    await openFile(file, session).then(
      (opened) => startTransition(() => setOpened(opened)), // a file may have thousands of rows: drawing them must not block the page
      (error: Error) => setRefused({ file, text: error.message }),
    );
    setLoading("");
  };
  const { over, dropTarget } = useDropTarget((files) => void open(files[0]));

  return (
    <aside
      aria-label="Inspector"
      style={{ "--width": `${width}%` } as CSSProperties}
      className="@container relative flex min-h-0 w-(--width) min-w-90 shrink-0 flex-col border-s bg-background max-md:min-w-0 max-md:fixed max-md:inset-x-0 max-md:top-12 max-md:bottom-0 max-md:z-30 max-md:w-auto max-md:border-s-0"
      {...dropTarget}
    >
      {handle}
      <header className="flex min-h-12 flex-wrap items-center gap-2 border-b px-3 py-2">
        <h2 className="me-auto min-w-0 truncate text-sm font-semibold">{opened ? opened.name : "Inspector"}</h2>
        {opened && (
          <Button look="ghost" size="small" onClick={() => setOpened(undefined)}>
            <ArrowLeft className="size-4 rtl:rotate-180" aria-hidden />
            <span>
              Back<span className="@max-md:sr-only"> to the chat</span>
            </span>
          </Button>
        )}
        <Button size="small" onClick={() => chooser.current?.click()}>
          <FolderOpen className="size-4" aria-hidden />
          <span>
            Open<span className={opened ? "@max-md:sr-only" : ""}> a recording</span>
          </span>
        </Button>
        <IconButton label="Close the Inspector" size="small icon" onClick={onClose}>
          <X />
        </IconButton>
        <input
          ref={chooser}
          type="file"
          hidden
          aria-label="Recording or capture"
          onChange={({ currentTarget }) => {
            void open(currentTarget.files?.[0]);
            currentTarget.value = "";
          }}
        />
      </header>
      <p role="status" className="px-4 text-sm text-muted-foreground empty:hidden">
        {loading && `Converting ${loading}…`}
      </p>
      {refused && <Refused key={refused.text} {...refused} onOpen={open} onDismiss={() => setRefused(undefined)} />}
      {opened ? <FileView key={`${opened.name} ${opened.session}`} opened={opened} /> : <ChatView {...chat} />}
      {over && (
        <p className="pointer-events-none absolute inset-3 z-20 grid place-items-center rounded-2xl border-2 border-dashed border-ring bg-background/85 p-4 text-center text-sm">
          Drop a recording or a captured stream to see what is in it
        </p>
      )}
    </aside>
  );
}

type RefusedProps = { file: File; text: string; onOpen: (file: File, session: string) => Promise<void>; onDismiss: () => void };

/** Reason why a file cannot be shown. If the file has several sessions, the user can choose one. */
function Refused({ file, text, onOpen, onDismiss }: RefusedProps) {
  const [session, setSession] = useState("");
  const submit = (event: FormEvent) => {
    event.preventDefault();
    void onOpen(file, session);
  };
  return (
    <form onSubmit={submit} className="m-3 flex flex-col gap-3 rounded-lg border border-destructive/50 p-3">
      <p role="alert" className="text-sm wrap-anywhere">
        {file.name}: {text}
      </p>
      {text.includes("session") && (
        <Field label="Session">
          <Input value={session} onChange={(event) => setSession(event.target.value)} />
        </Field>
      )}
      <span className="flex gap-2">
        {text.includes("session") && (
          <Button type="submit" size="small" disabled={session === ""}>
            Open this session
          </Button>
        )}
        <Button look="ghost" size="small" onClick={onDismiss}>
          Dismiss
        </Button>
      </span>
    </form>
  );
}

type ChatViewProps = {
  id: string;
  state: Chat<ChatMessage>;
  /** Payloads of approved calls. Each request contains them. */
  payloads: Record<string, unknown>;
};

function ChatView({ id, state, payloads }: ChatViewProps) {
  const { messages, status } = useChat<ChatMessage>({ chat: state, experimental_throttle: 100 });
  const busy = status === "submitted" || status === "streaming";
  const { rows, loaded, problem } = useLiveRows(id, busy);
  const [found, unchecked] = useFindings(id, busy, rows.length > 0);
  const source = useMemo(() => ({ id }), [id]);
  return (
    <View
      rows={rows}
      live
      messages={messages}
      next={<NextRequest id={id} messages={messages} payloads={payloads} busy={busy} />}
      source={rows.length > 0 ? source : undefined}
      saves
      empty={problem ? <Failed text={problem} /> : !loaded ? <p role="status">Loading the events of this chat…</p> : <Empty isNew={messages.length === 0} />}
      findings={found?.findings ?? NONE}
      check={(show, rules) => {
        if (busy) return <Note>The response is checked when it is complete.</Note>;
        if (rows.length === 0) return <Note>There is nothing to check yet. After each response, the problems that clients have with its stream appear here.</Note>;
        if (unchecked) return <Failed text={unchecked} />;
        return found ? <Check {...found} rows={rows} rules={rules} onShow={show} /> : <Note>Checking the stream…</Note>;
      }}
    />
  );
}

const NONE: Finding[] = [];

/** Return the findings of a chat after each response, or the error text if they cannot be loaded. */
function useFindings(id: string, busy: boolean, begun: boolean): [Findings | undefined, string] {
  const [found, setFound] = useState<Findings>();
  const [problem, setProblem] = useState("");
  useEffect(() => {
    if (busy || !begun) return;
    let current = true;
    loadFindings(id).then(
      (found) => current && (setFound(found), setProblem("")),
      (error: Error) => current && setProblem(error.message),
    );
    return () => {
      current = false;
    };
  }, [id, busy, begun]);
  return [found, problem];
}

function Note({ children }: { children: ReactNode }) {
  return <p className="text-sm text-muted-foreground">{children}</p>;
}

function Failed({ text }: { text: string }) {
  return (
    <p role="alert" className="flex items-start gap-2 text-sm wrap-anywhere text-foreground">
      <CircleX className="mt-0.5 size-4 shrink-0 text-destructive" aria-hidden /> {text}
    </p>
  );
}

function Empty({ isNew }: { isNew: boolean }) {
  return (
    <>
      {isNew ? (
        <p>Send a message. Each event of the agent then appears here, beside the stream chunks that the server made from it.</p>
      ) : (
        <p>
          The server keeps no events of this chat: its runs are too old, or ended before the server started. Events of the next run appear here.
        </p>
      )}
      <p>
        To inspect a stored conversation, open a recording or a captured stream, or drop the file here.{" "}
        <Keys keys="Mod+I" /> opens and closes the Inspector.
      </p>
    </>
  );
}

type FileViewProps = { opened: OpenedFile };

function FileView({ opened }: FileViewProps) {
  const rows = useMemo(() => addToRows([], opened.entries), [opened]);
  const { messages, findings } = opened;
  return (
    <RecordedView
      rows={rows}
      messages={messages}
      findings={findings}
      source={opened.recordable ? opened : undefined}
      saves
      chat={<RecordedChat messages={messages} failure={failureOf(rows)} />}
    />
  );
}

type RecordedViewProps = Pick<ViewProps, "rows" | "messages" | "findings" | "source" | "saves" | "chat" | "opensChat" | "follows">;

/** A recording, or the part of a recording that was replayed so far. */
export function RecordedView(view: RecordedViewProps) {
  const { rows, findings } = view;
  return (
    <View
      {...view}
      live={false}
      empty={<p>Nothing has happened yet.</p>}
      check={(show, rules) =>
        rows.length === 0 ? <Note>There is nothing to check yet.</Note> : <Check findings={findings} rows={rows} rules={rules} onShow={show} />
      }
    />
  );
}

const TABS = { events: "Events", chat: "Chat", message: "Message", request: "Request", state: "State", check: "Check" };
type TabName = keyof typeof TABS;

type ViewProps = {
  rows: Row[];
  /** The rows are from a chat on the server. */
  live: boolean;
  /** The list of events scrolls to its end when new rows come. */
  follows?: boolean;
  messages: ChatMessage[];
  /** The next request of a live chat. */
  next?: ReactNode;
  /** Source of the recording that the user can save. */
  source: Source | undefined;
  /** The server can write a recording and a test. */
  saves?: boolean;
  /** Chat in a tab of its own, if the page beside the panel does not show it. */
  chat?: ReactNode;
  /** The chat's tab is open at first. */
  opensChat?: boolean;
  /** Shown where there are no rows. */
  empty: ReactNode;
  findings: Finding[];
  check: (show: (number: number) => void, rules: ChosenRule) => ReactNode;
};

function View({ rows, live, follows = live, messages, next, source, saves = false, chat, opensChat = false, empty, findings, check }: ViewProps) {
  const [tab, setTab] = useState<TabName>(opensChat ? "chat" : "events");
  const [chosen, setChosen] = useState<Entry>();
  const rules = useChosenRule();
  const show = (number: number) => {
    setTab("events");
    setChosen(rows.flatMap(({ chunks }) => chunks).find((chunk) => chunk.number === number));
  };
  const showRule = (name: string) => {
    setTab("check");
    rules.choose(name);
  };
  return (
    <Tabs.Root value={tab} onValueChange={(chosen) => setTab(chosen as TabName)} className="@container flex min-h-0 flex-1 flex-col">
      <Tabs.List aria-label="What is shown" className="flex shrink-0 overflow-x-auto overflow-y-hidden border-b px-2 [scrollbar-width:none] @max-md:px-1.5">
        {Object.entries(TABS).filter(([name]) => chat || name !== "chat").map(([name, title]) => (
          <Tabs.Trigger
            key={name}
            value={name}
            className="relative shrink-0 rounded-lg px-2 py-2 text-sm whitespace-nowrap text-muted-foreground -outline-offset-2 after:absolute after:inset-x-1.5 after:bottom-0 after:h-0.5 after:rounded-full hover:text-foreground data-[state=active]:text-foreground data-[state=active]:after:bg-primary @max-md:px-1.25 @max-md:text-[0.8125rem]"
          >
            {title} {name === "check" && <ErrorCount findings={findings} />}
          </Tabs.Trigger>
        ))}
      </Tabs.List>
      <Tabs.Content value="events" tabIndex={-1} className="flex min-h-0 flex-1 flex-col outline-none">
        {rows.length === 0 ? (
          <div className="flex flex-col gap-2 p-4 text-sm text-muted-foreground">{empty}</div>
        ) : (
          <RuleChoice value={showRule}>
            <Events rows={rows} findings={findings} chosen={chosen} onChoose={setChosen} follows={follows} />
          </RuleChoice>
        )}
      </Tabs.Content>
      {chat && <TabPage name="chat">{chat}</TabPage>}
      <TabPage name="message">
        <Messages messages={messages} />
      </TabPage>
      <TabPage name="request">
        <Requests rows={rows} chosen={chosen} />
        {next}
      </TabPage>
      <TabPage name="state">
        <State rows={rows} live={live} />
      </TabPage>
      <TabPage name="check">{check(show, rules)}</TabPage>
      {saves && <Exports source={source} />}
    </Tabs.Root>
  );
}

function TabPage({ name, children }: { name: TabName; children: ReactNode }) {
  return (
    <Tabs.Content value={name} className="min-h-0 flex-1 overflow-y-auto p-4 -outline-offset-2 data-[state=active]:flex data-[state=active]:flex-col data-[state=active]:gap-3">
      {children}
    </Tabs.Content>
  );
}

/** Buttons that save the recording and copy a test. */
function Exports({ source }: { source: Source | undefined }) {
  const [said, setSaid] = useState("");
  const [test, setTest] = useState("");
  const save = async () => {
    const { name, content } = await loadRecording(source!);
    const link = document.createElement("a");
    link.href = URL.createObjectURL(content);
    link.download = name;
    link.click();
    URL.revokeObjectURL(link.href);
    setSaid(`Saved as ${name}, without secrets.`);
  };
  const copy = async () => {
    const text = await loadTest(source!);
    const copied = await navigator.clipboard?.writeText(text).then(() => true, () => false);
    setTest(copied ? "" : text);
    setSaid(copied ? "Copied. The test says where the recording goes." : "The browser does not allow copying here. This is the test:");
  };
  const tell = (work: () => Promise<void>) => () => void work().catch((error: Error) => setSaid(error.message));
  return (
    <footer className="flex shrink-0 flex-col gap-2 border-t px-3 py-1.5">
      <span className="flex flex-wrap items-center gap-2">
        <Button size="small" disabled={!source} onClick={tell(save)}>
          <Download className="size-4" aria-hidden /> Save as recording
        </Button>
        <Button size="small" disabled={!source} onClick={tell(copy)}>
          <FlaskConical className="size-4" aria-hidden /> Copy as pytest
        </Button>
        <span role="status" className="min-w-0 text-xs text-muted-foreground">
          {said}
        </span>
      </span>
      {test && (
        <div className="max-h-48 overflow-y-auto">
          <Shown value={test} label="Test" />
        </div>
      )}
    </footer>
  );
}
