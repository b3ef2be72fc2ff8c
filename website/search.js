// Runs in the search's worker, before its own code: takes common words out of a question. The search treats each word
// as a prefix, so "a" would match all words that begin with this letter. Other spellings become the one of the pages.
const QUERY = 2; // the type of the message with the words of the reader
const SPELLINGS = { nextjs: "next.js" };
addEventListener("message", ({ data: message }) => {
  if (message.type !== QUERY) return;
  const words = message.data.replace(/[?!.,;]+(?=\s|$)/g, "").split(/\s+/).map((word) => SPELLINGS[word.toLowerCase()] ?? word);
  const kept = words.filter((word) => lunr.stopWordFilter(word.toLowerCase()));
  message.data = (kept.length > 0 ? kept : words).join(" ");
});
