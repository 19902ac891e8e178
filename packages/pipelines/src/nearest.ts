/** The known name that a mistyped one probably means. */

const longest = 255;
/** Mistakes in one name: a letter too many, too few, another one, or two exchanged. */
const mostMistakes = 3;
/** Suggestions of one check: what is mistyped in a thousand places is not looked up a thousand times. */
const suggestionLimit = 50;

/** The nearest of the names; undefined when none is near. Case counts as a smaller mistake than any other. */
export function nearestName(wanted: string, names: Iterable<string>): string | undefined {
  const lower = wanted.toLowerCase();
  if (lower.length > longest) return undefined;
  const most = Math.min(mostMistakes, Math.floor(lower.length / 3));
  let nearest: string | undefined;
  let least = most + 1;
  for (const name of names) {
    if (name === wanted || name.length > longest || Math.abs(name.length - wanted.length) > most) continue;
    const mistakes = distance(lower, name.toLowerCase(), least);
    if (mistakes >= least) continue;
    nearest = name;
    least = mistakes;
    if (least === 0) break;
  }
  return nearest;
}

/** Ends a message: `: did you mean "x"?`, or the given remedy when no name is near. */
export function createSuggestions(): (
  wanted: string,
  names: Iterable<string>,
  otherwise: string,
  shown?: (name: string) => string,
) => string {
  let left = suggestionLimit;
  return (wanted, names, otherwise, shown = (name) => name) => {
    left -= 1;
    const nearest = left < 0 ? undefined : nearestName(wanted, names);
    return nearest === undefined ? otherwise : `did you mean "${shown(nearest)}"?`;
  };
}
export type Suggestions = ReturnType<typeof createSuggestions>;

/** Optimal string alignment, given up when it reaches `bound`. */
function distance(one: string, other: string, bound: number): number {
  let before: number[] = [];
  let last = Array.from({ length: other.length + 1 }, (_, index) => index);
  for (let row = 1; row <= one.length; row += 1) {
    const line = [row];
    let least = row;
    for (let column = 1; column <= other.length; column += 1) {
      const same = one[row - 1] === other[column - 1];
      let cost = Math.min(
        (last[column] ?? 0) + 1,
        (line[column - 1] ?? 0) + 1,
        (last[column - 1] ?? 0) + (same ? 0 : 1),
      );
      const exchanged = one[row - 1] === other[column - 2] && one[row - 2] === other[column - 1];
      if (exchanged) cost = Math.min(cost, (before[column - 2] ?? 0) + 1);
      line.push(cost);
      least = Math.min(least, cost);
    }
    if (least >= bound) return bound;
    before = last;
    last = line;
  }
  return last[other.length] ?? bound;
}
