const KEY = "stopped-answers";

/** Answers that a browser remembers. Older ones are forgotten first. */
const MOST = 200;

/** The ids of the messages that were stopped in this browser. A stored message does not tell how it ended. */
export function stoppedAnswers(): string[] {
  try {
    const stored: unknown = JSON.parse(localStorage.getItem(KEY) ?? "[]");
    return Array.isArray(stored) ? stored.map(String) : [];
  } catch {
    return []; // a browser that stores nothing
  }
}

export function rememberStopped(messageId: string): void {
  try {
    const others = stoppedAnswers().filter((id) => id !== messageId);
    localStorage.setItem(KEY, JSON.stringify([...others, messageId].slice(-MOST)));
  } catch {
    // a browser that stores nothing: the mark is gone after a reload
  }
}
