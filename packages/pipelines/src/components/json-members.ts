/** Compares the records of a JSON file with the columns that a file-load names. */
import { findNearestName } from '../format/nearest.ts';

const quote = (text: string) => JSON.stringify(text);
/** Names in a message. */
const shownLimit = 10;

/**
 * What is wrong, or undefined. A column that no record has would be NULL in all rows: usually its name is
 * misspelled, or has another case.
 */
export function findMissingMember(
  members: readonly string[],
  columns: readonly string[],
): string | undefined {
  const missing = columns.find((column) => !members.includes(column));
  if (missing === undefined) return undefined;
  const nearest = findNearestName(missing, members);
  const shown = members.slice(0, shownLimit).map(quote).join(', ');
  const hint =
    nearest === undefined
      ? `its records have ${shown}${members.length > shownLimit ? ', …' : ''}`
      : `did you mean ${quote(nearest)}?`;
  return `no record has the member ${quote(missing)}; ${hint}`;
}
