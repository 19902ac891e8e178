/**
 * The known name that a mistyped one most likely stands for ("did you mean sql-script?").
 * The distance is Damerau-Levenshtein (optimal string alignment): an inserted, deleted or replaced letter
 * counts one, and so do two neighbours that changed places. Upper and lower case are equal.
 */

/** Longer input is not a typo of a name; this also bounds the work of one comparison. */
const longestName = 64;

/**
 * Returns the nearest of the known names, or undefined when none is near or several are equally near.
 * Near is two edits or a third of the length, whichever is more; one edit for names of up to three letters.
 */
export function nearestName(given: string, known: Iterable<string>): string | undefined {
  if (given.length > longestName) return undefined;
  let best: string | undefined;
  let bestDistance = Number.POSITIVE_INFINITY;
  let tied = false;
  for (const name of new Set(known)) {
    const found = distanceWithin(
      given.toLowerCase(),
      name.toLowerCase(),
      Math.min(allowedEdits(given), bestDistance),
    );
    if (found === undefined) continue;
    tied = found === bestDistance;
    best = name;
    bestDistance = found;
  }
  return tied ? undefined : best;
}

function allowedEdits(given: string): number {
  return given.length <= 3 ? 1 : Math.max(2, Math.floor(given.length / 3));
}

/** The distance, or undefined when it is greater than the limit. */
function distanceWithin(one: string, other: string, limit: number): number | undefined {
  if (Math.abs(one.length - other.length) > limit) return undefined;
  let beforeLast: number[] = [];
  let last = Array.from({ length: other.length + 1 }, (_, column) => column);
  for (let row = 1; row <= one.length; row++) {
    const current = [row];
    for (let column = 1; column <= other.length; column++) {
      const replaced = at(last, column - 1) + (one[row - 1] === other[column - 1] ? 0 : 1);
      const swapped =
        row > 1 && column > 1 && one[row - 1] === other[column - 2] && one[row - 2] === other[column - 1];
      current.push(
        Math.min(
          at(last, column) + 1,
          at(current, column - 1) + 1,
          replaced,
          swapped ? at(beforeLast, column - 2) + 1 : replaced,
        ),
      );
    }
    // A swap reaches two rows back, so only two rows over the limit end the comparison.
    if (Math.min(...last, ...current) > limit) return undefined;
    beforeLast = last;
    last = current;
  }
  const distance = at(last, other.length);
  return distance <= limit ? distance : undefined;
}

function at(row: readonly number[], column: number): number {
  return row[column] ?? Number.POSITIVE_INFINITY;
}
