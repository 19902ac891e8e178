/** Finds the known name that a mistyped name probably means. */

/** Names with more characters get no suggestion. */
const longest = 64;
/** Mistakes in one name: an added, missing or different letter, or two swapped letters. */
const mostMistakes = 3;
/**
 * Suggestions of one check. Without a limit, a name mistyped in 1,000 places would be looked up 1,000 times.
 */
const suggestionLimit = 50;
/** Names compared by one check for all of its suggestions. */
export const comparedNameLimit = 100_000;

/** The nearest of the names; undefined if none is near. A difference in case does not count as a mistake. */
export function findNearestName(mistyped: string, names: Iterable<string>): string | undefined {
  if (mistyped.length > longest) return undefined;
  const lower = mistyped.toLowerCase();
  const most = Math.min(mostMistakes, Math.floor(lower.length / 3));
  let nearest: string | undefined;
  let least = most + 1;
  for (const name of names) {
    if (name === mistyped || name.length > longest || Math.abs(name.length - mistyped.length) > most)
      continue;
    const mistakes = measureDistance(lower, name.toLowerCase(), least);
    if (mistakes >= least) continue;
    nearest = name;
    least = mistakes;
    if (least === 0) break;
  }
  return nearest;
}

/**
 * Returns the end of a message: `did you mean "x"?`, or the given remedy if no name is near. One check shares
 * one instance, so that the work is bounded.
 *
 * @param names called only if a suggestion is computed
 */
export function createSuggestions(): (
  mistyped: string,
  names: () => Iterable<string>,
  otherwise: string,
  shown?: (name: string) => string,
) => string {
  let left = suggestionLimit;
  let compared = 0;
  function* countNames(names: Iterable<string>) {
    for (const name of names) {
      if (compared >= comparedNameLimit) return;
      compared += 1;
      yield name;
    }
  }
  return (mistyped, names, otherwise, shown = (name) => name) => {
    if (left === 0 || mistyped.length > longest) return otherwise;
    left -= 1;
    const nearest = findNearestName(mistyped, countNames(names()));
    return nearest === undefined ? otherwise : `did you mean "${shown(nearest)}"?`;
  };
}
export type Suggestions = ReturnType<typeof createSuggestions>;

/** Optimal string alignment distance. Stops at `bound` and computes only cells that can stay below it. */
function measureDistance(one: string, other: string, bound: number): number {
  if (Math.abs(one.length - other.length) >= bound) return bound;
  let before: number[] = [];
  let last = Array.from({ length: other.length + 1 }, (_, index) => index);
  for (let row = 1; row <= one.length; row += 1) {
    const line: number[] = [];
    const first = Math.max(1, row - bound);
    line[first - 1] = first === 1 ? row : bound;
    let least = line[first - 1] ?? bound;
    for (let column = first; column <= Math.min(other.length, row + bound); column += 1) {
      const same = one[row - 1] === other[column - 1];
      let cost = Math.min(
        (last[column] ?? bound) + 1,
        (line[column - 1] ?? bound) + 1,
        (last[column - 1] ?? bound) + (same ? 0 : 1),
      );
      const exchanged = one[row - 1] === other[column - 2] && one[row - 2] === other[column - 1];
      if (exchanged) cost = Math.min(cost, (before[column - 2] ?? bound) + 1);
      line[column] = cost;
      least = Math.min(least, cost);
    }
    if (least >= bound) return bound;
    before = last;
    last = line;
  }
  return last[other.length] ?? bound;
}
