import { useEffect, useState } from "react";
import { Json } from "../components/tools/Json";
import type { Row } from "./entries";
import { type InspectedAgent, loadAgents } from "./inspector-api";
import { stateOf } from "./runs";

/** The session's state after all events, and the tree of agents. */
export function State({ rows, live }: { rows: Row[]; live: boolean }) {
  const [agent, setAgent] = useState<InspectedAgent | null>();
  const [problem, setProblem] = useState("");
  useEffect(() => {
    if (live) loadAgents().then(setAgent, (error: Error) => setProblem(error.message));
  }, [live]);
  const state = stateOf(rows);
  const isLoading = live && agent === undefined && problem === "";
  return (
    <>
      <h3 className="text-sm font-medium">State</h3>
      {Object.keys(state).length > 0 ? (
        <Json value={state} label="as the events have changed it" />
      ) : (
        <p className="text-sm text-muted-foreground">
          No event has changed the session's state. Keys that the agent, its callbacks or its tools write appear here, each with its newest value.
        </p>
      )}
      {agent && (
        <>
          <h3 className="text-sm font-medium">Agents</h3>
          <ul>
            <Agent agent={agent} />
          </ul>
        </>
      )}
      {isLoading && <p className="text-sm text-muted-foreground">Loading the agents…</p>}
      {problem && (
        <p role="alert" className="text-sm">
          {problem}
        </p>
      )}
    </>
  );
}

function Agent({ agent: { name, type, model, description, tools, agents } }: { agent: InspectedAgent }) {
  return (
    <li className="text-sm">
      <span className="font-medium">{name}</span>{" "}
      <span className="text-muted-foreground">
        {type}
        {model && `, ${model}`}
      </span>
      {description && (
        <p dir="auto" className="text-muted-foreground">
          {description}
        </p>
      )}
      {tools.length > 0 && <p className="font-mono text-xs text-muted-foreground wrap-anywhere">{tools.join(", ")}</p>}
      {agents.length > 0 && (
        <ul className="mt-1.5 flex flex-col gap-1.5 border-s ps-3">
          {agents.map((each) => (
            <Agent key={each.name} agent={each} />
          ))}
        </ul>
      )}
    </li>
  );
}
