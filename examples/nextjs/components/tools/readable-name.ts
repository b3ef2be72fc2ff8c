/** Abbreviations that a name writes in small letters. */
const CAPITALS = /\b(?:api|csv|eur|gbp|id|pdf|url|usd)\b/g;

/** `price_eur`: Price EUR. `quietCar`: Quiet car. */
export function readableName(name: string): string {
  const words = name
    .replace(/([a-z\d])([A-Z])/g, "$1 $2")
    .replace(/[_-]+/g, " ")
    .trim()
    .toLowerCase()
    .replace(CAPITALS, (word) => word.toUpperCase());
  return words.charAt(0).toUpperCase() + words.slice(1) || name;
}
