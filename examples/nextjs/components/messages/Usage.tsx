import type { ChatMetadata } from "../chat/message-types";

/** Which model has answered, and what that has cost. */
export function Usage({ metadata }: { metadata: ChatMetadata | undefined }) {
  const { modelId, usage } = metadata ?? {};
  const facts = [
    modelId,
    tokens(usage?.inputTokens, "tokens in"),
    tokens(usage?.outputTokens, "tokens out"),
    tokens(usage?.outputTokenDetails?.reasoningTokens, "in thoughts"),
  ].filter((fact) => fact !== undefined);
  if (facts.length === 0) return null;
  return (
    <p className="ms-1.5 text-xs text-muted-foreground" data-usage>
      {facts.join(" · ")}
    </p>
  );
}

function tokens(count: number | undefined, what: string): string | undefined {
  return count ? `${count.toLocaleString("en")} ${what}` : undefined;
}
