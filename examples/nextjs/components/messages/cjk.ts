import type { CjkPlugin } from "streamdown";
import { lateScript } from "./late-script";

/** Chinese, Japanese and Korean characters, and their full-width punctuation. */
const CJK = /[\p{Script=Han}\p{Script=Hiragana}\p{Script=Katakana}\p{Script=Hangul}\u3000-\u303F\uFF00-\uFFEF]/u;

const script = lateScript<CjkPlugin>(
  () => import("@streamdown/cjk").then(({ cjk }) => withDoubleTildes(cjk)),
  "Bold text beside Chinese, Japanese and Korean characters may show its asterisks:",
);

/**
 * The plugin for languages without spaces between words. In CommonMark, `**25℃**の` is not bold, because the closing
 * asterisks follow punctuation and precede a letter.
 */
export function useCjk(markdown: string): CjkPlugin | undefined {
  const plugin = script.use(CJK.test(markdown));
  return plugin === "failed" ? undefined : plugin;
}

type Pluggable = CjkPlugin["remarkPluginsAfter"][number];

/** Replace the plugin's last part, strikethrough, so that single tildes stay text. */
function withDoubleTildes(cjk: CjkPlugin): CjkPlugin {
  const others = cjk.remarkPluginsAfter.slice(0, -1);
  const strikethrough = [cjk.remarkPluginsAfter.at(-1), { singleTilde: false }] as Pluggable;
  return { ...cjk, remarkPluginsAfter: [...others, strikethrough] };
}
