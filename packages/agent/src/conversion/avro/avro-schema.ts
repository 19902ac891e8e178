/**
 * Reads the schema of an Avro file (Avro 1.12, "Schema Declaration"), within bounds. A type that refers to itself
 * becomes an object that refers to itself.
 */
import { FileFault } from '../file-fault.ts';

export type AvroLogical =
  | 'date'
  | 'time-millis'
  | 'time-micros'
  | 'timestamp-millis'
  | 'timestamp-micros'
  | 'timestamp-nanos'
  | 'local-timestamp-millis'
  | 'local-timestamp-micros'
  | 'local-timestamp-nanos'
  | 'uuid'
  | 'duration';

type Plain = 'null' | 'boolean' | 'int' | 'long' | 'float' | 'double' | 'bytes' | 'string';

export interface AvroDecimal {
  precision: number;
  scale: number;
}

export interface AvroField {
  name: string;
  type: AvroType;
}

export type AvroType =
  | { kind: Plain; logical?: AvroLogical; decimal?: AvroDecimal }
  | { kind: 'fixed'; size: number; logical?: AvroLogical; decimal?: AvroDecimal }
  | { kind: 'enum'; symbols: readonly string[] }
  | { kind: 'array'; items: AvroType }
  | { kind: 'map'; values: AvroType }
  | { kind: 'union'; branches: AvroType[] }
  | { kind: 'record'; name: string; fields: AvroField[] };

const schemaBytes = 4 * 1_048_576;
const depthLimit = 100;
const typeLimit = 20_000;
const fixedLimit = 1_048_576;

const plain: readonly string[] = ['null', 'boolean', 'int', 'long', 'float', 'double', 'bytes', 'string'];

/** Which types a logical type may stand on. Others are ignored, as the specification says. */
const logicalBases: Readonly<Record<AvroLogical, readonly string[]>> = {
  date: ['int'],
  'time-millis': ['int'],
  'time-micros': ['long'],
  'timestamp-millis': ['long'],
  'timestamp-micros': ['long'],
  'timestamp-nanos': ['long'],
  'local-timestamp-millis': ['long'],
  'local-timestamp-micros': ['long'],
  'local-timestamp-nanos': ['long'],
  uuid: ['string', 'fixed'],
  duration: ['fixed'],
};

const namePattern = /^[A-Za-z_][A-Za-z0-9_]{0,255}$/;

const fail = (why: string): never => {
  throw new FileFault(`its Avro schema is wrong: ${why}`);
};

/** @throws FileFault */
export function readAvroSchema(bytes: Buffer): AvroType {
  if (bytes.byteLength > schemaBytes)
    return fail(`it has ${bytes.byteLength} bytes, and the limit is ${schemaBytes}`);
  let json: unknown;
  try {
    json = JSON.parse(bytes.toString('utf8'));
  } catch {
    return fail('it is not JSON');
  }
  return createReader()(json, '', 0);
}

type ReadType = (json: unknown, namespace: string, depth: number) => AvroType;
type Members = Readonly<Record<string, unknown>>;

function createReader(): ReadType {
  const named = new Map<string, AvroType>();
  let types = 0;

  function define(members: Members, namespace: string, type: AvroType): string {
    const { name, namespace: own } = members;
    if (typeof name !== 'string' || name === '') return fail('a type has no name');
    const dot = name.lastIndexOf('.');
    const space = dot >= 0 ? name.slice(0, dot) : typeof own === 'string' ? own : namespace;
    const full = `${space === '' ? '' : `${space}.`}${name.slice(dot + 1)}`;
    if (full.length > 1_024 || !full.split('.').every((part) => namePattern.test(part)))
      return fail(`${JSON.stringify(full.slice(0, 100))} is no name`);
    if (named.has(full)) return fail(`the type "${full}" is declared twice`);
    named.set(full, type);
    return space;
  }

  function find(name: string, namespace: string): AvroType {
    if (plain.includes(name)) return { kind: name as Plain };
    const found = (name.includes('.') ? undefined : named.get(`${namespace}.${name}`)) ?? named.get(name);
    return found ?? fail(`there is no type ${JSON.stringify(name.slice(0, 100))}`);
  }

  const read: ReadType = (json, namespace, depth) => {
    types += 1;
    if (types > typeLimit) fail(`it has more than ${typeLimit} types`);
    if (depth > depthLimit) fail(`its types are nested more than ${depthLimit} deep`);
    if (typeof json === 'string') return find(json, namespace);
    if (Array.isArray(json)) return readUnion(json, namespace, depth);
    if (typeof json !== 'object' || json === null) return fail('a type is neither a name nor an object');
    const members = json as Members;
    const { type } = members;
    if (typeof type !== 'string') return read(type, namespace, depth + 1);
    switch (type) {
      case 'record':
      case 'error':
        return readRecord(members, namespace, depth);
      case 'enum':
        return readEnum(members, namespace);
      case 'array':
        return { kind: 'array', items: read(members.items, namespace, depth + 1) };
      case 'map':
        return { kind: 'map', values: read(members.values, namespace, depth + 1) };
      case 'fixed': {
        const size = readNumber(members.size, 0, fixedLimit, 'the size of a fixed type');
        const fixed: AvroType = { kind: 'fixed', size, ...readLogical(members, 'fixed', size) };
        define(members, namespace, fixed);
        return fixed;
      }
      default: {
        const found = find(type, namespace);
        const isPlain = plain.includes(found.kind) && plain.includes(type);
        return isPlain ? ({ ...found, ...readLogical(members, type, 0) } as AvroType) : found;
      }
    }
  };

  function readUnion(branches: readonly unknown[], namespace: string, depth: number): AvroType {
    if (branches.length === 0) fail('a union has no types');
    return { kind: 'union', branches: branches.map((each) => read(each, namespace, depth + 1)) };
  }

  function readRecord(members: Members, namespace: string, depth: number): AvroType {
    const record: Extract<AvroType, { kind: 'record' }> = {
      kind: 'record',
      name: String(members.name).slice(0, 100),
      fields: [],
    };
    const space = define(members, namespace, record);
    if (!Array.isArray(members.fields)) return fail(`the record "${record.name}" has no fields`);
    const names = new Set<string>();
    for (const field of members.fields as readonly unknown[]) {
      const { name, type } = (field ?? {}) as Members;
      if (typeof name !== 'string' || !namePattern.test(name))
        return fail(`a field of "${record.name}" has no name, or one that is not allowed`);
      if (names.has(name)) return fail(`"${record.name}" has the field "${name}" twice`);
      names.add(name);
      record.fields.push({ name, type: read(type, space, depth + 1) });
    }
    return record;
  }

  function readEnum(members: Members, namespace: string): AvroType {
    const { symbols } = members;
    const isRight = Array.isArray(symbols) && symbols.every((symbol) => typeof symbol === 'string');
    if (!isRight) return fail('an enum has no symbols');
    const type: AvroType = { kind: 'enum', symbols: symbols as string[] };
    define(members, namespace, type);
    return type;
  }

  return read;
}

function readNumber(value: unknown, least: number, most: number, what: string): number {
  if (Number.isInteger(value) && Number(value) >= least && Number(value) <= most) return Number(value);
  return fail(`${what} is ${JSON.stringify(value)}, and must be from ${least} to ${most}`);
}

/** A logical type that is not known, or not right, is ignored. */
function readLogical(members: Members, base: string, size: number) {
  const { logicalType, precision, scale = 0 } = members;
  if (logicalType === 'decimal' && (base === 'bytes' || base === 'fixed')) {
    const digits = Number(precision);
    const isRight =
      Number.isInteger(precision) && digits >= 1 && Number.isInteger(scale) && Number(scale) >= 0;
    return isRight && digits <= 1_000 && Number(scale) <= digits
      ? { decimal: { precision: digits, scale: Number(scale) } }
      : {};
  }
  const logical = logicalType as AvroLogical;
  if (!Object.hasOwn(logicalBases, String(logicalType)) || !logicalBases[logical].includes(base)) return {};
  const needed = logical === 'duration' ? 12 : logical === 'uuid' && base === 'fixed' ? 16 : size;
  return needed === size ? { logical } : {};
}
