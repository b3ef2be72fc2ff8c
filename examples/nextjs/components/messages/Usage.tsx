import type { ChatMetadata } from "../chat/message-types";

/** Which model has answered, and what that has cost. */
export function Usage({ metadata }: { metadata: ChatMetadata | undefined }) {
  const { modelId, usage } = metadata ?? {};
  const facts = [
    modelId,
    tokens(usage?.inputTokens, "in"),
    tokens(usage?.outputTokens, "out"),
    tokens(usage?.outputTokenDetails?.reasoningTokens, "reasoning"),
  ].filter((fact) => fact !== undefined);
  if (facts.length === 0) return null;
  return (
    <p className="ms-1.5 text-xs text-muted-foreground" data-usage title="The model, and the tokens of the answer">
      {facts.join(" · ")}
    </p>
  );
}

function tokens(count: number | undefined, what: string): string | undefined {
  return count ? `${count.toLocaleString("en")} ${what}` : undefined;
}
