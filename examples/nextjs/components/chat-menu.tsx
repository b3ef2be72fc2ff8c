import { Archive, ArchiveRestore, Ellipsis, Pencil, Trash2 } from "lucide-react";
import { AlertDialog, DropdownMenu } from "radix-ui";
import { type ComponentProps, useRef, useState } from "react";
import { Button } from "./button";

type ChatMenuProps = {
  title: string;
  archived: boolean;
  onRename: () => void;
  onArchive: () => void;
  onDelete: () => void;
};

/** What can be done with a listed chat. Deleting is asked for twice: it can't be undone. */
export function ChatMenu({ title, archived, onRename, onArchive, onDelete }: ChatMenuProps) {
  const [asking, setAsking] = useState(false);
  const renames = useRef(false);
  return (
    <>
      <DropdownMenu.Root>
        <DropdownMenu.Trigger asChild>
          <Button look="ghost" size="small" aria-label={`More for ${title}`} className="mr-1 pointer-fine:opacity-0 pointer-fine:group-focus-within/chat:opacity-100 pointer-fine:group-hover/chat:opacity-100 pointer-fine:data-[state=open]:opacity-100">
            <Ellipsis />
          </Button>
        </DropdownMenu.Trigger>
        <DropdownMenu.Portal>
          <DropdownMenu.Content
            align="end"
            onCloseAutoFocus={(event) => {
              if (!renames.current) return;
              renames.current = false;
              event.preventDefault(); // the field of the title has the focus, once the menu is closed
              onRename();
            }}
            className="z-20 min-w-36 rounded-lg border bg-popover p-1 text-sm shadow-lg"
          >
            <Item onSelect={() => (renames.current = true)}>
              <Pencil className="size-4" /> Rename
            </Item>
            <Item onSelect={onArchive}>
              {archived ? <ArchiveRestore className="size-4" /> : <Archive className="size-4" />}
              {archived ? "Unarchive" : "Archive"}
            </Item>
            <Item onSelect={() => setAsking(true)} className="text-destructive">
              <Trash2 className="size-4" /> Delete
            </Item>
          </DropdownMenu.Content>
        </DropdownMenu.Portal>
      </DropdownMenu.Root>
      <AlertDialog.Root open={asking} onOpenChange={setAsking}>
        <AlertDialog.Portal>
          <AlertDialog.Overlay className="fixed inset-0 z-20 bg-black/50" />
          <AlertDialog.Content className="fixed top-1/2 left-1/2 z-20 w-[min(26rem,calc(100vw-2rem))] -translate-1/2 rounded-2xl border bg-popover p-5 shadow-xl">
            <AlertDialog.Title className="font-semibold">Delete this chat?</AlertDialog.Title>
            <AlertDialog.Description className="mt-2 text-sm text-muted-foreground wrap-anywhere">
              “{title}” and its files will be gone.
            </AlertDialog.Description>
            <div className="mt-5 flex justify-end gap-2">
              <AlertDialog.Cancel asChild>
                <Button>Cancel</Button>
              </AlertDialog.Cancel>
              <AlertDialog.Action asChild>
                <Button look="danger" onClick={onDelete}>
                  Delete
                </Button>
              </AlertDialog.Action>
            </div>
          </AlertDialog.Content>
        </AlertDialog.Portal>
      </AlertDialog.Root>
    </>
  );
}

function Item({ className = "", ...rest }: ComponentProps<typeof DropdownMenu.Item>) {
  return (
    <DropdownMenu.Item
      className={`flex cursor-pointer items-center gap-2 rounded-md px-3 py-2 outline-none data-highlighted:bg-accent ${className}`}
      {...rest}
    />
  );
}
