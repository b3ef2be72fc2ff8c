import { useEffect, useRef, useState } from "react";
import { Badge } from "../components/ui/badge";
import { Collapsible } from "../components/ui/collapsible";
import { loadRules, type Rule } from "./inspector-api";
import { WithCode } from "./WithCode";

/** Address of the rules in the documentation. Only the page of the site has it. */
export const DOCUMENTED = document.querySelector<HTMLMetaElement>("meta[name=rules]")?.content;

const LINK = "text-xs text-primary underline underline-offset-2";

/** State of the list of rules. */
export type ChosenRule = {
  open: boolean;
  setOpen: (open: boolean) => void;
  /** Rule to scroll to. A new object scrolls again, also to the same rule. */
  rule: { name: string } | undefined;
  choose: (name: string) => void;
};

/** Return the state of the list. The choice of a rule opens the list. */
export function useChosenRule(): ChosenRule {
  const [open, setOpen] = useState(false);
  const [rule, setRule] = useState<{ name: string }>();
  const choose = (name: string) => {
    setOpen(true);
    setRule({ name });
  };
  return { open, setOpen, rule, choose };
}

/** Link from a rule's name to its description. */
export function RuleLink({ name, onChoose }: { name: string; onChoose: (name: string) => void }) {
  if (DOCUMENTED !== undefined) {
    return (
      <a href={`${DOCUMENTED}#${name}`} target="_blank" rel="noopener" className={LINK}>
        <code>{name}</code>
      </a>
    );
  }
  return (
    <button type="button" className={LINK} aria-label={`Rule ${name}`} onClick={() => onChoose(name)}>
      <code>{name}</code>
    </button>
  );
}

/** All rules of `check`, in its order. */
export function Rules({ open, setOpen, rule }: ChosenRule) {
  const [rules, setRules] = useState<Rule[]>([]);
  const [problem, setProblem] = useState("");
  useEffect(() => {
    if (DOCUMENTED === undefined) loadRules().then(setRules, (error: Error) => setProblem(error.message));
  }, []);
  if (DOCUMENTED !== undefined) return null;
  if (problem) return <p role="alert" className="text-sm">{problem}</p>;
  if (rules.length === 0) return <p className="text-sm text-muted-foreground">Loading the rules…</p>;
  return (
    <Collapsible open={open} onOpenChange={setOpen} summary={`All ${rules.length} rules`} summaryClassName="text-sm font-medium">
      <ul className="mt-2 flex flex-col" aria-label="Rules">
        {rules.map((each) => (
          <Described key={each.name} rule={each} chosen={each.name === rule?.name ? rule : undefined} />
        ))}
      </ul>
    </Collapsible>
  );
}

function Described({ rule: { name, severity, requirement, effect }, chosen }: { rule: Rule; chosen: object | undefined }) {
  const item = useRef<HTMLLIElement>(null);
  useEffect(() => {
    if (!chosen) return;
    item.current?.scrollIntoView({ block: "center" });
    item.current?.focus({ preventScroll: true });
  }, [chosen]);
  return (
    <li
      ref={item}
      tabIndex={-1}
      data-rule={name}
      data-chosen={chosen !== undefined}
      className="flex flex-col gap-1 rounded-md px-2 py-2 text-sm data-[chosen=true]:bg-accent"
    >
      <span className="flex flex-wrap items-center gap-x-3 gap-y-1">
        <code className="text-xs font-medium">{name}</code>
        <Badge tone={severity === "error" ? "bad" : "waiting"}>{severity}</Badge>
      </span>
      <span>
        <WithCode text={requirement} />
      </span>
      <span className="text-muted-foreground">
        If broken: <WithCode text={effect} />
      </span>
    </li>
  );
}
