/** Words that are read in any case, with spaces, hyphens or underscores: the word of the list, or undefined. */
export function wordOf<Word extends string>(words: readonly Word[], given: string): Word | undefined {
  const plain = (text: string) =>
    text
      .trim()
      .toUpperCase()
      .replaceAll(/[\s-]+/g, '_');
  const wanted = plain(given);
  return words.find((word) => plain(word) === wanted);
}
