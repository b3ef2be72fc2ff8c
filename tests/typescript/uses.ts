import { useChat } from "@ai-sdk/react";
import { DefaultChatTransport, lastAssistantMessageIsCompleteWithToolCalls, safeValidateUIMessages } from "ai";
import {
  type AgentMessage,
  type ChatDataParts,
  type ChatMessage,
  type ChatOutputs,
  type ChatTools,
  dataPartSchemas,
  messageMetadataSchema,
  toolSchemas,
  type Weather,
} from "./chat-types.js";

const same = <Type>(value: Type): Type => value;

export function Page(): unknown {
  const { messages, sendMessage, addToolOutput } = useChat<ChatMessage>({
    transport: new DefaultChatTransport<ChatMessage>({ api: "/api/chat" }),
    messageMetadataSchema,
    dataPartSchemas,
    sendAutomaticallyWhen: lastAssistantMessageIsCompleteWithToolCalls,
    onToolCall({ toolCall }) {
      if (toolCall.dynamic) return;
      if (toolCall.toolName === "locate") {
        void addToolOutput({ tool: "locate", toolCallId: toolCall.toolCallId, output: { lat: 1 } });
        // @ts-expect-error: no such output
        void addToolOutput({ tool: "locate", toolCallId: toolCall.toolCallId, output: { lat: "1" } });
      }
      // @ts-expect-error: no such tool
      if (toolCall.toolName === "misspelled") return;
    },
    onData(part) {
      if (part.type === "data-weather") same<Weather>(part.data);
      // @ts-expect-error: no such part
      if (part.type === "data-wether") return;
    },
  });
  // @ts-expect-error: no such metadata
  void sendMessage({ text: "hi", metadata: { model: "x" } });
  // @ts-expect-error: no such tool
  void addToolOutput({ tool: "misspelled", toolCallId: "1", output: 1 });
  return messages.map((message) => {
    same<number | undefined>(message.metadata?.usage?.outputTokenDetails.reasoningTokens);
    // @ts-expect-error: no such key
    message.metadata?.usage?.tokens;
    return message.parts.map((part) => {
      switch (part.type) {
        case "tool-get_weather":
          if (part.state === "input-available") same<"c" | "f" | undefined>(part.input.unit);
          // @ts-expect-error: an input has no such key
          if (part.state === "input-available") return part.input.town;
          if (part.state !== "output-available") return null;
          same<"clear" | "rain">(part.output.result.sky);
          same<number | null>(part.output.result.feelsLike);
          // @ts-expect-error: it may be null
          same<number>(part.output.result.feelsLike);
          // @ts-expect-error: it is a text on the wire
          same<Date>(part.output.result.at);
          // @ts-expect-error: the name in Python
          return part.output.result.feels_like;
        case "tool-list_stays":
          if (part.state !== "output-available") return null;
          // @ts-expect-error: a list goes in an object
          part.output.map;
          // @ts-expect-error: a decimal goes as text
          same<number>(part.output.result[0]!.price);
          return part.output.result.map((stay) => same<string>(stay.price));
        case "tool-categories":
          return part.state === "output-available" && same<string>(part.output.result.children[0]!.children[0]!.name);
        case "tool-either":
          if (part.state !== "output-available") return null;
          // @ts-expect-error: it may be a table
          return part.output.result.length;
        case "tool-nothing":
          return part.state === "output-available" && same<null>(part.output.result);
        case "tool-untyped":
          // @ts-expect-error: nothing is known of it
          return part.state === "output-available" && part.output.result;
        case "tool-x.raw-1":
          if (part.state !== "input-available") return null;
          same<"fixed">(part.input.class);
          same<string | null>(part.input["x-y"]);
          same<unknown>(part.input.both?.next?.next?.value);
          // @ts-expect-error: not in this list
          return part.input.mode === "c";
        case "tool-look_up":
          if (part.state !== "input-available") return null;
          return "invoice" in part.input ? same<string | undefined>(part.input.invoice) : part.input;
        case "tool-rephrase":
          if (part.state !== "output-available" || !("parts" in part.output)) return null;
          same<string | undefined>(part.output.metadata?.result?.result);
          // @ts-expect-error: it may be missing
          part.output.metadata?.result.result;
          same<AgentMessage<{ result: string }>>(part.output);
          return part.output.parts.map((inner) => inner.type === "tool-look_up" && inner.toolCallId);
        case "tool-shop_price":
          return part.state === "output-available" && same<number>(part.output.structuredContent.price);
        case "tool-read_items":
          return part.state === "output-available" && same<number>(part.output.result[0]!.id);
        case "data-weather":
          return same<ChatDataParts["weather"]>(part.data).wind?.gusts?.[1];
        case "data-adk-agent":
          return same<string | undefined>(part.data.from);
        case "data-adk-artifact":
          // @ts-expect-error: it is `filename`
          return part.data.name;
        // @ts-expect-error: no such tool
        case "tool-transfer_to_agent":
          return null;
        default:
          return null;
      }
    });
  });
}

export const isValid = (messages: unknown[]) =>
  safeValidateUIMessages<ChatMessage>({
    messages,
    metadataSchema: messageMetadataSchema,
    dataSchemas: dataPartSchemas,
    tools: toolSchemas,
  });

// @ts-expect-error: a required key is missing
same<ChatTools["list_stays"]["input"]>({});
same<ChatTools["list_stays"]["input"]>({ city: "Oslo", near: null });
// @ts-expect-error: it takes no arguments
same<ChatTools["locate"]["input"]>({ exact: true });
same<ChatOutputs["outline"]>({ title: "All" });
// @ts-expect-error: it has no such agent
same<ChatOutputs["root"]>({});
