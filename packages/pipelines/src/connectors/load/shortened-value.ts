/**
 * The beginning of a value that a message quotes. It ends before the word that does not fit: a part of a secret would
 * not be masked.
 */
export function shortenValue(text: string, length = 120): string {
  return text.length <= length ? text : `${/^.*\s/s.exec(text.slice(0, length))?.[0] ?? ''}…`;
}
