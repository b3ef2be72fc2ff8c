import { Dialog } from "../components/ui/dialog";
import { Keys } from "../components/ui/keys";
import type { Command } from "./commands";

const IN_A_CHAT = [
  { name: "Send, also in the middle of an answer", keys: "Enter" },
  { name: "Begin a new line", keys: "Shift+Enter" },
  { name: "Stop the answer", keys: "Esc" },
];

type ShortcutsProps = { open: boolean; onOpenChange: (open: boolean) => void; commands: Command[] };

/** Which keys do what. */
export function Shortcuts({ open, onOpenChange, commands }: ShortcutsProps) {
  return (
    <Dialog open={open} onOpenChange={onOpenChange} title="Keyboard shortcuts">
      <dl className="grid grid-cols-[1fr_auto] items-center gap-x-6 gap-y-2.5 overflow-y-auto px-5 pt-2 pb-5 text-sm">
        {[...IN_A_CHAT, ...commands].map(
          ({ name, keys }) =>
            keys !== undefined && (
              <div key={name} className="contents">
                <dt>{name}</dt>
                <dd>
                  <Keys keys={keys} />
                </dd>
              </div>
            ),
        )}
      </dl>
    </Dialog>
  );
}
