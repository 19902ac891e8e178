/** Which numbers of a workbook are dates and times (ECMA-376, part 1, sections 18.8.30 and 18.17.4). */

/** `elapsed`: a length of time, such as `[h]:mm`. */
export type NumberKind = 'number' | 'date' | 'time' | 'timestamp' | 'elapsed';

const standardKinds: ReadonlyMap<number, NumberKind> = new Map([
  ...[14, 15, 16, 17, 27, 28, 29, 30, 31, 36, 50, 51, 52, 53, 54, 57, 58].map((id) => [id, 'date'] as const),
  ...[18, 19, 20, 21, 32, 33, 34, 35, 45, 47, 55, 56].map((id) => [id, 'time'] as const),
  [22, 'timestamp'] as const,
  [46, 'elapsed'] as const,
]);

/** @param code of a format of the workbook's own; undefined for a standard one */
export function judgeFormat(id: number, code: string | undefined): NumberKind {
  return code === undefined ? (standardKinds.get(id) ?? 'number') : judgeCode(code);
}

function judgeCode(code: string): NumberKind {
  // The first section is for positive numbers.
  const letters = readLetters(code);
  if (letters.isElapsed) return 'elapsed';
  const hasDay = /[dye]/.test(letters.text);
  const hasClock = /[hs]/.test(letters.text);
  // An m alone is a month.
  const isMonth = !hasClock && /m/.test(letters.text);
  if (hasDay || isMonth) return hasClock ? 'timestamp' : 'date';
  return hasClock ? 'time' : 'number';
}

/** Of the first section, without texts in quotes, escaped characters, and what stands in brackets. */
function readLetters(code: string): { text: string; isElapsed: boolean } {
  let text = '';
  let isElapsed = false;
  for (let at = 0; at < code.length; at += 1) {
    const character = (code[at] ?? '').toLowerCase();
    if (character === ';') break;
    if (character === '"') {
      const end = code.indexOf('"', at + 1);
      at = end < 0 ? code.length : end;
    } else if (character === '[') {
      const end = code.indexOf(']', at);
      isElapsed ||= /^(?:h{1,10}|m{1,10}|s{1,10})$/i.test(code.slice(at + 1, end < 0 ? code.length : end));
      at = end < 0 ? code.length : end;
    } else if (character === '\\' || character === '_' || character === '*') at += 1;
    // "General" has an e, which is no era; E+ is an exponent.
    else if (code.slice(at, at + 7).toLowerCase() === 'general') at += 6;
    else if (character === 'e' && /[+-]/.test(code[at + 1] ?? '')) at += 1;
    else text += character;
  }
  return { text, isElapsed };
}

const dayMilliseconds = 86_400_000;
/** 9999-12-31 in both systems of dates. */
const lastSerial = 2_958_466;

export interface Moment {
  kind: 'date' | 'time' | 'timestamp' | 'text';
  text: string;
}

/** What a number with a format of dates means; undefined if it is no date: the number itself counts then. */
export function writeSerial(serial: number, kind: NumberKind, is1904: boolean): Moment | undefined {
  if (kind === 'number' || !Number.isFinite(serial)) return undefined;
  if (kind === 'elapsed') return { kind: 'text', text: writeElapsed(serial) };
  if (serial < 0 || serial >= lastSerial) return undefined;
  const milliseconds = Math.round(serial * dayMilliseconds);
  const clock = milliseconds % dayMilliseconds;
  const day = (milliseconds - clock) / dayMilliseconds;
  if (kind === 'time' && day === 0) return { kind: 'time', text: writeClock(clock) };
  const date = new Date(findStart(day, is1904) + day * dayMilliseconds).toISOString().slice(0, 10);
  if (clock === 0 && kind === 'date') return { kind: 'date', text: date };
  return { kind: 'timestamp', text: `${date} ${writeClock(clock)}` };
}

/** Day 60 of the system of 1900 is a 29 February that there was not. */
function findStart(day: number, is1904: boolean): number {
  if (is1904) return Date.UTC(1904, 0, 1);
  return day < 60 ? Date.UTC(1899, 11, 31) : Date.UTC(1899, 11, 30);
}

function writeClock(milliseconds: number): string {
  const text = new Date(milliseconds).toISOString().slice(11, 23);
  return text.endsWith('.000') ? text.slice(0, 8) : text;
}

function writeElapsed(days: number): string {
  const seconds = Math.round(Math.abs(days) * 86_400);
  const parts = [Math.floor(seconds / 3_600), Math.floor(seconds / 60) % 60, seconds % 60];
  return `${days < 0 ? '-' : ''}${parts.map((part) => String(part).padStart(2, '0')).join(':')}`;
}
