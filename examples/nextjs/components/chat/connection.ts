import type { Chat } from "@ai-sdk/react";
import { loadChat } from "./chat-api";
import type { ChatMessage, StoredChat } from "./message-types";

/** `reconnecting`: a response broke off, and is being taken up again. `lost`: that has failed. */
export type ConnectionState = "open" | "reconnecting" | "lost";

/** The pauses in milliseconds before each attempt to take up a response. */
const PAUSES = [300, 1000, 2000, 4000, 8000, 15_000];

/** `gone`: the server can be reached, but does not have the reply. */
type Outcome = "resumed" | "away" | "gone";

/** Takes up a response whose connection broke: the server goes on with it. */
export class Connection {
  private begun = false;
  private broken = false;
  private attempt = 0;
  private is: ConnectionState = "open";

  /** `onChange` is called with each state. `showStored` shows the chat as it was loaded. */
  constructor(
    private readonly api: string,
    private readonly onChange: (is: ConnectionState) => void,
    private readonly showStored: (chat: StoredChat) => void,
  ) {}

  /** The last request or response has ended because of the network, and the server may have the reply. */
  get canBeTakenUp(): boolean {
    return this.broken || this.is === "lost";
  }

  get isReconnecting(): boolean {
    return this.is === "reconnecting";
  }

  /** A response begins. */
  begin(): void {
    this.begun = true;
  }

  /** A request or a response has ended, `broken` if the network was the reason. */
  end(broken: boolean, state: Chat<ChatMessage>): void {
    this.broken = broken;
    const brokeOff = broken && this.begun;
    this.begun = false;
    if (brokeOff) void this.reconnect(state);
  }

  /** The user has stopped the reply, sent a message or left the chat. */
  cancel(): void {
    this.attempt++;
    this.show("open");
  }

  /** Tries again at once, if the network was the reason of the error. Asks anew for a reply that the server does not have. */
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
      if (attempt !== this.attempt) return; // it broke off once more, or the user went on
      if (outcome !== "away") return this.show(outcome === "gone" ? "lost" : "open");
    }
    this.show("lost");
  }

  private async takeUp(state: Chat<ChatMessage>): Promise<Outcome> {
    const shown = state.messages;
    await state.resumeStream();
    if (state.error !== undefined) return this.broken ? "away" : "resumed"; // else the run itself has failed
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

/** A network that comes back ends the pause. */
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
