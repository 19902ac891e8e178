/**
 * The largest value of a column, up to which an endpoint has been loaded.
 *
 * With primary keys, rows that are as large as the mark are loaded again and replaced. Without, only larger
 * ones are loaded, because the others are in the table already.
 */
import { ConnectorError, type Incremental, type PageRequest, readScalarText } from '@headgate/pipelines';

export interface HighWaterMark {
  /** Whether the row is to be loaded. @throws ConnectorError if it has no such value */
  take(row: Readonly<Record<string, unknown>>): boolean;
  /** What the request says of the last load. */
  readonly parameters: PageRequest['parameters'];
  /** Undefined if no row has come yet. */
  readonly value: string | undefined;
}

export function createHighWaterMark(
  { column, at }: Incremental,
  hasKeys: boolean,
  before: string | undefined,
): HighWaterMark {
  const least = hasKeys ? 0 : Number.MIN_VALUE;
  let largest = before;
  return {
    parameters: at === undefined || before === undefined ? [] : [{ at, value: before }],
    take(row) {
      const value = readScalarText(row[column]);
      if (value === undefined)
        throw new ConnectorError(
          `a row has no value at "${column}", the column of the high-water mark: choose another column`,
        );
      if (largest === undefined || compare(value, largest) > 0) largest = value;
      return before === undefined || compare(value, before) >= least;
    },
    get value() {
      return largest;
    },
  };
}

const number = /^-?\d{1,15}(\.\d{1,15})?$/;
const moment = /^\d{4}-\d\d-\d\d([T ]\d\d:\d\d(:\d\d(\.\d+)?)?(Z|[+-]\d\d:?\d\d)?)?$/;

/** Numbers and moments by what they mean, all else as text. */
export function compare(one: string, other: string): number {
  if (one === other) return 0;
  if (number.test(one) && number.test(other)) return Number(one) - Number(other);
  if (moment.test(one) && moment.test(other)) {
    const difference = Date.parse(one) - Date.parse(other);
    if (difference !== 0) return difference;
  }
  return one < other ? -1 : 1;
}
