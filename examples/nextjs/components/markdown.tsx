import { Streamdown } from "streamdown";
import { code } from "@/lib/highlighter";

/** Markdown that may still be written. HTML in it is cleaned, and a link to elsewhere asks before it opens. */
export function Markdown({ text, live }: { text: string; live: boolean }) {
  if (text === "") return null;
  return (
    <Streamdown plugins={{ code }} isAnimating={live} className="wrap-anywhere">
      {text}
    </Streamdown>
  );
}
