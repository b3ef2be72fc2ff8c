import { Archive, ArchiveRestore, Ellipsis, Pencil, Trash2 } from "lucide-react";
import { useRef, useState } from "react";
import { Button } from "../ui/button";
import { Confirm } from "../ui/confirm";
import { Menu, MenuItem } from "../ui/menu";

type ChatMenuProps = {
  title: string;
  archived: boolean;
  /** `tabIndex` of the button that opens the menu. */
  tabIndex: number;
  onRename: () => void;
  onArchive: () => void;
  onDelete: () => void;
};

/** Menu of a listed chat. Delete asks for confirmation, because it cannot be undone. */
export function ChatMenu({ title, archived, tabIndex, onRename, onArchive, onDelete }: ChatMenuProps) {
  const [asking, setAsking] = useState(false);
  const renames = useRef(false);
  const onCloseAutoFocus = (event: Event) => {
    if (!renames.current) return;
    renames.current = false;
    event.preventDefault(); // keep the focus in the title field when the menu closes
    onRename();
  };
  return (
    <>
      <Menu
        onCloseAutoFocus={onCloseAutoFocus}
        trigger={
          <Button
            look="ghost"
            size="small icon"
            aria-label={`More for ${title}`}
            tabIndex={tabIndex}
            className="chat-menu me-1"
          >
            <Ellipsis />
          </Button>
        }
      >
        <MenuItem onSelect={() => (renames.current = true)}>
          <Pencil aria-hidden /> Rename
        </MenuItem>
        <MenuItem onSelect={onArchive}>
          {archived ? <ArchiveRestore aria-hidden /> : <Archive aria-hidden />}
          {archived ? "Unarchive" : "Archive"}
        </MenuItem>
        <MenuItem onSelect={() => setAsking(true)} className="text-destructive">
          <Trash2 aria-hidden /> Delete
        </MenuItem>
      </Menu>
      <Confirm
        open={asking}
        onOpenChange={setAsking}
        title="Delete this chat?"
        text={`“${title}” and its files will be gone.`}
        action="Delete"
        onConfirm={onDelete}
      />
    </>
  );
}
