/**
 * Finds texts in texts in linear time. `indexOf` may compare all of a long text at each position, such as a text
 * of equal letters but one in a text of equal letters: 100,000 characters in 1,000,000 take a minute.
 */

/** `indexOf` compares at most these at a position. */
const probeLength = 64;

/** The positions of `wanted` in the text, in order, also of those that overlap. */
export function* findOccurrences(text: string, expected: string): Generator<number> {
  if (expected === '') return;
  const probe = expected.slice(0, probeLength);
  const first = text.indexOf(probe);
  if (first < 0) return;
  if (expected.length > probeLength) yield* findLong(text, expected, first);
  else for (let at = first; at >= 0; at = text.indexOf(probe, at + 1)) yield at;
}

/** The algorithm of Knuth, Morris and Pratt: it never goes back in the text. */
function* findLong(text: string, expected: string, from: number): Generator<number> {
  const borders = measureBorders(expected);
  let matched = 0;
  for (let index = from; index < text.length; index += 1) {
    while (matched > 0 && text[index] !== expected[matched]) matched = borders[matched - 1] ?? 0;
    if (text[index] === expected[matched]) matched += 1;
    if (matched < expected.length) continue;
    yield index + 1 - matched;
    matched = borders[matched - 1] ?? 0;
  }
}

/** For each beginning of the text, the length of its longest proper beginning that is also its end. */
function measureBorders(text: string): Int32Array {
  const borders = new Int32Array(text.length);
  let length = 0;
  for (let index = 1; index < text.length; index += 1) {
    while (length > 0 && text[index] !== text[length]) length = borders[length - 1] ?? 0;
    if (text[index] === text[length]) length += 1;
    borders[index] = length;
  }
  return borders;
}

/** The positions of `word` where no letter, as `letter` tests a character, stands beside it. */
export function* findWords(text: string, word: string, letter: RegExp): Generator<number> {
  for (const at of findOccurrences(text, word)) {
    const end = at + word.length;
    const before = [...text.slice(Math.max(0, at - 2), at)].at(-1) ?? '';
    const after = [...text.slice(end, end + 2)][0] ?? '';
    if (!letter.test(before) && !letter.test(after)) yield at;
  }
}
