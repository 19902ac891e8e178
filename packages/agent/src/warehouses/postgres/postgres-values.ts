/** Values of PostgreSQL, which come as texts, as the warehouse port gives them. */
import { readDecimal, readFloat, readInteger, type Value } from '../served/served-values.ts';

const readTimestamp = (text: string): Value => text.replace(' ', 'T');

const moment = /^(\d{4}-\d\d-\d\d) (\d\d:\d\d:\d\d)(?:\.(\d{1,6}))?([+-]\d\d)(?::(\d\d))?$/;

/** In UTC, to the microsecond. Others, such as infinity and years before Christ, as they are written. */
function readMoment(text: string): Value {
  const found = moment.exec(text);
  if (found === null) return text;
  const [, day, time, fraction = '', hours = '', minutes = '00'] = found;
  const date = new Date(`${day}T${time}${hours}:${minutes}`);
  if (Number.isNaN(date.getTime())) return text;
  return `${date.toISOString().slice(0, -'000Z'.length)}${fraction.padEnd(3, '0')}Z`;
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
