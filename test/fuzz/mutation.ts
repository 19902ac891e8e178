/** Changes to a valid request that may make it invalid: a kind of change, a place and an odd value. */
import fc from 'fast-check';
import type { Caller, Draft, Parts } from './draft.ts';
import { type JsonEdit, jsonEdits, jsonText, type TextEdit, textEdits } from './odd-json.ts';
import { encoded, oddHeaders, oddSegments, oddText } from './odd-text.ts';
import { multipartOf } from './odd-upload.ts';

const kinds = [
  ...jsonEdits,
  ...textEdits,
  'odd header',
  'odd query',
  'query again',
  'query without value',
  'odd path',
  'foreign path',
  'foreign everywhere',
  'other method',
  'other media type',
  'key again',
] as const;

export interface Mutation {
  kind: (typeof kinds)[number];
  /** Selects the place. */
  at: number;
  /** Selects the odd value. */
  odd: number;
}

export const mutation: fc.Arbitrary<Mutation> = fc.record({
  kind: fc.constantFrom(...kinds),
  at: fc.nat({ max: 500 }),
  odd: fc.nat({ max: 500 }),
});

const methods = ['GET', 'HEAD', 'POST', 'PUT', 'PATCH', 'DELETE', 'OPTIONS', 'TRACE', 'PROPFIND'];
const mediaTypes = [
  'text/plain',
  'application/xml',
  'application/json; charset=latin1',
  'application/json;',
  'application/x-www-form-urlencoded',
  'multipart/form-data',
  'multipart/form-data; boundary=""',
  `multipart/form-data; boundary=${'b'.repeat(500)}`,
  'application/octet-stream',
  'json',
  ';',
];

const among = <Thing>(things: readonly Thing[], number: number): Thing => {
  const found = things[number % things.length];
  if (found === undefined) throw new Error('Nothing to choose among.');
  return found;
};

interface Sending {
  caller: Caller;
  method: string;
  segments: Record<string, string>;
  query: [string, string][];
  headers: Record<string, string>;
}

export function mutate(parts: Parts, mutations: readonly Mutation[]): Draft {
  const { operation, caller } = parts;
  const edits = mutations.filter((each) => isOneOf(jsonEdits, each.kind)) as (Mutation & {
    kind: JsonEdit;
  })[];
  const cuts = mutations.filter((each) => isOneOf(textEdits, each.kind)) as (Mutation & { kind: TextEdit })[];
  const segments = Object.fromEntries(
    Object.entries(parts.path).map(([name, value]) => [name, encoded(value)]),
  );
  const sending: Sending = {
    caller,
    method: operation.method,
    segments,
    query: [...parts.query],
    headers: { ...parts.headers },
  };
  let body: string | undefined;
  if (operation.mediaType === 'multipart/form-data') {
    const upload = multipartOf(parts.body as { name: string; content: string }[], cuts);
    sending.headers['content-type'] = upload.mediaType;
    body = upload.text;
  } else if (parts.body !== undefined) {
    sending.headers['content-type'] = 'application/json';
    body = jsonText(parts.body, edits, cuts);
  }
  for (const each of mutations) change(sending, each);
  if (mutations.some((each) => each.kind === 'foreign everywhere')) {
    const foreign = (text: string) => text.replaceAll('{{', '{{foreign.');
    sending.segments = Object.fromEntries(
      Object.entries(sending.segments).map(([name, text]) => [name, foreign(text)]),
    );
    sending.query = sending.query.map(([name, text]) => [name, foreign(text)]);
    body = body === undefined ? undefined : foreign(body);
  }
  const path = operation.path.replaceAll(/\{(\w+)\}/g, (_, name: string) => sending.segments[name] ?? '');
  return {
    caller,
    operationId: operation.id,
    method: sending.method,
    path: `/dpc${path}`,
    query: sending.query.map(([name, text]) => [encoded(name), encoded(text)] as const),
    headers: sending.headers,
    body,
    mutations: mutations.map((each) => each.kind),
  };
}

function change(sending: Sending, { kind, at, odd }: Mutation): void {
  const [names, query] = [Object.keys(sending.segments), sending.query];
  const name = names.length === 0 ? undefined : among(names, at);
  const pair = query.length === 0 ? undefined : among(query, at);
  switch (kind) {
    case 'odd header': {
      const [header, value] = among(oddHeaders, odd);
      sending.headers[header] = value;
      break;
    }
    case 'odd query':
      if (pair !== undefined && odd % 3 !== 0) pair[1] = among(oddText, odd);
      else
        query.push([
          among(['stray', 'page', '__proto__', 'a[b]', among(oddText, at)], odd),
          among(oddText, odd),
        ]);
      break;
    case 'query again':
      if (pair !== undefined) query.push([pair[0], odd % 2 === 0 ? pair[1] : among(oddText, odd)]);
      break;
    case 'query without value':
      if (pair !== undefined) pair[1] = '';
      break;
    case 'odd path':
      if (name !== undefined) sending.segments[name] = among(oddSegments, odd);
      break;
    case 'foreign path':
      if (name !== undefined)
        sending.segments[name] = sending.segments[name]?.replaceAll('{{', '{{foreign.') ?? '';
      break;
    case 'other method':
      sending.method = among(methods, odd);
      break;
    case 'other media type':
      sending.headers['content-type'] = among(mediaTypes, odd);
      break;
    case 'key again':
      sending.headers['idempotency-key'] = `key ${odd % 3}`;
      break;
  }
}

function isOneOf<Word extends string>(words: readonly Word[], word: string): word is Word {
  return (words as readonly string[]).includes(word);
}
