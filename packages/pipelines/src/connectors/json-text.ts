/**
 * JSON whose numbers keep their digits. A number that a double cannot hold exactly stays as it is written: a
 * response is read and written again without change.
 */
import { isExactDouble } from './decimal-text.ts';

declare global {
  interface JSON {
    /** ECMAScript: JSON.parse source text access. */
    rawJSON(text: string): RawNumber;
    isRawJSON(value: unknown): value is RawNumber;
  }
}

/** A number that a double would write in another way. */
export interface RawNumber {
  readonly rawJSON: string;
}

/** Sixteen digits, with or without a point, or an exponent of three. Only then is each number looked at. */
const mayLoseDigits = /\d[\d.]{15}|\d[eE][+-]?\d{3}/;

/** Whether `parseJson` may return raw numbers. */
export const hasLongNumbers = (text: string): boolean => mayLoseDigits.test(text);

export function parseJson(text: string, mayBeRaw = hasLongNumbers(text)): unknown {
  if (!mayBeRaw) return JSON.parse(text);
  return JSON.parse(text, keepDigits as (this: unknown, key: string, value: unknown) => unknown);
}

function keepDigits(_key: string, value: unknown, context?: { source?: string }): unknown {
  if (typeof value !== 'number' || context?.source === undefined) return value;
  const { source } = context;
  if (source.length > 15) return String(value) === source ? value : JSON.rawJSON(source);
  // With an exponent, a number may also be too large or too small for a double.
  return /e/i.test(source) && !isExactDouble(source) ? JSON.rawJSON(source) : value;
}

export function isRawNumber(value: unknown): value is RawNumber {
  return JSON.isRawJSON(value);
}

/** A scalar of a response as text; undefined for null, objects and lists. */
export function readScalarText(value: unknown): string | undefined {
  if (isRawNumber(value)) return value.rawJSON;
  return value === null || value === undefined || typeof value === 'object' ? undefined : String(value);
}
