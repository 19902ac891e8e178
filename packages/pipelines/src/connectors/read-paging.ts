/**
 * Reads how an endpoint pages. Members: `type`; `parameter` with `parameterIn` (query, header or body): what a
 * request sends; `path`: what a response holds; `first`, `totalPath`, `hasMorePath`; `sizeParameter` with `size`.
 */

import { describeHeaderFault } from './header.ts';
import type { PageSize, Paging, PagingType, RequestPlace } from './profile.ts';
import type { MemberReader } from './profile-reader.ts';

const words: Readonly<Record<string, PagingType>> = {
  none: 'none',
  'no-pagination': 'none',
  page: 'page',
  'page-number': 'page',
  'page-based': 'page',
  offset: 'offset',
  'offset-based': 'offset',
  'limit-offset': 'offset',
  cursor: 'cursor',
  'cursor-based': 'cursor',
  'link-header': 'link-header',
  'next-url': 'next-url',
  'next-page-url': 'next-url',
  'full-path': 'next-url',
  'relative-path': 'next-url',
  'token-in-body': 'token-in-body',
};

const none: Paging = { type: 'none', size: undefined, hasMorePath: undefined };

export function readPaging(reader: MemberReader | undefined): Paging {
  if (reader === undefined) return none;
  const type = reader.word('type', words);
  if (type === undefined || type === 'none') return none;
  const size = readSize(reader);
  const frame = { size, hasMorePath: reader.path('hasMorePath') };
  const at = (standard?: string) => readRequestPlace(reader, 'parameter', 'parameterIn', standard);
  if (type === 'page' || type === 'offset') {
    const totalPath = reader.path('totalPath');
    const first = reader.whole('first', 0) ?? (type === 'page' ? 1 : 0);
    return { ...frame, type, at: at(type), first, ...(totalPath === undefined ? {} : { totalPath }) };
  }
  if (type === 'cursor') {
    const from = reader.word('from', { response: 'response', 'last-row': 'last-row' } as const) ?? 'response';
    return { ...frame, type, at: at(), path: readRequiredPath(reader), from };
  }
  if (type === 'link-header') return { ...frame, type, relation: reader.text('relation') ?? 'next' };
  if (type === 'next-url') return { ...frame, type, path: readRequiredPath(reader) };
  const place = readRequestPlace(reader, 'parameter', 'parameterIn', undefined, 'body');
  return { ...frame, type, at: place, path: readRequiredPath(reader) };
}

function readRequiredPath(reader: MemberReader): readonly string[] {
  const path = reader.path('path');
  if (path !== undefined && path.length > 0) return path;
  if (!reader.has('path') || path?.length === 0)
    reader.refuse('path', 'is missing: name the member of the response that leads to the next page');
  return [];
}

function readSize(reader: MemberReader): PageSize | undefined {
  const rows = reader.whole('size', 1);
  if (!reader.has('sizeParameter')) {
    if (rows !== undefined) reader.refuse('sizeParameter', 'is missing: name the parameter for "size"');
    return undefined;
  }
  return { at: readRequestPlace(reader, 'sizeParameter', 'sizeParameterIn'), rows };
}

const places = { query: 'query', header: 'header', body: 'body' } as const;

function readRequestPlace(
  reader: MemberReader,
  member: string,
  placeMember: string,
  standard?: string,
  standardPlace: RequestPlace['in'] = 'query',
): RequestPlace {
  const place = reader.word(placeMember, places) ?? standardPlace;
  if (place === 'body') {
    const path = reader.path(member) ?? (standard === undefined ? [] : [standard]);
    if (path.length === 0) reader.refuse(member, 'is missing: name the member of the body');
    return { in: 'body', path };
  }
  const name = reader.text(member) ?? standard ?? '';
  if (name === '') reader.refuse(member, 'is missing: name the parameter of the request');
  const fault = place === 'header' && name !== '' ? describeHeaderFault(name, undefined) : undefined;
  if (fault !== undefined) reader.refuse(member, `is refused: ${fault}`);
  return { in: place, name };
}
