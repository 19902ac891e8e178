/** Text of models and tools, as PostgreSQL can store it: it takes neither NUL nor half of a surrogate pair. */

/** Replaces what cannot be stored, and cuts what is too long, saying so. */
export function toStoredText(text: string, limit: number): string {
  const clean = text.replaceAll('\0', '\ufffd').toWellFormed();
  if (clean.length <= limit) return clean;
  const note = `\n[${clean.length - limit} characters were cut]`;
  return (clean.slice(0, limit - note.length - 12) + note).toWellFormed();
}

/** JSON of a value, all texts of which can be stored. */
export function encodeJson(value: unknown): string {
  return JSON.stringify(value).replaceAll(/\\+u(?:0000|d[89a-f][0-9a-f]{2})/gi, (match) =>
    // An even number of backslashes: the last one is escaped itself, and `u` is a letter.
    match.indexOf('u') % 2 === 0 ? match : `${match.slice(0, match.indexOf('u') - 1)}\ufffd`,
  );
}
