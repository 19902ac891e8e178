/** The text without the character at its end. The pattern `x+$` would take quadratic time. */
export function trimEnd(text: string, character: string): string {
  let end = text.length;
  while (end > 0 && text[end - 1] === character) end -= 1;
  return text.slice(0, end);
}

/** The text without the character at both ends. */
export function trimBoth(text: string, character: string): string {
  let from = 0;
  while (from < text.length && text[from] === character) from += 1;
  return trimEnd(text.slice(from), character);
}
