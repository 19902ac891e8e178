/**
 * The only way to make a regular expression of text that is not a constant: the text matches itself. The parts
 * around it are judged by the check of patterns, as literals are.
 *
 *     escapedPattern('iu')`(?<!\w)${word}(?!\w)`
 */
export function escapedPattern(flags: string) {
  return (parts: TemplateStringsArray, ...words: string[]): RegExp =>
    new RegExp(String.raw(parts, ...words.map((word) => RegExp.escape(word))), flags);
}
