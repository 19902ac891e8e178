/**
 * Reads an Avro object container file (Avro 1.12, "Object Container Files") and writes each of its rows as a line of
 * JSON. Everything that a file says of itself is bounded: its schema, its blocks, and what they become.
 */
import { closeSync, fstatSync, openSync, readSync } from 'node:fs';
import { crc32, inflateRawSync, zstdDecompressSync } from 'node:zlib';
import type { Converted, ConvertedColumn } from '@headgate/pipelines';
import { FileFault } from '../file-fault.ts';
import { JsonLines } from '../json-lines.ts';
import { AvroBytes } from './avro-bytes.ts';
import { type AvroType, readAvroSchema } from './avro-schema.ts';
import { compileAvro } from './avro-values.ts';
import { decompressSnappy } from './snappy.ts';

/** Bytes of a block, as it is stored and unpacked. Writers make blocks of some KiB. */
const blockLimit = 64 * 1_048_576;
const headerLimit = 8 * 1_048_576;
const mark = Buffer.from('Obj\x01', 'latin1');
const syncBytes = 16;

type Unpack = (bytes: Buffer) => Buffer;

const codecs: Readonly<Record<string, Unpack>> = {
  null: (bytes) => bytes,
  deflate: (bytes) => inflateRawSync(bytes, { maxOutputLength: blockLimit }),
  zstandard: (bytes) => zstdDecompressSync(bytes, { maxOutputLength: blockLimit }),
  snappy(bytes) {
    if (bytes.byteLength < 4) throw new FileFault('a block that is compressed by snappy is damaged');
    const unpacked = decompressSnappy(bytes.subarray(0, -4), blockLimit);
    if (crc32(unpacked) !== bytes.readUInt32BE(bytes.byteLength - 4))
      throw new FileFault('a block has another checksum than it says: the file is damaged');
    return unpacked;
  },
};

/** @throws FileFault about the file */
export function convertAvro(path: string, target: string, fileBytes: number): Converted {
  const file = openSync(path, 'r');
  try {
    const inputBytes = fstatSync(file).size;
    const source = new FileWindow(file, inputBytes);
    const { schema, unpack, sync } = readHeader(source);
    const lines = new JsonLines(target, { fileBytes, inputBytes });
    const { write, columns } = planRows(schema);
    while (source.left > 0) convertBlock(source, { unpack, sync, write, lines });
    lines.finish();
    return { rows: lines.rows, lineBytes: lines.lineBytes, columns, notes: [] };
  } finally {
    closeSync(file);
  }
}

interface Header {
  schema: AvroType;
  unpack: Unpack;
  sync: Buffer;
}

function readHeader(source: FileWindow): Header {
  const bytes = new AvroBytes(source.peek(headerLimit));
  if (!bytes.bytes.subarray(0, mark.length).equals(mark))
    throw new FileFault('it is no Avro file: one begins with "Obj" and the version 1');
  bytes.skip(mark.length);
  const members = new Map<string, Buffer>();
  for (let count = readCount(bytes); count > 0; count = readCount(bytes))
    for (let index = 0; index < count; index += 1) {
      const name = bytes.readText();
      const length = bytes.readLength();
      const from = bytes.skip(length);
      members.set(name, bytes.bytes.subarray(from, from + length));
    }
  const schema = members.get('avro.schema');
  if (schema === undefined) throw new FileFault('its header has no "avro.schema"');
  const codec = members.get('avro.codec')?.toString('utf8') ?? 'null';
  const unpack = Object.hasOwn(codecs, codec) ? codecs[codec] : undefined;
  if (unpack === undefined)
    throw new FileFault(
      `its blocks are compressed by ${JSON.stringify(codec.slice(0, 50))}, which is not supported: use null, deflate, snappy or zstandard`,
    );
  const from = bytes.skip(syncBytes);
  const sync = Buffer.from(bytes.bytes.subarray(from, from + syncBytes));
  const header = { schema: readAvroSchema(schema), unpack, sync };
  source.skip(bytes.at);
  return header;
}

/** A negative count is followed by the bytes of the entries. */
function readCount(bytes: AvroBytes): number {
  const count = Number(bytes.readLong());
  if (count >= 0) return count;
  bytes.readLength();
  return -count;
}

interface BlockRules {
  unpack: Unpack;
  sync: Buffer;
  write(from: AvroBytes, to: JsonLines): void;
  lines: JsonLines;
}

function convertBlock(source: FileWindow, { unpack, sync, write, lines }: BlockRules): void {
  const head = new AvroBytes(source.peek(20));
  const count = head.readLength();
  const size = head.readLength();
  if (size > blockLimit)
    throw new FileFault(`it has a block of ${size} bytes; the limit is ${blockLimit}: write smaller blocks`);
  source.skip(head.at);
  const packed = source.peek(size + syncBytes);
  if (packed.byteLength < size + syncBytes)
    throw new FileFault(`it ends within the block that begins with row ${lines.rows + 1}: it is cut off`);
  if (!packed.subarray(size).equals(sync))
    throw new FileFault(
      `the block that begins with row ${lines.rows + 1} does not end with the file’s sync marker: it is damaged`,
    );
  const bytes = new AvroBytes(unpackBlock(packed.subarray(0, size), unpack, lines.rows + 1));
  for (let index = 0; index < count; index += 1) {
    try {
      write(bytes, lines);
    } catch (error) {
      if (!(error instanceof FileFault)) throw error;
      throw new FileFault(`row ${lines.rows + 1}: ${error.message}`);
    }
    lines.end();
  }
  if (bytes.left > 0)
    throw new FileFault(`the block that ends with row ${lines.rows} has ${bytes.left} bytes too many`);
  source.skip(size + syncBytes);
}

function unpackBlock(packed: Buffer, unpack: Unpack, row: number): Buffer {
  try {
    return unpack(packed);
  } catch (error) {
    const { code, message } = error as NodeJS.ErrnoException;
    if (code === 'ERR_BUFFER_TOO_LARGE')
      throw new FileFault(`the block that begins with row ${row} has more than ${blockLimit} bytes unpacked`);
    throw new FileFault(`the block that begins with row ${row} cannot be unpacked: ${message}`);
  }
}

/** A record has a column for each field, anything else a single one. */
function planRows(schema: AvroType): { write: BlockRules['write']; columns: ConvertedColumn[] } {
  const write = compileAvro(schema);
  if (schema.kind === 'record' && schema.fields.length > 0)
    return { write, columns: schema.fields.map(({ name, type }) => ({ name, type: describeType(type) })) };
  return {
    columns: [{ name: 'value', type: describeType(schema) }],
    write(from, to) {
      to.add('{"value":');
      write(from, to);
      to.add('}');
    },
  };
}

const widestDecimal = 38;

function describeType(type: AvroType): ConvertedColumn['type'] {
  switch (type.kind) {
    case 'union': {
      const [first, ...more] = type.branches.filter(({ kind }) => kind !== 'null');
      return first === undefined ? 'text' : more.length === 0 ? describeType(first) : 'json';
    }
    case 'boolean':
      return 'boolean';
    case 'int':
    case 'long':
      return describeInteger(type.logical);
    case 'float':
    case 'double':
      return 'number';
    case 'bytes':
    case 'fixed': {
      const { decimal, logical } = type;
      if (decimal !== undefined && decimal.precision <= widestDecimal) return decimal;
      return logical === 'duration' ? 'json' : 'text';
    }
    case 'null':
    case 'string':
    case 'enum':
      return 'text';
    default:
      return 'json';
  }
}

function describeInteger(logical = ''): ConvertedColumn['type'] {
  if (logical === 'date') return 'date';
  if (logical.startsWith('time-')) return 'time';
  return logical === '' ? 'integer' : 'timestamp';
}

/** A part of a file in memory, which moves forward. */
class FileWindow {
  readonly #file: number;
  readonly #size: number;
  #position = 0;
  #bytes: Buffer = Buffer.alloc(0);

  constructor(file: number, size: number) {
    this.#file = file;
    this.#size = size;
  }

  get left(): number {
    return this.#size - this.#position;
  }

  /** The next bytes: fewer at the end of the file. */
  peek(length: number): Buffer {
    const wanted = Math.min(length, this.left);
    if (this.#bytes.byteLength < wanted) this.#fill(Math.min(Math.max(wanted, 1_048_576), this.left));
    return this.#bytes.subarray(0, wanted);
  }

  #fill(length: number): void {
    const bytes = Buffer.allocUnsafe(length);
    this.#bytes.copy(bytes);
    let end = this.#bytes.byteLength;
    while (end < length) {
      const count = readSync(this.#file, bytes, end, length - end, this.#position + end);
      if (count === 0) throw new FileFault('it became shorter while it was read');
      end += count;
    }
    this.#bytes = bytes;
  }

  skip(length: number): void {
    this.#position += length;
    this.#bytes = this.#bytes.subarray(length);
  }
}
