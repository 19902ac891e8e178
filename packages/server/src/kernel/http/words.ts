import { problem } from './problems.ts';

/**
 * Finds a word regardless of case, with spaces, hyphens or underscores. Undefined if the list does not have
 * it.
 */
export function findWord<Word extends string>(words: readonly Word[], input: string): Word | undefined {
  const normalize = (text: string) =>
    text
      .trim()
      .toUpperCase()
      .replaceAll(/[\s-]+/g, '_');
  const normalized = normalize(input);
  return words.find((word) => normalize(word) === normalized);
}

/** Finds the word of a body member. Throws `unknown-word`. */
export function requireWord<Word extends string>(
  words: readonly Word[],
  input: string,
  member: string,
): Word {
  const word = findWord(words, input);
  if (word === undefined)
    throw problem('unknown-word', { field: `body.${member}`, found: input, allowed: words });
  return word;
}
