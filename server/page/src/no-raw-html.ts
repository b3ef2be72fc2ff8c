/**
 * In the place of `rehype-raw`, which makes HTML of what a model writes as such: here that stays text, and its parser is
 * no part of the page.
 */
export default function noRawHtml(): void {}
