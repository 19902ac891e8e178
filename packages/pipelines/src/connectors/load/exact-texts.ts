/**
 * Rows as they are written to a file that DuckDB reads.
 *
 * DuckDB reads a number with a fraction as a double, also inside of JSON. A value with such a number that has
 * more digits is written as a text. `x` of the line names these values, because a column of JSON must not
 * take them for texts of the API.
 */
import { isRawNumber } from '../json-text.ts';
import { isJsonMap, type JsonMap } from '../profile-reader.ts';

/** How `x` names a member of a row, or of an element of a list. */
export const nameText = (name: string): string => JSON.stringify([name]);

/** The name of an element's member in two parts: before and after the number of the element, which counts from 1. */
export function nameElementText(list: string, member: string): [before: string, after: string] {
  return [`[${JSON.stringify(list)},`, `,${JSON.stringify(member)}]`];
}

/** `lists`: the members that become child tables. `texts`: undefined if all values are written as they are. */
export function writeExactly(
  row: JsonMap,
  lists: readonly string[],
): { row: JsonMap; texts: string[] | undefined } {
  const texts: string[] = [];
  const written = replaceLongNumbers(row, (name) => texts.push(nameText(name)), lists);
  for (const list of lists) {
    const elements = row[list];
    if (!Array.isArray(elements)) continue;
    written[list] = elements.map((element: unknown, index) => {
      if (!isJsonMap(element)) return element;
      return replaceLongNumbers(element, (name) => {
        const [before, after] = nameElementText(list, name);
        texts.push(`${before}${index + 1}${after}`);
      });
    });
  }
  return texts.length === 0 ? { row, texts: undefined } : { row: written, texts };
}

function replaceLongNumbers(
  object: JsonMap,
  onText: (name: string) => void,
  except: readonly string[] = [],
): Record<string, unknown> {
  const replaced: [string, unknown][] = Object.entries(object).map(([name, value]) => {
    if (except.includes(name) || !hasLongFraction(value)) return [name, value];
    onText(name);
    return [name, JSON.stringify(value)];
  });
  return Object.fromEntries(replaced);
}

/** Integers are read with all their digits. */
function hasLongFraction(value: unknown): boolean {
  if (typeof value !== 'object' || value === null) return false;
  if (isRawNumber(value)) return !/^-?\d+$/.test(value.rawJSON);
  return (Array.isArray(value) ? value : Object.values(value)).some(hasLongFraction);
}
