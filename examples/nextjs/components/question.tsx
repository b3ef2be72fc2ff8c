import { type FormEvent, useState } from "react";
import { isObject, QUESTION, type ToolPart } from "@/lib/chat-message";
import { useAnswers } from "./answers";
import { Button } from "./button";
import { INPUT, parsed } from "./fields";

/** ADK's `request_input`: the agent asks, and the user answers in words or picks one of them. */
export function Question({ part }: { part: ToolPart }) {
  const { addToolOutput } = useAnswers();
  const [text, setText] = useState("");
  const input = isObject(part.input) ? part.input : {};
  const schema = isObject(input["response_schema"]) ? input["response_schema"] : {};
  const message = typeof input["message"] === "string" ? input["message"] : "The agent asks you:";
  const answer = (output: unknown) => void addToolOutput({ tool: QUESTION, toolCallId: part.toolCallId, output });
  const submit = (event: FormEvent) => {
    event.preventDefault();
    answer(schema["type"] === undefined || schema["type"] === "string" ? text : parsed(text));
  };
  return (
    <form onSubmit={submit} aria-label="Answer" className="space-y-3 border-t p-3">
      <p>{message}</p>
      <div className="flex flex-wrap gap-2">
        {Array.isArray(schema["enum"]) ? (
          schema["enum"].map((choice) => (
            <Button key={String(choice)} onClick={() => answer(choice)}>
              {String(choice)}
            </Button>
          ))
        ) : (
          <>
            <input required aria-label="Your answer" value={text} onChange={(event) => setText(event.target.value)} className={`${INPUT} min-w-40 flex-1`} />
            <Button type="submit" look="primary">
              Answer
            </Button>
          </>
        )}
      </div>
    </form>
  );
}
