import { Fragment, useState } from "react";
import { Button } from "../ui/button";
import { readableName } from "../tools/readable-name";
import type { SizeLimits } from "../composer/use-attachments";
import { Mark } from "../ui/mark";

/** Number of suggestions that are shown at first. */
const FIRST = 6;

/** Number of tools that are shown at first. */
const FIRST_TOOLS = 4;

/**
 * A suggested message. `title` is its label, and `group` its heading when all suggestions are shown. With `attach` the
 * user first chooses a file.
 */
export type Suggestion = { title?: string; group?: string; prompt: string; attach?: boolean };

/** Facts about the agent and its server, loaded before the first message. */
export type About = SizeLimits & {
  agent?: string;
  description?: string;
  models?: string[];
  /** The agent's tools, shown if there are no suggestions. */
  tools?: { name: string; description: string }[];
  suggestions?: Suggestion[];
};

/** Tools of ADK that agents use among themselves. They tell the user nothing. */
const INTERNAL = /^(?:adk_.*|transfer_to_agent|finish_task|exit_loop|set_model_response|(?:load|preload)_(?:memory|artifacts))$/;

type WelcomeProps = {
  about: About | undefined;
  /** True if the server does not have the chat of the URL. */
  missing: boolean;
  onPick: (suggestion: Suggestion) => void;
};

/** Start of a new chat: the agent's name and suggestions. */
export function Welcome({ about, missing, onPick }: WelcomeProps) {
  const { agent, models = [], description, suggestions = [] } = about ?? {};
  const tools = (about?.tools ?? []).filter(({ name }) => !INTERNAL.test(name));
  const [all, showAll] = useState(false);
  const shown = all || suggestions.length <= FIRST + 2 ? suggestions : suggestions.slice(0, FIRST);
  const shownTools = all || tools.length <= FIRST_TOOLS + 1 ? tools : tools.slice(0, FIRST_TOOLS);
  return (
    <section className="flex min-h-0 flex-1 flex-col overflow-y-auto" aria-label="Welcome">
      <div className="mx-auto my-auto flex w-full max-w-3xl flex-col gap-6 px-4 py-6">
        <div className="text-center">
          <Mark className="mx-auto mb-4 size-10" />
          <h2 className="text-[1.75rem] leading-tight font-semibold tracking-tight text-balance">What can I do for you?</h2>
          {description && (
            <p dir="auto" className="mx-auto mt-2 max-w-prose text-balance">
              {description}
            </p>
          )}
          <p className="mt-2 text-muted-foreground">
            {agent !== undefined && (
              <>
                Chatting with <bdi className="font-medium text-foreground">{agent}</bdi>
                {models.length > 0 && <> ({models.join(", ")})</>}.{" "}
              </>
            )}
            {about && hint(suggestions, missing)}
          </p>
        </div>
        {suggestions.length === 0 && tools.length > 0 && (
          <dl className="mx-auto grid max-w-xl gap-x-4 gap-y-1.5 text-sm sm:grid-cols-[auto_1fr]" aria-label="Tools">
            {shownTools.map(({ name, description: does }) => (
              <Fragment key={name}>
                <dt className="font-medium wrap-anywhere">{readableName(name)}</dt>
                <dd dir="auto" className={`text-muted-foreground max-sm:mb-2 ${all ? "" : "line-clamp-2"}`}>
                  {does}
                </dd>
              </Fragment>
            ))}
          </dl>
        )}
        {suggestions.length === 0 && shownTools.length < tools.length && (
          <Button look="ghost" size="small" className="self-center" onClick={() => showAll(true)}>
            and {tools.length - shownTools.length} more
          </Button>
        )}
        {grouped(shown, all).map(([group, ofGroup]) => (
          <div key={group} className="flex flex-col gap-2">
            {group !== "" && <h3 className="text-sm font-medium text-muted-foreground">{group}</h3>}
            <ul className="grid gap-2 sm:grid-cols-2" aria-label={group || "Suggestions"}>
              {ofGroup.map((suggestion) => {
                const { title, prompt } = suggestion;
                return (
                <li key={prompt} className={!all && suggestions.length > FIRST + 2 ? "max-sm:nth-[n+5]:hidden" : ""}>
                  <button
                    type="button"
                    dir="auto"
                    onClick={() => onPick(suggestion)}
                    className="size-full rounded-xl border bg-card px-4 py-3 text-start text-sm transition-colors hover:bg-accent"
                  >
                    {title !== undefined && <span className="block text-xs text-muted-foreground">{title}</span>}
                    {prompt}
                  </button>
                </li>
                );
              })}
            </ul>
          </div>
        ))}
        {shown.length < suggestions.length && (
          <Button look="ghost" size="small" className="self-center" onClick={() => showAll(true)}>
            Show all {suggestions.length}
          </Button>
        )}
      </div>
    </section>
  );
}

/** The suggestions by group, ordered by each group's first suggestion. The short list at first has no groups. */
function grouped(suggestions: Suggestion[], all: boolean): [string, Suggestion[]][] {
  const groups = new Map<string, Suggestion[]>();
  for (const suggestion of suggestions) {
    const group = (all && suggestion.group) || "";
    groups.set(group, [...(groups.get(group) ?? []), suggestion]);
  }
  return [...groups];
}

function hint(suggestions: Suggestion[], missing: boolean): string {
  if (missing) return "This chat doesn't exist. Send a message to start a new one.";
  return suggestions.length > 0 ? "Try one of these, or ask anything." : "Send a message to start.";
}
