/** JSON bodies with a fault in one place of the value, or in the text. */
import { oddText } from './odd-text.ts';

export const jsonEdits = [
  'leave out',
  'other type',
  'odd text',
  'too long',
  'out of bounds',
  'nested',
  'one more',
  'many more',
  'many faults',
  'foreign id',
] as const;
export type JsonEdit = (typeof jsonEdits)[number];
export const textEdits = [
  'twice',
  'cut off',
  'garbage behind',
  'byte order mark',
  'no body',
  'huge number',
  'raw control character',
  'no UTF-8',
] as const;
export type TextEdit = (typeof textEdits)[number];

interface Edit<Kind> {
  kind: Kind;
  at: number;
  odd: number;
}

const otherTypes: readonly unknown[] = [
  null,
  true,
  0,
  '',
  'text',
  [],
  {},
  [null],
  { a: 1 },
  [[]],
  -1.5,
  ['x', 'x'],
];
const numbers: readonly number[] = [
  -1,
  0,
  -0,
  1.5,
  2 ** 31,
  2 ** 53,
  2 ** 63,
  -(2 ** 63),
  1e308,
  5e-324,
  1_000_000_001,
];
const lengths = [256, 257, 1_001, 1_025, 2_001, 8_193, 65_537, 200_000];
const ids = ['project', 'agent', 'credential', 'execution', 'actor', 'account'];
const depths = [10, 63, 64, 65, 100, 800];

export function jsonText(
  value: unknown,
  edits: readonly Edit<JsonEdit>[],
  cuts: readonly Edit<TextEdit>[],
): string | undefined {
  let edited = structuredClone(value);
  for (const edit of edits) edited = applyTo(edited, edit);
  let text: string | undefined = JSON.stringify(edited) ?? '';
  for (const cut of cuts) text = text === undefined ? undefined : cutText(text, cut);
  return text;
}

/** A place in a value: the object or list that contains it, and its key. The root is in `{ '': value }`. */
type Place = { holder: Record<string, unknown>; key: string };

function placesOf(value: unknown): Place[] {
  const places: Place[] = [];
  const queue: Place[] = [{ holder: { '': value }, key: '' }];
  for (let place = queue.shift(); place !== undefined && places.length < 500; place = queue.shift()) {
    places.push(place);
    const held = place.holder[place.key];
    if (typeof held !== 'object' || held === null) continue;
    for (const key of Object.keys(held)) queue.push({ holder: held as Record<string, unknown>, key });
  }
  return places;
}

function applyTo(value: unknown, { kind, at, odd }: Edit<JsonEdit>): unknown {
  const places = placesOf(value);
  const [root] = places;
  const place = places[at % places.length];
  if (root === undefined || place === undefined) return value;
  const { holder, key } = place;
  if (kind === 'leave out') {
    if (Array.isArray(holder)) holder.splice(Number(key), 1);
    else delete holder[key];
  } else if (kind === 'one more') addTo(holder[key], oddText[odd % oddText.length] ?? '', odd);
  else if (kind === 'many more') holder[key] = manyOf(holder[key]);
  else if (kind === 'many faults') holder[key] = manyFaults(odd);
  else holder[key] = replacement(kind, odd);
  return root.holder[''];
}

/** Longer than any list may be, unless that is too much to send. */
function manyOf(held: unknown): unknown {
  if ((JSON.stringify(held)?.length ?? 0) > 2_000) return held;
  return Array.from({ length: 501 }, () => structuredClone(held));
}

/** Thousands of invalid values: cells, rows, members and grids. */
function manyFaults(odd: number): unknown {
  const wrong = otherTypes[odd % otherTypes.length];
  const list = Array.from({ length: 2_000 }, () => structuredClone(wrong));
  switch (odd % 4) {
    case 0:
      return list;
    case 1:
      return Array.from({ length: 40 }, () => structuredClone(list.slice(0, 100)));
    case 2:
      return Object.fromEntries(list.map((value, index) => [`m${index}`, value]));
    default:
      return { columns: list.slice(0, 100), rows: Array.from({ length: 40 }, () => list.slice(0, 100)) };
  }
}

function addTo(held: unknown, name: string, value: unknown): void {
  if (Array.isArray(held)) held.push(structuredClone(held[0] ?? value));
  else if (typeof held === 'object' && held !== null) {
    Object.defineProperty(held, name, { value, enumerable: true, configurable: true, writable: true });
  }
}

function replacement(
  kind: Exclude<JsonEdit, 'leave out' | 'one more' | 'many more' | 'many faults'>,
  odd: number,
): unknown {
  switch (kind) {
    case 'other type':
      // A copy, so that the change does not affect the next request.
      return structuredClone(otherTypes[odd % otherTypes.length]);
    case 'odd text':
      return oddText[odd % oddText.length];
    case 'too long':
      return (odd % 2 === 0 ? 'x' : '€').repeat(lengths[odd % lengths.length] ?? 0);
    case 'out of bounds':
      return numbers[odd % numbers.length];
    case 'nested':
      return nested(depths[odd % depths.length] ?? 0);
    case 'foreign id':
      return `{{foreign.${ids[odd % ids.length]}}}`;
  }
}

function nested(depth: number): unknown {
  let value: unknown = 'deep';
  for (let level = 0; level < depth; level++) value = level % 2 === 0 ? [value] : { deep: value };
  return value;
}

function cutText(text: string, { kind, at, odd }: Edit<TextEdit>): string | undefined {
  switch (kind) {
    case 'twice': {
      // Repeats the first member of an object.
      const members = [...text.matchAll(/\{("(?:[^"\\]|\\.)*":)/g)];
      const found = members[at % Math.max(1, members.length)];
      return found === undefined
        ? text
        : `${text.slice(0, found.index + 1)}${found[1]}${odd},${text.slice(found.index + 1)}`;
    }
    case 'cut off':
      return text.slice(0, at % Math.max(1, text.length));
    case 'garbage behind':
      return text + (['}', ',', '{}', '\0', '//', '\u00a0'][odd % 6] ?? '');
    case 'byte order mark':
      return `\ufeff${text}`;
    case 'no body':
      return odd % 2 === 0 ? undefined : '';
    case 'huge number':
      return text.replace(/:("[^"]*"|\d+)/, odd % 2 === 0 ? ':1e400' : `:${'9'.repeat(400)}`);
    case 'raw control character':
      return text.replace(/"(?=[,}\]])/, odd % 2 === 0 ? '\n"' : '\x01"');
    case 'no UTF-8':
      // Sent as Latin-1: see sending.ts.
      return `${text.slice(0, -1)}\udcff${text.slice(-1)}`;
  }
}
