import { redirect } from "next/navigation";

/** A new chat. Its id is in the address, so that a reload and a second tab find it. */
export default function NewChat(): never {
  redirect(`/chat/${crypto.randomUUID()}`);
}
