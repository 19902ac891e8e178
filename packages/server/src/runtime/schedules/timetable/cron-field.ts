/**
 * The numbers of one field of a cron expression.
 *
 * A field is a comma-separated list of parts: `*`, a value, a range `a-b`, each with an optional step `/n`. A
 * value is a number or, for months and days of the week, a name. `5/10` starts at 5. A range whose end is
 * before its start wraps around: `FRI-MON`, `22-2`.
 */

export interface FieldKind {
  /** Its name in messages. */
  name: string;
  least: number;
  /** The greatest number that may be written. */
  most: number;
  /** The greatest number that has no other spelling; `most` unless 0 and 7 are both Sunday. */
  last: number;
  /** Names in capitals, with their numbers. */
  names?: ReadonlyMap<string, number>;
  /** False for years: a range that wraps means nothing. */
  wraps: boolean;
}

/** What is wrong with a field, without the name of the field: `"25" is not 0–23`. */
export class FieldFault extends Error {}

/** @returns the numbers in ascending order, as they are written; `last + 1` is `least` again. */
export function readNumbers(kind: FieldKind, parts: readonly string[]): number[] {
  const numbers = new Set<number>();
  for (const part of parts) for (const number of readPart(kind, part)) numbers.add(number);
  return [...numbers].sort((one, other) => one - other);
}

export function readValue(kind: FieldKind, text: string): number {
  const number = kind.names?.get(text) ?? readWholeNumber(text);
  if (number === undefined || number < kind.least || number > kind.most) {
    throw new FieldFault(`"${text}" is not ${describeValues(kind)}`);
  }
  return number;
}

export function readWholeNumber(text: string): number | undefined {
  return /^\d{1,4}$/.test(text) ? Number(text) : undefined;
}

function readPart(kind: FieldKind, part: string): number[] {
  const [range = '', step, ...more] = part.split('/');
  if (part === '' || more.length > 0) throw new FieldFault(`"${part}" is not a value, a range or a step`);
  const by = step === undefined ? 1 : readStep(kind, part, step);
  const { from, to } = readRange(kind, range, step !== undefined);
  // A range that wraps is walked past the end of the field and folded back.
  const size = kind.last - kind.least + 1;
  const end = to < from ? to + size : to;
  const numbers: number[] = [];
  for (let at = from; at <= end; at += by) {
    numbers.push(at > kind.last ? kind.least + ((at - kind.least) % size) : at);
  }
  return numbers;
}

function readRange(kind: FieldKind, range: string, hasStep: boolean): { from: number; to: number } {
  if (range === '*' || (range === '' && hasStep)) return { from: kind.least, to: kind.last };
  const [first = '', second, ...more] = range.split('-');
  if (more.length > 0) throw new FieldFault(`"${range}" is not a range such as ${kind.least}-${kind.last}`);
  const from = readValue(kind, first);
  if (second === undefined) return { from, to: hasStep ? Math.max(from, kind.last) : from };
  const to = readValue(kind, second);
  if (to < from && !kind.wraps) throw new FieldFault(`"${range}" ends before it starts`);
  return { from, to };
}

function readStep(kind: FieldKind, part: string, step: string): number {
  const size = kind.last - kind.least + 1;
  const by = readWholeNumber(step);
  if (by === undefined || by < 1 || by > size) {
    throw new FieldFault(`the step of "${part}" is not a number from 1 to ${size}`);
  }
  return by;
}

function describeValues({ names, least, most }: FieldKind): string {
  const spelled = names === undefined ? [] : [...names.keys()];
  const numbers = `${least}–${most}`;
  return spelled.length === 0 ? numbers : `${numbers} or ${spelled[0]}–${spelled.at(-1)}`;
}
