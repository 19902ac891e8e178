/** Fits the rows of an endpoint into columns, as the profile's schema and the component's `schemaChange` say. */
import { shorten } from '../../format/template.ts';
import { connectorColumnLimit } from '../bounds.ts';
import { isExactDouble } from '../decimal-text.ts';
import { isRawNumber, type RawNumber } from '../json-text.ts';
import { ConnectorError, type JsonSchema } from '../profile.ts';
import { isJsonMap, type JsonMap } from '../profile-reader.ts';
import { type ConnectorColumn, type ConnectorColumnType, listColumns } from '../schema.ts';
import type { ChildList, EndpointLoad } from './endpoint-load.ts';
import { shortenValue } from './shortened-value.ts';

/** The column of rows that are no objects. */
const valueColumn = 'value';

export interface RowCheck {
  /** Returns the row as an object. @throws ConnectorError if it does not fit */
  take(row: unknown): JsonMap;
  listColumns(): ConnectorColumn[];
  readonly children: readonly ChildList[];
  /** The members that become child tables. */
  readonly lists: readonly string[];
  /** Members that the rows have and the table does not get. */
  listLeftOut(): string[];
}

export function createRowCheck(rowSchema: JsonSchema | undefined, load: EndpointLoad): RowCheck {
  const { primaryKeys, selection } = load;
  const lists = load.childTables ? listChildren(rowSchema) : [];
  const isSelected = (name: string) => selection.length === 0 || selection.includes(name);
  requireDistinct(lists.map(({ member }) => member));
  const known = rowSchema === undefined ? [] : listColumns(rowSchema);
  const isOpen = rowSchema === undefined || known.length === 0;
  const change = isOpen ? 'widen' : load.schemaChange;
  const leftOut = new Set<string>();
  const leaveOut = (name: string) => {
    if (leftOut.size < connectorColumnLimit) leftOut.add(name);
  };
  const children = new Map(
    lists.map(({ member, columns }) => [
      member,
      createColumnCheck(columns, change, (name) => leaveOut(`${member}.${name}`)),
    ]),
  );
  const rows = createColumnCheck(
    known.filter(({ name }) => !children.has(name) && isSelected(name)),
    change,
    leaveOut,
  );
  let count = 0;

  function checkMember(name: string, value: unknown): void {
    const child = children.get(name);
    if (child !== undefined) checkList(name, value, child);
    else if (rows.has(name) || isSelected(name)) rows.check(name, value, () => `row ${count}`);
  }

  function checkList(name: string, value: unknown, child: ColumnCheck): void {
    if (value === null || value === undefined) return;
    const place = `"${shorten(name)}" of row ${count}`;
    if (!Array.isArray(value))
      throw new ConnectorError(`${place} is ${describe(value)}, not a list: set nestedData to JSON`);
    for (const [index, element] of value.entries()) {
      if (element === null) continue;
      const where = () => `element ${index + 1} of ${place}`;
      if (!isJsonMap(element) || isRawNumber(element))
        throw new ConnectorError(`${where()} is ${describe(element)}, not an object: set nestedData to JSON`);
      for (const member in element) child.check(member, element[member], where);
    }
  }

  return {
    lists: [...children.keys()],
    get children() {
      return [...children].map(([member, child]) => ({ member, columns: child.list() }));
    },
    take(row) {
      count += 1;
      const object = isJsonMap(row) && !isRawNumber(row) ? row : { [valueColumn]: row };
      for (const name in object) checkMember(name, object[name]);
      for (const key of primaryKeys)
        if (object[key] === null || object[key] === undefined)
          throw new ConnectorError(
            `row ${count} has no "${shorten(key)}", which is one of primaryKeys: correct primaryKeys`,
          );
      return object;
    },
    listColumns() {
      const missing = selection.filter((name) => !rows.has(name) && !children.has(name));
      if (missing.length > 0 && (count > 0 || !isOpen))
        throw new ConnectorError(
          `the rows have no ${missing.map((name) => `"${shorten(name)}"`).join(', ')}: correct the selection of columns`,
        );
      return rows.list();
    },
    listLeftOut: () => [...leftOut],
  };
}

/** The columns of one table. */
interface ColumnCheck {
  has(name: string): boolean;
  /** `where`: the object with the member, for messages. @throws ConnectorError if it does not fit */
  check(name: string, value: unknown, where: () => string): void;
  list(): ConnectorColumn[];
}

function createColumnCheck(
  known: readonly ConnectorColumn[],
  change: EndpointLoad['schemaChange'],
  leaveOut: (name: string) => void,
): ColumnCheck {
  const columns = new Map<string, ConnectorColumnType | undefined>(
    known.map(({ name, type }) => [name, type]),
  );

  /** The first number of each column that a double would round. */
  const rounded = new Map<string, string>();

  function setColumn(name: string, type: ConnectorColumnType | undefined): void {
    if (columns.size >= connectorColumnLimit && !columns.has(name))
      throw new ConnectorError(
        `the rows have more than ${connectorColumnLimit} members, which is the limit: select columns`,
      );
    columns.set(name, type);
  }

  function checkNew(name: string, where: () => string): void {
    if (change === 'stop-on-new')
      throw new ConnectorError(
        `${where()} has "${shorten(name)}", which the schema of the profile does not have: add it to the schema, or set schemaChange to Stop or Widen`,
      );
    if (change === 'stop') leaveOut(name);
    else setColumn(name, undefined);
  }

  return {
    has: (name) => columns.has(name),
    check(name, value, where) {
      if (!columns.has(name)) checkNew(name, where);
      if (value === null || value === undefined || !columns.has(name)) return;
      const type = columns.get(name);
      if (
        typeof value === 'object' &&
        isRawNumber(value) &&
        !rounded.has(name) &&
        !isExactDouble(value.rawJSON)
      )
        rounded.set(name, value.rawJSON);
      if (type !== undefined && fits(value, type)) return;
      if (change !== 'widen')
        throw new ConnectorError(
          `"${shorten(name)}" of ${where()} is ${describe(value)}, but the schema of the profile says ${type}: correct the schema, or set schemaChange to Widen`,
        );
      setColumn(name, widen(type, typeOf(value)));
    },
    list() {
      requireDistinct([...columns.keys()]);
      return [...columns].map(([name, type = 'text']) => {
        const number = type === 'number' ? rounded.get(name) : undefined;
        if (number === undefined) return { name, type };
        return { name, type: 'decimal', ...(change === 'widen' ? {} : { rounded: number }) };
      });
    },
  };
}

/** @throws ConnectorError about a name that no column can have, or that two have for the warehouse */
function requireDistinct(names: readonly string[]): void {
  const known = new Map<string, string>();
  for (const name of names) {
    const key = name.toLowerCase();
    const same = known.get(key);
    if (same !== undefined)
      throw new ConnectorError(
        `the rows have the members "${shorten(same)}" and "${shorten(name)}", which are the same name for the warehouse: select one of them, or name only one in the schema of the profile`,
      );
    if (key === '' || key.includes('\0'))
      throw new ConnectorError(
        `the rows have a member whose name ${key === '' ? 'is empty' : 'contains a NUL character'}, so it cannot be a column: select other members, or name these in the schema of the profile`,
      );
    known.set(key, name);
  }
}

/** Lists of objects. */
function listChildren(rowSchema: JsonSchema | undefined): ChildList[] {
  return Object.entries(rowSchema?.properties ?? {}).flatMap(([member, { items }]) => {
    const columns = items === undefined ? [] : listColumns(items);
    return columns.length === 0 ? [] : [{ member, columns }];
  });
}

function fits(value: unknown, type: ConnectorColumnType): boolean {
  const own = typeOf(value);
  if (own === type || type === 'json') return true;
  if (type === 'number') return own === 'integer' || (isRawNumber(value) && isInRange(value));
  return false;
}

/** A double would be infinite. */
const isInRange = ({ rawJSON }: RawNumber) => Number.isFinite(Number(rawJSON));

/** Characters of a 64-bit integer. */
const longestInteger = 20;

/** A number that is no 64-bit integer and has more digits than a double, or is larger, is a text. */
function typeOf(value: unknown): ConnectorColumnType {
  // A large integer that a double holds exactly stands among others that it does not: all are integers.
  if (typeof value === 'number')
    return Number.isInteger(value) && Math.abs(value) < 2 ** 63 ? 'integer' : 'number';
  if (typeof value === 'string') return 'text';
  if (typeof value === 'boolean') return 'boolean';
  if (!isRawNumber(value)) return 'json';
  if (!/^-?\d+$/.test(value.rawJSON)) return isInRange(value) ? 'number' : 'text';
  if (value.rawJSON.length > longestInteger) return 'text';
  const whole = BigInt(value.rawJSON);
  return whole === BigInt.asIntN(64, whole) ? 'integer' : 'text';
}

function widen(known: ConnectorColumnType | undefined, own: ConnectorColumnType): ConnectorColumnType {
  if (known === undefined || known === own) return own;
  const both = [known, own];
  if (both.includes('json')) return 'json';
  return both.every((type) => type === 'integer' || type === 'number') ? 'number' : 'text';
}

function describe(value: unknown): string {
  if (isRawNumber(value)) return shortenValue(value.rawJSON);
  if (Array.isArray(value)) return 'a list';
  return typeof value === 'object' ? 'an object' : JSON.stringify(shortenValue(String(value)));
}
