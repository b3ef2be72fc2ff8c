import type { Chat } from "@ai-sdk/react";
import { loadChat } from "./chat-api";
import type { ChatMessage, StoredChat } from "./message-types";

/** `reconnecting`: the connection broke, and the client is resuming the response. `lost`: resuming failed. */
export type ConnectionState = "open" | "reconnecting" | "lost";

/** The delay in milliseconds before each attempt to resume a response. */
const PAUSES = [300, 1000, 2000, 4000, 8000, 15_000];

/** Result of an attempt. `gone`: the server responds, but does not have the reply. */
type Outcome = "resumed" | "away" | "gone";

/** Resumes a response whose connection broke. Meanwhile the run continues on the server. */
export class Connection {
  private begun = false;
  private broken = false;
  private attempt = 0;
  private is: ConnectionState = "open";

  /** `onChange` gets each new state. `showStored` loads the stored chat and shows it. */
  constructor(
    private readonly api: string,
    private readonly onChange: (is: ConnectionState) => void,
    private readonly showStored: (chat: StoredChat) => void,
  ) {}

  /** True if the network ended the last request or response, so the server may have the reply. */
  get canBeTakenUp(): boolean {
    return this.broken || this.is === "lost";
  }

  get isReconnecting(): boolean {
    return this.is === "reconnecting";
  }

  /** Call this when a response begins. */
  begin(): void {
    this.begun = true;
  }

  /** Call this when a request or response has ended. `broken`: the network was the reason. */
  end(broken: boolean, state: Chat<ChatMessage>): void {
    this.broken = broken;
    const brokeOff = broken && this.begun;
    this.begun = false;
    if (brokeOff) void this.reconnect(state);
  }

  /** Call this when the user stops the reply, sends a message or leaves the chat. */
  cancel(): void {
    this.attempt++;
    this.show("open");
  }

  /** Retry now if the network was the reason. Requests a new reply if the server does not have this one. */
  async retry(state: Chat<ChatMessage>): Promise<void> {
    const attempt = ++this.attempt;
    this.show("reconnecting");
    const outcome = await this.takeUp(state);
    if (attempt !== this.attempt) return;
    this.show("open");
    if (outcome === "gone") await state.regenerate();
  }

  private show(is: ConnectionState): void {
    this.is = is;
    this.onChange(is);
  }

  private async reconnect(state: Chat<ChatMessage>): Promise<void> {
    const attempt = ++this.attempt;
    this.show("reconnecting");
    for (const pause of PAUSES) {
      await sleep(pause);
      if (attempt !== this.attempt) return;
      const outcome = await this.takeUp(state);
      if (attempt !== this.attempt) return; // a newer attempt has begun, or the user has continued
      if (outcome !== "away") return this.show(outcome === "gone" ? "lost" : "open");
    }
    this.show("lost");
  }

  private async takeUp(state: Chat<ChatMessage>): Promise<Outcome> {
    const shown = state.messages;
    await state.resumeStream();
    if (state.error !== undefined) return this.broken ? "away" : "resumed"; // if `broken` is false, the run itself failed
    if (state.messages !== shown) return "resumed";
    try {
      const stored = await loadChat(this.api, state.id);
      if (stored === undefined || stored.messages.length < shown.length) return "gone";
      this.showStored(stored);
      return "resumed";
    } catch {
      return "away";
    }
  }
}

/** Wait for the delay, or until the browser is online again. */
function sleep(milliseconds: number): Promise<void> {
  return new Promise((resolve) => {
    const wake = () => {
      clearTimeout(timer);
      window.removeEventListener("online", wake);
      resolve();
    };
    const timer = setTimeout(wake, milliseconds);
    window.addEventListener("online", wake);
  });
}
