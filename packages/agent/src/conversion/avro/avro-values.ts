/** Writes values of Avro as JSON. What JSON has no number for becomes a text that the warehouse converts. */
import { FileFault } from '../file-fault.ts';
import type { JsonLines } from '../json-lines.ts';
import type { AvroBytes } from './avro-bytes.ts';
import type { AvroDecimal, AvroLogical, AvroType } from './avro-schema.ts';

type WriteValue = (from: AvroBytes, to: JsonLines, depth: number) => void;

/** A list within a list, and so on: a type may refer to itself. */
const depthLimit = 200;
/** Items of the lists of one row. Items without bytes cost nothing in the file. */
const itemLimit = 2_000_000;
/** Bytes of a decimal: more digits than any column has. */
const decimalBytes = 128;

interface Row {
  items: number;
}

/** @returns writes one row. */
export function compileAvro(type: AvroType): (from: AvroBytes, to: JsonLines) => void {
  const row: Row = { items: 0 };
  const write = createCompiler(row)(type);
  return (from, to) => {
    row.items = 0;
    write(from, to, 0);
  };
}

function createCompiler(row: Row): (type: AvroType) => WriteValue {
  /** Of records, which may contain themselves. */
  const known = new Map<AvroType, WriteValue>();

  function compile(type: AvroType): WriteValue {
    switch (type.kind) {
      case 'record':
        return compileRecord(type);
      case 'union':
        return compileUnion(type.branches);
      case 'array':
        return compileArray(type.items);
      case 'map':
        return compileMap(type.values);
      case 'enum':
        return compileEnum(type.symbols);
      case 'null':
        return (_, to) => to.add('null');
      case 'boolean':
        return (from, to) => to.add(readBoolean(from));
      case 'float':
        return (from, to) => to.add(writeNumber(from.bytes.readFloatLE(from.skip(4))));
      case 'double':
        return (from, to) => to.add(writeNumber(from.bytes.readDoubleLE(from.skip(8))));
      case 'string':
        return (from, to) => to.add(JSON.stringify(from.readText()));
      case 'int':
      case 'long':
        return compileInteger(type.kind, type.logical);
      case 'bytes':
      case 'fixed': {
        const write = compileBytes(type.decimal, type.logical);
        const size = type.kind === 'fixed' ? type.size : undefined;
        return (from, to) => {
          const length = size ?? from.readLength();
          const start = from.skip(length);
          to.add(write(from.bytes.subarray(start, start + length)));
        };
      }
    }
  }

  function compileRecord(type: Extract<AvroType, { kind: 'record' }>): WriteValue {
    const before = known.get(type);
    if (before !== undefined) return before;
    const fields: (readonly [prefix: string, write: WriteValue])[] = [];
    const write: WriteValue = (from, to, depth) => {
      requireDepth(depth);
      to.add('{');
      for (const [prefix, writeField] of fields) {
        to.add(prefix);
        writeField(from, to, depth + 1);
      }
      to.add('}');
    };
    known.set(type, write);
    for (const [index, field] of type.fields.entries())
      fields.push([`${index === 0 ? '' : ','}${JSON.stringify(field.name)}:`, compile(field.type)]);
    return write;
  }

  function compileUnion(branches: readonly AvroType[]): WriteValue {
    const writes = branches.map(compile);
    return (from, to, depth) => {
      const chosen = from.readLength();
      const write = writes[chosen];
      if (write === undefined) throw new FileFault(`a union has the type ${chosen + 1} of ${writes.length}`);
      write(from, to, depth);
    };
  }

  function compileArray(items: AvroType): WriteValue {
    const write = compile(items);
    return (from, to, depth) => {
      requireDepth(depth);
      let separator = '[';
      for (let count = readItems(from); count > 0; count = readItems(from))
        for (let index = 0; index < count; index += 1) {
          countItem(row);
          to.add(separator);
          separator = ',';
          write(from, to, depth + 1);
        }
      to.add(separator === '[' ? '[]' : ']');
    };
  }

  function compileMap(values: AvroType): WriteValue {
    const write = compile(values);
    return (from, to, depth) => {
      requireDepth(depth);
      let separator = '{';
      for (let count = readItems(from); count > 0; count = readItems(from))
        for (let index = 0; index < count; index += 1) {
          countItem(row);
          to.add(`${separator}${JSON.stringify(from.readText())}:`);
          separator = ',';
          write(from, to, depth + 1);
        }
      to.add(separator === '{' ? '{}' : '}');
    };
  }

  return compile;
}

/** A negative count is followed by the bytes of the items. */
function readItems(from: AvroBytes): number {
  const count = from.readLong();
  if (typeof count !== 'number') throw new FileFault(`a list has ${count} items`);
  if (count >= 0) return count;
  from.readLength();
  return -count;
}

function countItem(row: Row): void {
  row.items += 1;
  if (row.items > itemLimit) throw new FileFault(`its lists have more than ${itemLimit} items in one row`);
}

function requireDepth(depth: number): void {
  if (depth > depthLimit) throw new FileFault(`a value is nested more than ${depthLimit} deep`);
}

function compileEnum(symbols: readonly string[]): WriteValue {
  const texts = symbols.map((symbol) => JSON.stringify(symbol));
  return (from, to) => {
    const chosen = from.readLength();
    const text = texts[chosen];
    if (text === undefined) throw new FileFault(`an enum has the symbol ${chosen + 1} of ${texts.length}`);
    to.add(text);
  };
}

function readBoolean(from: AvroBytes): string {
  const byte = from.readByte();
  if (byte > 1) throw new FileFault(`a boolean is ${byte}`);
  return byte === 1 ? 'true' : 'false';
}

const writeNumber = (value: number) =>
  Number.isFinite(value) ? String(Object.is(value, -0) ? 0 : value) : JSON.stringify(String(value));

/** Units of a second. */
const units = { millis: 1_000, micros: 1_000_000, nanos: 1_000_000_000 } as const;

function compileInteger(kind: 'int' | 'long', logical: AvroLogical | undefined): WriteValue {
  const read = kind === 'int' ? (from: AvroBytes) => from.readInt() : (from: AvroBytes) => from.readLong();
  if (logical === undefined) return (from, to) => to.add(String(read(from)));
  if (logical === 'date') return (from, to) => to.add(`"${writeDate(Number(read(from)))}"`);
  const perSecond = units[logical.slice(logical.lastIndexOf('-') + 1) as keyof typeof units];
  if (logical.startsWith('time-'))
    return (from, to) => to.add(`"${writeTime(Number(read(from)), perSecond)}"`);
  const zone = logical.startsWith('local') ? '' : 'Z';
  return (from, to) => to.add(`"${writeMoment(read(from), perSecond)}${zone}"`);
}

const daySeconds = 86_400;
/** The years from 1 to 9999, which all warehouses have. */
const [firstDay, lastDay] = [-719_162, 2_932_896];

function writeDate(day: number): string {
  if (day < firstDay || day > lastDay)
    throw new FileFault(`a date is ${day} days from 1970-01-01, outside of the years 1 to 9999`);
  return new Date(day * daySeconds * 1_000).toISOString().slice(0, 10);
}

function writeTime(value: number, perSecond: number): string {
  if (!(value >= 0 && value < daySeconds * perSecond))
    throw new FileFault(`a time is ${value}, and a day has ${daySeconds * perSecond} of these units`);
  const seconds = Math.floor(value / perSecond);
  const clock = new Date(seconds * 1_000).toISOString().slice(11, 19);
  return `${clock}${writeFraction(value - seconds * perSecond, perSecond)}`;
}

function writeFraction(rest: number, perSecond: number): string {
  return rest === 0 ? '' : `.${String(rest).padStart(String(perSecond).length - 1, '0')}`;
}

function writeMoment(value: number | bigint, perSecond: number): string {
  const all = BigInt(value);
  const unit = BigInt(perSecond) * BigInt(daySeconds);
  const rest = ((all % unit) + unit) % unit;
  return `${writeDate(Number((all - rest) / unit))}T${writeTime(Number(rest), perSecond)}`;
}

function compileBytes(
  decimal: AvroDecimal | undefined,
  logical: AvroLogical | undefined,
): (bytes: Buffer) => string {
  if (decimal !== undefined) return (bytes) => writeDecimal(bytes, decimal.scale);
  if (logical === 'duration') return writeDuration;
  if (logical === 'uuid') return (bytes) => JSON.stringify(writeUuid(bytes.toString('hex')));
  return (bytes) => `"${bytes.toString('hex').toUpperCase()}"`;
}

const writeUuid = (hex: string) =>
  [hex.slice(0, 8), hex.slice(8, 12), hex.slice(12, 16), hex.slice(16, 20), hex.slice(20)].join('-');

function writeDuration(bytes: Buffer): string {
  const [months, days, milliseconds] = [0, 4, 8].map((at) => bytes.readUInt32LE(at));
  return JSON.stringify({ months, days, milliseconds });
}

/** Digits that a double has. Others are written as a text, of which no digit is lost. */
const exactDigits = 15;

function writeDecimal(bytes: Buffer, scale: number): string {
  if (bytes.byteLength > decimalBytes)
    throw new FileFault(`a decimal has ${bytes.byteLength} bytes; the limit is ${decimalBytes}`);
  const unsigned = BigInt(`0x${bytes.byteLength === 0 ? '00' : bytes.toString('hex')}`);
  const value = BigInt.asIntN(Math.max(8, bytes.byteLength * 8), unsigned);
  const digits = String(value < 0n ? -value : value).padStart(scale + 1, '0');
  const whole = digits.slice(0, digits.length - scale);
  const text = `${value < 0n ? '-' : ''}${whole}${scale === 0 ? '' : `.${digits.slice(-scale)}`}`;
  return digits.length <= exactDigits ? text : `"${text}"`;
}
