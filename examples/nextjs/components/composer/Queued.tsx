import { ArrowUp, Pencil, X } from "lucide-react";
import type { Queue } from "../chat/use-queue";
import type { Draft } from "../chat/message-types";
import { IconButton } from "../ui/icon-button";

type QueuedProps = {
  queue: Queue;
  /** Moves a message back into the field. */
  onEdit: (draft: Draft) => void;
};

/** The queued messages, oldest first. Messages that the server has accepted stay until the agent has read them. */
export function Queued({ queue, onEdit }: QueuedProps) {
  return (
    <div className="relative z-10 mx-auto flex w-full max-w-3xl flex-col gap-1 px-4 pb-2">
      {queue.queued.some(({ state }) => state === "waiting") && (
        <p className="px-1 text-xs text-muted-foreground">{queue.paused ? "Not sent yet" : "Sent after this reply"}</p>
      )}
      <ul aria-label="Queued messages" className="flex flex-col gap-1">
      {queue.queued.map((message) => (
        <li key={message.id} className="flex items-center gap-1 rounded-xl border bg-muted ps-3 pe-1 text-sm">
          <span dir="auto" className="min-w-0 flex-1 truncate py-1.5">
            {message.draft.text || message.draft.files.map(({ filename }) => filename ?? "file").join(", ")}
          </span>
          {message.lostFiles !== undefined && (
            <span className="px-2 text-xs text-warning">
              {message.lostFiles === 1 ? "its file was too large to keep" : "its files were too large to keep"}
            </span>
          )}
          {message.state !== "waiting" ? (
            <span className="px-2 text-xs text-muted-foreground">sent to the agent</span>
          ) : (
            <>
              <IconButton label="Send now" size="small icon" onClick={() => queue.sendNow(message)}>
                <ArrowUp />
              </IconButton>
              <IconButton
                label="Edit the queued message"
                size="small icon"
                onClick={() => {
                  queue.remove(message.id);
                  onEdit(message.draft);
                }}
              >
                <Pencil />
              </IconButton>
              <IconButton label="Remove the queued message" size="small icon" onClick={() => queue.remove(message.id)}>
                <X />
              </IconButton>
            </>
          )}
        </li>
      ))}
      </ul>
    </div>
  );
}
