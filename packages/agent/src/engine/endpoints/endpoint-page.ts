/** Reads a response as a page, and checks that it is one. */
import { isDeepStrictEqual } from 'node:util';
import {
  type ConnectorEndpoint,
  ConnectorError,
  type ConnectorStructure,
  hasLongNumbers,
  type PageResponse,
  parseJson,
  readPageRows,
  shortenValue,
} from '@headgate/pipelines';
import type { AnsweredPage } from '../ports/asked-endpoint.ts';

export interface ReadPage extends PageResponse {
  rows: readonly unknown[];
  /** Rows may have raw numbers. */
  hasLong: boolean;
}

/**
 * @throws ConnectorError if it is no JSON or has another structure, or if it is empty and its status does not say so
 */
export function readPage(response: AnsweredPage, structure: ConnectorStructure, number: number): ReadPage {
  const { url, link } = response;
  const hasLong = hasLongNumbers(response.text);
  const body = readBody(response, number, hasLong);
  if (body === undefined) {
    requireNoContent(response, number);
    return { url, link: undefined, body, hasLong, rows: [], rowCount: 0, lastRow: undefined };
  }
  const { rows, elements, isNestedList } = readPageRows(body, structure);
  const found = { rows, rowCount: elements.length, lastRow: elements.at(-1), isNestedList };
  return { url, link, body, hasLong, ...found };
}

/** Without a byte order mark. */
export const dropMark = (text: string): string => (text.charCodeAt(0) === 0xfeff ? text.slice(1) : text);

const quoteLength = 200;

function readBody(response: AnsweredPage, page: number, hasLong: boolean): unknown {
  const { text, status, contentType } = response;
  if (text.trim() === '') return undefined;
  try {
    return parseJson(dropMark(text), hasLong);
  } catch (error) {
    if (isTooDeep(error)) throw nameDepth(error, response, page);
    const kind = contentType ?? (text.trimStart().startsWith('<') ? 'HTML or XML' : 'no content type');
    const start = shortenValue(text, quoteLength).replaceAll(/\s+/g, ' ').trim();
    throw new ConnectorError(
      `${name(response, page)} is not JSON (status ${status}, ${kind}); it begins with: ${start}`,
    );
  }
}

function name({ url }: AnsweredPage, page: number): string {
  const { origin, pathname } = new URL(url);
  return `page ${page} of ${origin}${pathname}`;
}

const isTooDeep = (error: unknown) => error instanceof RangeError && /call stack/.test(error.message);

/** Values are walked by functions that call themselves. */
export function nameDepth(error: unknown, response: AnsweredPage, page: number): unknown {
  if (!isTooDeep(error)) return error;
  return new ConnectorError(
    `${name(response, page)} has lists or objects nested so deeply that they cannot be read: choose parameters that leave them out`,
  );
}

/** An API without rows says so: by the status, or by an empty list. */
function requireNoContent(response: AnsweredPage, page: number): void {
  if (response.status === 204) return;
  throw new ConnectorError(
    `${name(response, page)} is empty (status ${response.status}), so rows may be missing: load again`,
  );
}

export const isCounted = ({ type }: ConnectorEndpoint['paging']): boolean =>
  type === 'page' || type === 'offset';

/** An API that does not know the parameter of the paging gives the first page again and again. */
export function requireAnother(
  response: AnsweredPage,
  { rows }: ReadPage,
  before: ReadPage['rows'],
  page: number,
): void {
  if (rows.length === 0 || !isDeepStrictEqual(rows, before)) return;
  throw new ConnectorError(
    `${name(response, page)} is the same as page ${page - 1}: the parameter of the paging has no effect there, so correct the paging of the profile, or ask for larger pages if these are other rows`,
  );
}
