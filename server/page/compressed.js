import { readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { brotliCompressSync, gzipSync } from "node:zlib";

/** Below this many bytes a compressed form saves nothing. */
const SMALLEST = 1000;

/** Puts compressed forms beside scripts and style sheets: the server sends the one that a browser accepts. */
export const compressed = {
  name: "compressed",
  writeBundle({ dir }, bundle) {
    for (const name of Object.keys(bundle).filter((name) => /^assets\/.*\.(?:css|js)$/.test(name))) {
      const file = join(dir, name);
      const content = readFileSync(file);
      if (content.length < SMALLEST) continue;
      writeFileSync(`${file}.br`, brotliCompressSync(content));
      writeFileSync(`${file}.gz`, gzipSync(content, { level: 9 }));
    }
  },
};
