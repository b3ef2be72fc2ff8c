import { useEffect, useState } from "react";

type WelcomeProps = {
  /** The URL names a chat that the server does not have. */
  missing: boolean;
  onPick: (text: string) => void;
};

/** What is sent, and what it shows; a server may also list mere prompts. */
type Suggestion = { title?: string; prompt: string };

/** Before the first words: what they may be. */
export function Welcome({ missing, onPick }: WelcomeProps) {
  const suggestions = useSuggestions();
  return (
    <section className="my-auto flex flex-col gap-6 py-6" aria-label="Welcome">
      <div className="text-center">
        <h2 className="text-2xl font-semibold tracking-tight text-balance">What can I do for you?</h2>
        <p className="mt-2 text-muted-foreground">
          {missing ? "Nothing is stored of this chat. It begins with what you write." : hint(suggestions)}
        </p>
      </div>
      {suggestions.length > 0 && (
        <ul className="grid gap-2 sm:grid-cols-2" aria-label="Suggestions">
          {suggestions.map(({ title, prompt }) => (
            <li key={prompt}>
              <button
                type="button"
                dir="auto"
                aria-label={prompt}
                onClick={() => onPick(prompt)}
                className="size-full rounded-xl border bg-card px-4 py-3 text-start text-sm transition-colors hover:bg-accent"
              >
                {title !== undefined && <span className="block text-xs text-muted-foreground">{title}</span>}
                {prompt}
              </button>
            </li>
          ))}
        </ul>
      )}
    </section>
  );
}

function hint(suggestions: Suggestion[]): string {
  return suggestions.length > 0 ? "Begin with one of these, or with words of your own." : "Write a message to begin.";
}

/** What the server suggests to say first: the built page suggests nothing, a server may put its own list there. */
function useSuggestions(): Suggestion[] {
  const [suggestions, setSuggestions] = useState<Suggestion[]>([]);
  useEffect(() => {
    void fetch("suggestions.json")
      .then((response): Promise<(string | Suggestion)[]> => (response.ok ? response.json() : Promise.resolve([])))
      .then(
        (given) => setSuggestions(given.map((each) => (typeof each === "string" ? { prompt: each } : each))),
        () => undefined,
      );
  }, []);
  return suggestions;
}
