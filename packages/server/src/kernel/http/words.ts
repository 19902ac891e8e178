import { problem } from './problems.ts';

/** Words that are read in any case, with spaces, hyphens or underscores: the word of the list, or undefined. */
export function findWord<Word extends string>(words: readonly Word[], given: string): Word | undefined {
  const normalize = (text: string) =>
    text
      .trim()
      .toUpperCase()
      .replaceAll(/[\s-]+/g, '_');
  const wanted = normalize(given);
  return words.find((word) => normalize(word) === wanted);
}

/** The same of a member of the body. Throws `unknown-word`. */
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
