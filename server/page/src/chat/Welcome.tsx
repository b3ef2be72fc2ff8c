import type { PageInfo } from "../layout/use-page-info";

type WelcomeProps = {
  info: PageInfo | undefined;
  /** The URL names a chat that the server does not have. */
  missing: boolean;
  onPick: (text: string) => void;
};

/** Before the first words: who answers them, and what they may be. */
export function Welcome({ info, missing, onPick }: WelcomeProps) {
  const { agent, models = [], suggestions = [] } = info ?? {};
  return (
    <section className="flex min-h-0 flex-1 flex-col overflow-y-auto" aria-label="Welcome">
      <div className="mx-auto my-auto flex w-full max-w-3xl flex-col gap-6 px-4 py-6">
        <div className="text-center">
          <h2 className="text-2xl font-semibold tracking-tight text-balance">What can I do for you?</h2>
          {agent !== undefined && (
            <p className="mt-2 text-muted-foreground">
              Chatting with <bdi className="font-medium text-foreground">{agent}</bdi>
              {models.length > 0 && <> ({models.join(", ")})</>}.
            </p>
          )}
          <p className="mt-2 text-muted-foreground">{info && hint(info, missing)}</p>
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
      </div>
    </section>
  );
}

function hint({ suggestions }: PageInfo, missing: boolean): string {
  if (missing) return "This chat doesn't exist. Send a message to start a new one.";
  return suggestions.length > 0 ? "Try one of these, or ask anything." : "Send a message to start.";
}
