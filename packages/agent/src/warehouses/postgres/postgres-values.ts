/** Values of PostgreSQL, which come as texts, as the warehouse port gives them. */

type Value = string | number | boolean | null;

const readInteger = (text: string): Value => {
  const number = Number(text);
  return Number.isSafeInteger(number) ? number : text;
};

/** A number if a double represents it exactly, else its digits. */
function readDecimal(text: string): Value {
  let end = text.length;
  if (text.includes('.')) while (text[end - 1] === '0') end -= 1;
  return /^-?[\d.]+$/.test(text) && text.slice(0, end).replace(/\D/g, '').length <= 15 ? Number(text) : text;
}

const readFloat = (text: string): Value => {
  const number = Number(text);
  return Number.isFinite(number) ? number : text;
};

const readTimestamp = (text: string): Value => text.replace(' ', 'T');

/** The session is in UTC. */
function readMoment(text: string): Value {
  const date = new Date(text.replace(' ', 'T').replace(/\+00$/, 'Z'));
  return Number.isNaN(date.getTime()) ? text : date.toISOString();
}

/** By the number of the type in `pg_type`. */
const readers: ReadonlyMap<number, (text: string) => Value> = new Map([
  [16, (text: string) => text === 't'],
  ...[20, 21, 23, 26].map((oid) => [oid, readInteger] as const),
  ...[700, 701].map((oid) => [oid, readFloat] as const),
  [1700, readDecimal],
  [1114, readTimestamp],
  [1184, readMoment],
]);

const readText = (text: string): Value => text;

/** For the client, which then makes no values of its own. */
export const valueTypes = { getTypeParser: (oid: number) => readers.get(oid) ?? readText };
