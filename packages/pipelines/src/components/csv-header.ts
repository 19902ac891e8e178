/** Compares the first line of a CSV file with what a file-load says about the file. */

const quote = (text: string) => `"${text}"`;

/** Characters that people separate cells by. */
const separators = [',', ';', '\t', '|'];

/**
 * What is wrong with the header, or undefined. The columns of a CSV file are taken in their order: with other
 * names in its header that is a choice, but with the same names in another order the values go astray.
 * @param columns the names that the component gives; none if it gives none
 */
export function findHeaderFault(
  header: readonly string[],
  columns: readonly string[],
  delimiter: string,
): string | undefined {
  const [only = ''] = header;
  const separator = separators.find((each) => each !== delimiter && only.includes(each));
  if (header.length === 1 && columns.length === 0 && separator !== undefined) {
    const shown = separator === '\t' ? 'tabs' : quote(separator);
    return `the header has one column, ${quote(only)}, with ${shown} in its name: set the delimiter of the file, or name this column`;
  }
  const [found, named] = [header, columns].map((names) => names.map((each) => each.trim().toLowerCase()));
  if (found === undefined || named === undefined) return undefined;
  const isSame = (left: readonly string[], right: readonly string[]) =>
    left.length === right.length && left.every((each, index) => each === right[index]);
  if (isSame(found, named) || !isSame(found.toSorted(), named.toSorted())) return undefined;
  return `its header is ${header.map(quote).join(', ')}, but the columns are named in the order ${columns.map(quote).join(', ')}: name them in the order of the file`;
}
