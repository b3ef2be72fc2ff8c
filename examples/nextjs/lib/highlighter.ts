import { createHighlighterCore, type HighlighterCore } from "shiki/core";
import { createJavaScriptRegexEngine } from "shiki/engine/javascript";
import type { CodeHighlighterPlugin } from "streamdown";

/** The languages that are coloured, each with its other names. They are loaded with the first block of code. */
const LANGUAGES: Record<string, string> = {
  bash: "bash", sh: "bash", shell: "bash",
  css: "css",
  diff: "diff",
  html: "html",
  json: "json",
  python: "python", py: "python",
  sql: "sql",
  tsx: "tsx", jsx: "tsx",
  typescript: "tsx", ts: "tsx", javascript: "tsx", js: "tsx",
  yaml: "yaml", yml: "yaml",
};

let highlighter: HighlighterCore | undefined;
let loading: Promise<HighlighterCore> | undefined;

function load(): Promise<HighlighterCore> {
  return createHighlighterCore({
    engine: createJavaScriptRegexEngine(),
    themes: [import("shiki/themes/github-light.mjs"), import("shiki/themes/github-dark.mjs")],
    langs: [
      import("shiki/langs/bash.mjs"),
      import("shiki/langs/css.mjs"),
      import("shiki/langs/diff.mjs"),
      import("shiki/langs/html.mjs"),
      import("shiki/langs/json.mjs"),
      import("shiki/langs/python.mjs"),
      import("shiki/langs/sql.mjs"),
      import("shiki/langs/tsx.mjs"),
      import("shiki/langs/yaml.mjs"),
    ],
  });
}

/** The name under which the language was loaded; none for a tag that is not in the list, such as `constructor`. */
function languageOf(tag: string): string | undefined {
  const name = tag.toLowerCase();
  return Object.hasOwn(LANGUAGES, name) ? LANGUAGES[name] : undefined;
}

function tokens(from: HighlighterCore, code: string, language: string) {
  const lang = languageOf(language) ?? "text";
  return from.codeToTokens(code, { lang, themes: { light: "github-light", dark: "github-dark" } });
}

/** Streamdown's own has every language there is. */
export const code: CodeHighlighterPlugin = {
  name: "shiki",
  type: "code-highlighter",
  getSupportedLanguages: () => Object.keys(LANGUAGES),
  supportsLanguage: (language) => languageOf(language) !== undefined,
  getThemes: () => ["github-light", "github-dark"],
  highlight({ code, language }, callback) {
    if (highlighter) return tokens(highlighter, code, language);
    loading ??= load();
    void loading.then((loaded) => {
      highlighter = loaded;
      callback?.(tokens(loaded, code, language));
    });
    return null;
  },
};
