/**
 * The known name that a mistyped one most likely stands for ("did you mean sql-script?").
 * The distance is Damerau-Levenshtein (optimal string alignment): an inserted, deleted or replaced letter
 * counts one, and so do two neighbours that changed places. Upper and lower case are equal.
 */

/** Longer names get no proposal, which bounds the work of one comparison. */
const longestName = 64;
/** For all comparisons of one proposal: a few milliseconds. A list may have thousands of names of a tenant. */
const cellLimit = 500_000;

/**
 * Returns the nearest of the known names, or undefined when none is near or several are equally near.
 * Near is two edits or a third of the length, whichever is more; one edit for names of up to three letters.
 * Of a list that is too long to compare, only the first names are.
 */
export function nearestName(input: string, known: Iterable<string>): string | undefined {
  if (input.length > longestName) return undefined;
  const lower = input.toLowerCase();
  const work = { cellsLeft: cellLimit };
  let best: string | undefined;
  let bestDistance = Number.POSITIVE_INFINITY;
  let tied = false;
  for (const name of new Set(known)) {
    if (work.cellsLeft <= 0) break;
    const found = distanceWithin(lower, name, Math.min(allowedEdits(input), bestDistance), work);
    if (found === undefined) continue;
    tied = found === bestDistance;
    best = name;
    bestDistance = found;
  }
  return tied ? undefined : best;
}

function allowedEdits(input: string): number {
  return input.length <= 3 ? 1 : Math.max(2, Math.floor(input.length / 3));
}

/** The distance, or undefined when it is greater than the limit. Computes only cells that can be within it. */
function distanceWithin(
  one: string,
  name: string,
  limit: number,
  work: { cellsLeft: number },
): number | undefined {
  if (name.length > 2 * longestName) return undefined;
  const other = name.toLowerCase();
  if (Math.abs(one.length - other.length) > limit) return undefined;
  let beforeLast: number[] = [];
  let last = Array.from({ length: other.length + 1 }, (_, column) => column);
  let leastBefore = 0;
  for (let row = 1; row <= one.length; row++) {
    const current: number[] = [];
    const first = Math.max(1, row - limit);
    const end = Math.min(other.length, row + limit);
    work.cellsLeft -= end - first + 1;
    if (first === 1) current[0] = row;
    let least = current[0] ?? Number.POSITIVE_INFINITY;
    for (let column = first; column <= end; column++) {
      const replaced = at(last, column - 1) + (one[row - 1] === other[column - 1] ? 0 : 1);
      const isSwapped =
        row > 1 && column > 1 && one[row - 1] === other[column - 2] && one[row - 2] === other[column - 1];
      const swapped = isSwapped ? at(beforeLast, column - 2) + 1 : replaced;
      const cost = Math.min(at(last, column) + 1, at(current, column - 1) + 1, replaced, swapped);
      current[column] = cost;
      least = Math.min(least, cost);
    }
    // A swap reaches two rows back, so only two rows over the limit end the comparison.
    if (least > limit && leastBefore > limit) return undefined;
    leastBefore = least;
    beforeLast = last;
    last = current;
  }
  const distance = at(last, other.length);
  return distance <= limit ? distance : undefined;
}

function at(row: readonly number[], column: number): number {
  return row[column] ?? Number.POSITIVE_INFINITY;
}
