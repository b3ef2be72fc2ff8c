import type { Chat } from "@ai-sdk/react";
import type { ChatMessage } from "./message-types";

type Give = () => void;

/** The answers to calls that no response has taken up yet. Those that the server refuses can be given again. */
export class GivenAnswers {
  private given: { before: ChatMessage[]; all: Give[] } | undefined;
  private refused: Give[] = [];

  give(state: Chat<ChatMessage>, give: Give): void {
    this.given ??= { before: state.messages, all: [] };
    this.given.all.push(give);
    this.refused = [];
    give();
  }

  /** A response has begun, or another message was sent: the answers are not to be taken back. */
  settle(): void {
    this.given = undefined;
    this.refused = [];
  }

  /** A request has failed before its response began: what asked for the answers is there again. */
  takeBack(state: Chat<ChatMessage>): void {
    if (this.given === undefined) return;
    state.messages = this.given.before;
    this.refused = this.given.all;
    this.given = undefined;
  }

  /** Gives what was refused once more; false if nothing was. */
  giveAgain(state: Chat<ChatMessage>): boolean {
    const refused = this.refused;
    for (const give of refused) this.give(state, give);
    return refused.length > 0;
  }
}
