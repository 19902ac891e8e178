/** Which request follows a page. */
import { shorten } from '../format/template.ts';
import { pageCountLimit, pagePositionLimit } from './bounds.ts';
import { readScalarText } from './json-text.ts';
import { findLink } from './link-header.ts';
import { ConnectorError, type Paging, type RequestPlace } from './profile.ts';
import { readAt } from './rows.ts';

/** What a page adds to the endpoint's request. */
export interface PageRequest {
  /** Counts from 1. */
  number: number;
  parameters: readonly { at: RequestPlace; value: string | number }[];
  /** Replaces the endpoint's address. */
  url?: string;
}

export interface PageResponse {
  /** The address of the request. */
  url: string;
  /** The `Link` header. */
  link: string | undefined;
  body: unknown;
  /** Elements of the outermost list of the page. */
  rowCount: number;
  /** The last of these elements. */
  lastRow: unknown;
  /** The page is a list around other lists. */
  isNestedList?: boolean;
}

export interface PagingState {
  readonly page: PageRequest;
  /** Rows of this page and those before it. */
  readonly rows: number;
  /** A position of an earlier page. It moves on at powers of two, so every circle is found. */
  readonly checkpoint: string;
  /** The largest number of rows of an earlier page. */
  readonly fullest: number;
  /** What an earlier page says at `totalPath`. */
  readonly total?: number | undefined;
}

/** @param rowsPerPage replaces the profile's `size` */
export function startPaging(paging: Paging, rowsPerPage?: number): PagingState {
  const page: PageRequest = { number: 1, parameters: [...listSize(paging, rowsPerPage)] };
  if (paging.type === 'page' || paging.type === 'offset')
    return {
      page: { ...page, parameters: [...page.parameters, { at: paging.at, value: paging.first }] },
      rows: 0,
      checkpoint: '',
      fullest: 0,
    };
  return { page, rows: 0, checkpoint: '', fullest: 0 };
}

function* listSize({ size }: Paging, rowsPerPage: number | undefined) {
  const rows = rowsPerPage ?? size?.rows;
  if (size !== undefined && rows !== undefined) yield { at: size.at, value: rows };
}

/**
 * The state for the next request; undefined after the last page.
 *
 * @throws ConnectorError if the pages lead in a circle or to another server, or are too many
 */
export function nextPage(
  paging: Paging,
  state: PagingState,
  response: PageResponse,
  rowsPerPage?: number,
): PagingState | undefined {
  requireCountable(paging, response);
  const rows = state.rows + response.rowCount;
  if (paging.hasMorePath !== undefined && !isTrue(readAt(response.body, paging.hasMorePath)))
    return undefined;
  const position = findPosition(paging, { ...state, rows }, response);
  if (position === undefined) {
    requireEnd(paging, { ...state, rows }, response);
    return undefined;
  }
  const number = state.page.number + 1;
  if (number > pageCountLimit)
    throw new ConnectorError(
      `the API has more than ${pageCountLimit} pages, which is the limit: ask for larger pages or fewer rows`,
    );
  const key = String(position.url ?? position.value);
  const before = findCurrentKey(paging, state);
  if (key === before || key === state.checkpoint)
    throw new ConnectorError(
      `page ${number} is one that was already read (${shorten(key)}): the API leads in a circle, or the paging of the profile is wrong`,
    );
  // Brent: a checkpoint at each power of two meets every circle.
  const isPower = (state.page.number & (state.page.number - 1)) === 0;
  const page = { number, ...createRequest(paging, position, rowsPerPage) };
  const fullest = Math.max(state.fullest, response.rowCount);
  const total = findTotal(paging, response.body) ?? state.total;
  return { page, rows, checkpoint: isPower ? key : state.checkpoint, fullest, total };
}

/** @throws ConnectorError if rows could be missing or come twice because it is not clear what the API counts */
function requireCountable(paging: Paging, { isNestedList }: PageResponse): void {
  const usesElements = paging.type === 'offset' || (paging.type === 'cursor' && paging.from === 'last-row');
  if (usesElements && isNestedList === true)
    throw new ConnectorError(
      `the response is a list of objects with lists, so it is not clear which elements the paging "${paging.type}" counts: use another paging, or a repeatingElementPath that ends at the outer list`,
    );
}

/** @throws ConnectorError if the response says that rows are missing, and does not say where they are */
function requireEnd(
  paging: Paging,
  { page, rows, total: before }: PagingState,
  { body }: PageResponse,
): void {
  // The caller has read it: it is true.
  if (paging.hasMorePath !== undefined && paging.type !== 'none')
    throw new ConnectorError(
      `page ${page.number} says at "${paging.hasMorePath.join('.')}" that there are more pages, but has no way to the next one: correct the paging of the profile`,
    );
  // An empty page may lack the total, or say 0.
  const total = findTotal(paging, body) ?? before ?? 0;
  const count = paging.type === 'page' ? page.number : rows;
  if (count < total)
    throw new ConnectorError(
      `page ${page.number} has no rows, but the API says that it has ${total} ${paging.type === 'page' ? 'pages' : 'rows'} and ${count} have come: load again, or correct totalPath`,
    );
}

/** Undefined if the page has none, or 0. */
function findTotal(paging: Paging, body: unknown): number | undefined {
  if (!('totalPath' in paging) || paging.totalPath === undefined) return undefined;
  return Number(readScalarText(readAt(body, paging.totalPath))) || undefined;
}

interface Position {
  value?: string | number;
  url?: string;
}

function createRequest(
  paging: Paging,
  position: Position,
  rowsPerPage: number | undefined,
): Omit<PageRequest, 'number'> {
  // An address of the API is complete.
  if (position.url !== undefined) return { parameters: [], url: position.url };
  const size = [...listSize(paging, rowsPerPage)];
  if ('at' in paging && position.value !== undefined)
    return { parameters: [...size, { at: paging.at, value: position.value }] };
  return { parameters: size };
}

function findCurrentKey(paging: Paging, { page }: PagingState): string | undefined {
  if (page.url !== undefined) return page.url;
  if (!('at' in paging)) return undefined;
  const current = page.parameters.find(({ at }) => at === paging.at)?.value;
  return current === undefined ? undefined : String(current);
}

function findPosition(paging: Paging, state: PagingState, response: PageResponse): Position | undefined {
  switch (paging.type) {
    case 'none':
      return undefined;
    case 'page':
    case 'offset':
      return findCountedPosition(paging, state, response);
    case 'cursor':
    case 'token-in-body': {
      const from = paging.type === 'cursor' && paging.from === 'last-row' ? response.lastRow : response.body;
      const value = readScalarText(readAt(from, paging.path));
      if (value === undefined && from === response.lastRow && from !== undefined)
        throw new ConnectorError(
          `the last row of page ${state.page.number} has no "${paging.path.join('.')}", which leads to the next page: correct the path of the paging`,
        );
      return value === undefined || value === '' || value === 'false'
        ? undefined
        : { value: checkLength(value) };
    }
    case 'link-header': {
      const target = response.link === undefined ? undefined : findLink(response.link, paging.relation);
      return target === undefined ? undefined : { url: resolveUrl(target, response.url) };
    }
    case 'next-url': {
      const target = readScalarText(readAt(response.body, paging.path));
      return target === undefined || target === '' || target === 'false'
        ? undefined
        : { url: resolveUrl(target, response.url) };
    }
  }
}

function findCountedPosition(
  paging: Extract<Paging, { type: 'page' | 'offset' }>,
  { page, rows, fullest }: PagingState,
  { rowCount, body, isNestedList = false }: PageResponse,
): Position | undefined {
  if (rowCount === 0) return undefined;
  const total = readTotal(body, paging.totalPath);
  const pages = page.number;
  if (total !== undefined && (paging.type === 'page' ? pages : rows) >= total) return undefined;
  const isUnknown = total === undefined && paging.hasMorePath === undefined;
  // Not compared with the size that was asked for: many APIs give at most 100 rows, whatever is asked. Of a list
  // around lists it is not clear which elements the API counts.
  if (isUnknown && !isNestedList && paging.size !== undefined && rowCount < fullest) return undefined;
  return { value: paging.first + (paging.type === 'page' ? pages : rows) };
}

function readTotal(body: unknown, path: readonly string[] | undefined): number | undefined {
  if (path === undefined) return undefined;
  const text = readScalarText(readAt(body, path));
  if (text !== undefined && /^\d{1,15}$/.test(text)) return Number(text);
  throw new ConnectorError(
    `the response has no number at "${path.join('.')}", the totalPath of the paging: correct the profile`,
  );
}

function isTrue(value: unknown): boolean {
  return (
    value !== undefined &&
    value !== null &&
    value !== false &&
    value !== 0 &&
    value !== '' &&
    value !== 'false'
  );
}

function checkLength(position: string): string {
  if (position.length <= pagePositionLimit) return position;
  throw new ConnectorError(
    `what leads to the next page has ${position.length} characters; the limit is ${pagePositionLimit}`,
  );
}

/** @throws ConnectorError if it leads to another server: the request may hold a secret */
function resolveUrl(target: string, base: string): string {
  const url = URL.parse(checkLength(target), base);
  if (url === null)
    throw new ConnectorError(`the address of the next page is not valid: "${shorten(target)}"`);
  const { origin } = new URL(base);
  if (url.origin !== origin)
    throw new ConnectorError(
      `the next page is at ${url.origin}, but the endpoint is at ${origin}: pages of another server are not read`,
    );
  url.hash = '';
  return url.href;
}
