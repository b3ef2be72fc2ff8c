import { createContext, useContext } from "react";
import type { AddToolOutput } from "@/lib/chat-message";

/** What the user decides on a call, and what the call gets with it. */
export type Decide = (answer: { id: string; approved: boolean; reason?: string }, payload?: unknown) => void;

type Answers = { decide: Decide; addToolOutput: AddToolOutput };

export const AnswersContext = createContext<Answers | null>(null);

/** How calls that wait for the user are answered. */
export function useAnswers(): Answers {
  const answers = useContext(AnswersContext);
  if (!answers) throw new Error("There is no chat around this.");
  return answers;
}
