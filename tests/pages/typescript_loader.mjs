// Loads the TypeScript of the project in the current folder, for Node without a browser.
import { existsSync, readFileSync } from "node:fs";
import { createRequire } from "node:module";
import { fileURLToPath } from "node:url";

const typescript = createRequire(`${process.cwd()}/`)("typescript");
const { ESNext } = typescript.ModuleKind;
const compilerOptions = { module: ESNext, target: typescript.ScriptTarget.ES2022, jsx: typescript.JsxEmit.ReactJSX };

export async function resolve(specifier, context, next) {
  if (specifier.startsWith(".")) {
    for (const ending of [".ts", ".tsx"]) {
      const { href } = new URL(specifier + ending, context.parentURL);
      if (existsSync(fileURLToPath(href))) return { url: href, shortCircuit: true };
    }
  }
  return next(specifier, context);
}

export async function load(url, context, next) {
  if (!/\.tsx?$/.test(url)) return next(url, context);
  const written = readFileSync(fileURLToPath(url), "utf8");
  return { format: "module", shortCircuit: true, source: typescript.transpileModule(written, { compilerOptions, fileName: url }).outputText };
}
