/** The parameters of sheets of XLSX files. */
import { ParameterError, type Parameters } from '../expressions/parameters.ts';
import type { CellRange } from '../stores/conversion.ts';

/** Of Excel. */
const [rowLimit, columnLimit] = [1_048_576, 16_384];

/** Undefined: all cells. @throws ParameterError */
export function readCellRange(parameters: Parameters, name: string): CellRange | undefined {
  const text = parameters.optionalText(name)?.trim();
  if (text === undefined || text === '') return undefined;
  const [, fromColumn, fromRow, toColumn, toRow] =
    /^([A-Z]{1,3})?(\d{1,7})?(?::([A-Z]{1,3})?(\d{1,7})?)?$/.exec(text.toUpperCase().replaceAll('$', '')) ??
    [];
  const isOpen = text.includes(':');
  const range = {
    firstRow: Number(fromRow ?? 1),
    firstColumn: fromColumn === undefined ? 1 : countColumn(fromColumn),
    lastRow: toRow === undefined ? undefined : Number(toRow),
    lastColumn: toColumn === undefined ? undefined : countColumn(toColumn),
  };
  const { firstRow, firstColumn, lastRow = rowLimit, lastColumn = columnLimit } = range;
  const isRight =
    (fromColumn ?? fromRow) !== undefined &&
    (isOpen || (fromColumn !== undefined && fromRow !== undefined)) &&
    firstRow >= 1 &&
    firstRow <= lastRow &&
    lastRow <= rowLimit &&
    firstColumn <= lastColumn &&
    lastColumn <= columnLimit;
  if (isRight) return range;
  throw new ParameterError(
    `"${name}" is ${JSON.stringify(text)}, which is no range of cells: write it as A2:F100, A:F, or A2 for all from there`,
  );
}

const countColumn = (letters: string) =>
  [...letters].reduce((sum, letter) => sum * 26 + letter.charCodeAt(0) - 64, 0);
