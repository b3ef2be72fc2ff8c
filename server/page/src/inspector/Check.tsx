import { CircleCheck, CircleX, TriangleAlert } from "lucide-react";
import { Badge } from "../components/ui/badge";
import { Button } from "../components/ui/button";
import type { Row } from "./entries";
import type { Finding, Findings } from "./inspector-api";
import { type ChosenRule, RuleLink, Rules } from "./Rules";
import { WithCode } from "./WithCode";

type CheckProps = Findings & {
  /** The rows whose chunks were checked. */
  rows: Row[];
  rules: ChosenRule;
  onShow: (number: number) => void;
};

/** Number of errors in the name of the tab. */
export function ErrorCount({ findings }: { findings: Finding[] }) {
  const count = findings.filter(({ severity }) => severity === "error").length;
  if (count === 0) return null;
  return (
    <span className="ms-1 rounded-full bg-destructive px-1.5 py-0.5 text-xs text-background tabular-nums" data-errors>
      {count} <span className="sr-only">{count === 1 ? "error" : "errors"}</span>
    </span>
  );
}

/** Findings of `adk-ui-stream check` in the sent chunks. */
export function Check({ findings, unchecked = 0, rows, rules, onShow }: CheckProps) {
  const chunks = rows.flatMap(({ chunks }) => chunks);
  const failure = chunks.findLast(({ chunk }) => chunk?.type === "error")?.chunk;
  const cause = rows.findLast(({ entry }) => entry.failure)?.entry.failure;
  return (
    <>
      {findings.length === 0 && (
        <Badge tone={failure ? "bad" : "good"} className="text-sm">
          {failure ? <CircleX aria-hidden /> : <CircleCheck aria-hidden />}
          {failure ? "A run failed. Its stream is valid for the client." : "No findings: the stream is valid for the client."}
        </Badge>
      )}
      <p className="text-sm text-muted-foreground">
        {chunks.length} {chunks.length === 1 ? "chunk" : "chunks"}, checked by the rules of <code>adk-ui-stream check</code>.
      </p>
      {failure && (
        <p className="text-sm" data-failure>
          The error that the client got: {String(failure.errorText)}
          {cause && ` The cause: ${cause.message}`}
        </p>
      )}
      {unchecked > 0 && (
        <p className="text-sm text-muted-foreground">
          Not checked: {unchecked} {unchecked === 1 ? "response" : "responses"} to a message whose beginning is not kept.
        </p>
      )}
      <ul className="flex flex-col gap-3">
        {findings.map((finding, index) => (
          <Found key={index} finding={finding} onShow={onShow} onChoose={rules.choose} />
        ))}
      </ul>
      <Rules {...rules} />
    </>
  );
}

type FoundProps = { finding: Finding; onShow: (number: number) => void; onChoose: (rule: string) => void };

function Found({ finding, onShow, onChoose }: FoundProps) {
  const { severity, rule, text, effect, chunk, line, versions, number } = finding;
  const bad = severity === "error";
  return (
    <li className="flex flex-col gap-1 rounded-lg border p-3 text-sm">
      <span className="flex flex-wrap items-center gap-x-3 gap-y-1">
        <Badge tone={bad ? "bad" : "waiting"}>
          {bad ? <CircleX aria-hidden /> : <TriangleAlert aria-hidden />} {severity}
        </Badge>
        <RuleLink name={rule} onChoose={onChoose} />
        <span className="text-xs text-muted-foreground">
          chunk {chunk}
          {line !== undefined && `, line ${line}`}, {versions.map((version) => `v${version}`).join(" and ")}
        </span>
        {number !== undefined && (
          <Button look="ghost" size="small" className="ms-auto" onClick={() => onShow(number)}>
            Show
          </Button>
        )}
      </span>
      <span className="wrap-anywhere">
        <WithCode text={text} />
      </span>
      <span className="text-xs text-muted-foreground">
        <WithCode text={effect} />
      </span>
    </li>
  );
}
