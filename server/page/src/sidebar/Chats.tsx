import { useEffect, useRef, useState } from "react";
import { type Changes, type ListedChat, useChats } from "./chat-list";

/** The user's chats, over the page: found by their titles, renamed, archived and deleted. */
export function Chats({ current, onClose, onGone }: { current: string; onClose: () => void; onGone: () => void }) {
  const dialog = useRef<HTMLDialogElement>(null);
  const [search, setSearch] = useState("");
  const [archived, setArchived] = useState(false);
  const { chats, more, update, remove } = useChats(search.trim(), archived);
  useEffect(() => dialog.current?.showModal(), []);
  const close = () => dialog.current?.close();
  return (
    <dialog ref={dialog} className="chats" aria-label="Chats" onClose={onClose} onClick={(event) => event.target === dialog.current && close()}>
      <div className="find">
        <input type="search" aria-label="Search chats" placeholder="Search" maxLength={200} value={search} onChange={(event) => setSearch(event.target.value)} />
        <button type="button" aria-pressed={archived} onClick={() => setArchived(!archived)}>
          Archived
        </button>
        <button type="button" className="plain" aria-label="Close" onClick={close}>
          ×
        </button>
      </div>
      <ul>
        {chats.map((chat) => (
          <Item
            key={chat.id}
            chat={chat}
            current={chat.id === current}
            onOpen={close}
            onUpdate={(changes) => void update(chat.id, changes)}
            onDelete={() => void remove(chat.id).then(() => chat.id === current && onGone())}
          />
        ))}
        {more && <li key={chats.length} ref={(end) => whenSeen(end, more)} />}
      </ul>
      {chats.length === 0 && <p className="faint">No chat is here.</p>}
    </dialog>
  );
}

type ItemProps = {
  chat: ListedChat;
  current: boolean;
  onOpen: () => void;
  onUpdate: (changes: Changes) => void;
  onDelete: () => void;
};

function Item({ chat, current, onOpen, onUpdate, onDelete }: ItemProps) {
  const [renaming, setRenaming] = useState(false);
  const title = chat.title || "Untitled";
  const rename = (text: string) => {
    setRenaming(false);
    if (text !== chat.title) onUpdate({ title: text || null });
  };
  if (renaming) {
    return (
      <li>
        <form
          onSubmit={(event) => {
            event.preventDefault();
            rename(String(new FormData(event.currentTarget).get("title")).trim());
          }}
        >
          <input name="title" aria-label="Title" autoFocus maxLength={200} defaultValue={chat.title ?? ""} />
          <button className="primary">Save</button>
        </form>
      </li>
    );
  }
  return (
    <li>
      <a href={`#${encodeURIComponent(chat.id)}`} aria-current={current ? "page" : undefined} onClick={onOpen}>
        {title}
      </a>
      {chat.running && <span className="running" role="img" aria-label="Answering" />}
      <button type="button" className="plain" onClick={() => setRenaming(true)}>
        Rename
      </button>
      <button type="button" className="plain" onClick={() => onUpdate({ archived: !chat.archived })}>
        {chat.archived ? "Unarchive" : "Archive"}
      </button>
      <button type="button" className="plain" onClick={() => window.confirm(`Delete “${title}”?`) && onDelete()}>
        Delete
      </button>
    </li>
  );
}

function whenSeen(element: Element | null, act: () => void): () => void {
  const observer = new IntersectionObserver(([entry]) => entry?.isIntersecting && act());
  if (element) observer.observe(element);
  return () => observer.disconnect();
}
