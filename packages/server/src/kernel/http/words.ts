import { problem } from './problems.ts';

/**
 * Finds a word regardless of case, with spaces, hyphens or underscores. Undefined if the list does not have
 * it.
 */
export function findWord<Word extends string>(words: readonly Word[], given: string): Word | undefined {
  const normalize = (text: string) =>
    text
      .trim()
      .toUpperCase()
      .replaceAll(/[\s-]+/g, '_');
  const wanted = normalize(given);
  return words.find((word) => normalize(word) === wanted);
}

/** Finds the word of a body member. Throws `unknown-word`. */
export function requireWord<Word extends string>(
  words: readonly Word[],
  given: string,
  member: string,
): Word {
  const word = findWord(words, given);
  if (word === undefined)
    throw problem('unknown-word', { field: `body.${member}`, found: given, allowed: words });
  return word;
}
