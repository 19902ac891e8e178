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
  // Each escape as a whole: after an escaped backslash, `u` is a letter.
  return JSON.stringify(value).replaceAll(
    /\\(?:(u0000|ud[89a-f][0-9a-f]{2})|[\s\S])/gi,
    (escaped, refused?: string) => (refused === undefined ? escaped : '\ufffd'),
  );
}

/** Besides the space and the end of a line: what shows as nothing, as a space, or turns the text around. */
const hidden = /(?![ \n\t])[\p{Default_Ignorable_Code_Point}\p{Cc}\p{Cf}\p{Z}\u2800]/gu;

/** Writes invisible characters as `\u{202e}`, so that people see what they decide about. */
export function showHidden(text: string): string {
  return text.replaceAll(hidden, (character) => `\\u{${character.codePointAt(0)?.toString(16)}}`);
}
