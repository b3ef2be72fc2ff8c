/** Abbreviations that are lowercase in names and uppercase in labels. */
const CAPITALS = /\b(?:api|csv|eur|gbp|id|pdf|url|usd)\b/g;

/** The label of a name: `price_eur` becomes `Price EUR`, and `quietCar` becomes `Quiet car`. */
export function readableName(name: string): string {
  const words = name
    .replace(/([a-z\d])([A-Z])/g, "$1 $2")
    .replace(/[_-]+/g, " ")
    .trim()
    .toLowerCase()
    .replace(CAPITALS, (word) => word.toUpperCase());
  return words.charAt(0).toUpperCase() + words.slice(1) || name;
}
