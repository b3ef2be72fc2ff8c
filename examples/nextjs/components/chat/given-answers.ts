import type { Chat } from "@ai-sdk/react";
import type { ChatMessage } from "./message-types";

type Give = () => void;

/** The answers to calls that the server has not accepted yet. If the request fails, the user can submit them again. */
export class GivenAnswers {
  private given: { before: ChatMessage[]; all: Give[] } | undefined;
  private refused: Give[] = [];

  give(state: Chat<ChatMessage>, give: Give): void {
    this.given ??= { before: state.messages, all: [] };
    this.given.all.push(give);
    this.refused = [];
    give();
  }

  /** Forget the answers: a response has begun, or the user has sent another message. */
  settle(): void {
    this.given = undefined;
    this.refused = [];
  }

  /** The request failed before its response began: show the questions again. */
  takeBack(state: Chat<ChatMessage>): void {
    if (this.given === undefined) return;
    state.messages = this.given.before;
    this.refused = this.given.all;
    this.given = undefined;
  }

  /** Submit the refused answers again. Returns false if there are none. */
  giveAgain(state: Chat<ChatMessage>): boolean {
    const refused = this.refused;
    for (const give of refused) this.give(state, give);
    return refused.length > 0;
  }
}
