/** Files are made by another implementation of Avro, and by hand where it makes no such files. */
import assert from 'node:assert/strict';
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { buffer } from 'node:stream/consumers';
import { after, describe, it } from 'node:test';
import { crc32, deflateRawSync, zstdCompressSync } from 'node:zlib';
import avro from 'avsc';
import { convertAvro } from './avro-file.ts';
import { decompressSnappy } from './snappy.ts';

const folder = mkdtempSync(join(tmpdir(), 'headgate-avro-'));
after(() => rmSync(folder, { recursive: true }));
const [path, target] = [join(folder, 'in.avro'), join(folder, 'out.json')];

function convert(bytes: Buffer, fileBytes = 1e9) {
  writeFileSync(path, bytes);
  const converted = convertAvro(path, target, fileBytes);
  const rows = readFileSync(target, 'utf8')
    .split('\n')
    .filter((line) => line !== '')
    .map((line) => JSON.parse(line));
  return { ...converted, lines: rows };
}

type Schema = Parameters<typeof avro.Type.forSchema>[0];

function encode(schema: Schema, values: readonly unknown[], codec = 'null'): Promise<Buffer> {
  const type = avro.Type.forSchema(schema, { wrapUnions: true });
  const by =
    (pack: (bytes: Buffer) => Buffer) => (bytes: Buffer, done: (error: null, bytes: Buffer) => void) =>
      done(null, pack(bytes));
  const codecs = { null: by((bytes) => bytes), deflate: by(deflateRawSync), zstandard: by(zstdCompressSync) };
  const encoder = new avro.streams.BlockEncoder(type, { codec, codecs });
  for (const value of values) encoder.write(value);
  encoder.end();
  return buffer(encoder);
}

const record = (fields: readonly object[], name = 'row') => ({ type: 'record', name, fields }) as Schema;

// By hand.
const zigzag = (value: bigint): Buffer => {
  let rest = BigInt.asUintN(64, (value << 1n) ^ (value >> 63n));
  const bytes: number[] = [];
  for (; rest >= 128n; rest >>= 7n) bytes.push(Number(rest & 127n) | 128);
  return Buffer.from([...bytes, Number(rest)]);
};
const long = (value: number | bigint) => zigzag(BigInt(value));
const string = (text: string | Buffer) => Buffer.concat([long(Buffer.byteLength(text)), Buffer.from(text)]);
const sync = Buffer.from('0123456789abcdef');

function file(
  schema: unknown,
  blocks: readonly (readonly [count: number | bigint, bytes: Buffer])[],
  { codec = 'null', end = sync }: { codec?: string; end?: Buffer } = {},
): Buffer {
  const text = typeof schema === 'string' ? schema : JSON.stringify(schema);
  return Buffer.concat([
    Buffer.from('Obj\x01'),
    long(2),
    ...[string('avro.schema'), string(text), string('avro.codec'), string(codec)],
    ...[long(0), sync],
    ...blocks.flatMap(([count, bytes]) => [long(count), long(bytes.length), bytes, end]),
  ]);
}

describe('Avro', () => {
  it('reads what another implementation writes: all types, unions, several blocks', async () => {
    const schema = record([
      { name: 'id', type: 'long' },
      { name: 'name', type: ['null', 'string'] },
      { name: 'ok', type: 'boolean' },
      { name: 'f', type: 'float' },
      { name: 'd', type: 'double' },
      { name: 'b', type: 'bytes' },
      { name: 'e', type: { type: 'enum', name: 'Colour', symbols: ['RED', 'BLUE'] } },
      { name: 'a', type: { type: 'array', items: 'int' } },
      { name: 'm', type: { type: 'map', values: 'string' } },
      { name: 'u', type: ['null', 'int', 'string'] },
      {
        name: 'r',
        type: { type: 'record', name: 'Inner', namespace: 'x.y', fields: [{ name: 'z', type: 'int' }] },
      },
      { name: 'again', type: ['null', 'x.y.Inner'] },
    ]);
    const row = (id: number) => ({
      id,
      name: id % 2 === 0 ? null : { string: `é\n"${id}` },
      ok: true,
      f: 0.5,
      d: -1e300,
      b: Buffer.from([1, 255]),
      e: 'BLUE',
      a: [1, -2, 3],
      m: { k: 'v' },
      u: { int: -7 },
      r: { z: 1 },
      again: { 'x.y.Inner': { z: 2 } },
    });
    const values = Array.from({ length: 5_000 }, (_, index) => row(index));
    for (const codec of ['null', 'deflate', 'zstandard']) {
      const { rows, lines, columns } = convert(await encode(schema, values, codec));
      assert.equal(rows, 5_000, codec);
      assert.deepEqual(lines[1], {
        ...{ id: 1, name: 'é\n"1', ok: true, f: 0.5, d: -1e300, b: '01FF', e: 'BLUE', a: [1, -2, 3] },
        ...{ m: { k: 'v' }, u: -7, r: { z: 1 }, again: { z: 2 } },
      });
      assert.equal(lines[4_998].name, null);
      assert.deepEqual(
        columns.map(({ type }) => type),
        [
          ...[
            'integer',
            'text',
            'boolean',
            'number',
            'number',
            'text',
            'text',
            'json',
            'json',
            'json',
            'json',
          ],
          'json',
        ],
      );
    }
  });

  it('writes logical types exactly', () => {
    const day = { type: 'int', logicalType: 'date' };
    const decimal = { type: 'bytes', logicalType: 'decimal', precision: 20, scale: 2 };
    const schema = record([
      { name: 'day', type: day },
      { name: 'clock', type: { type: 'long', logicalType: 'time-micros' } },
      { name: 'at', type: { type: 'long', logicalType: 'timestamp-micros' } },
      { name: 'ns', type: ['null', { type: 'long', logicalType: 'local-timestamp-nanos' }] },
      { name: 'price', type: decimal },
      { name: 'big', type: decimal },
      {
        name: 'small',
        type: { type: 'fixed', name: 'D', size: 2, logicalType: 'decimal', precision: 4, scale: 3 },
      },
      { name: 'max', type: 'long' },
      { name: 'nan', type: 'double' },
      { name: 'odd', type: { type: 'string', logicalType: 'no-such' } },
    ]);
    const nan = Buffer.alloc(8);
    nan.writeDoubleLE(Number.NaN);
    const bytes = Buffer.concat([
      ...[long(-1), long(86_399_999_999n), long(-1n), long(1), long(1_767_225_600_123_456_789n)],
      ...[string(Buffer.from('fb2e', 'hex')), string(Buffer.from('7fffffffffffffff', 'hex'))],
      ...[Buffer.from('ffff', 'hex'), long(9_223_372_036_854_775_807n), nan, string('x')],
    ]);
    writeFileSync(path, file(schema, [[1, bytes]]));
    const { columns } = convertAvro(path, target, 1e9);
    assert.equal(
      readFileSync(target, 'utf8'),
      '{"day":"1969-12-31","clock":"23:59:59.999999","at":"1969-12-31T23:59:59.999999Z","ns":"2026-01-01T00:00:00.123456789","price":-12.34,"big":"92233720368547758.07","small":-0.001,"max":9223372036854775807,"nan":"NaN","odd":"x"}\n',
    );
    assert.deepEqual(
      columns.slice(0, 5).map(({ type }) => type),
      ['date', 'time', 'timestamp', 'timestamp', { precision: 20, scale: 2 }],
    );
  });

  it('reads snappy with its checksum', () => {
    // A literal, a copy with an offset of one byte, and one that overlaps itself.
    const packed = Buffer.from([14, 12, 97, 98, 99, 100, 1, 4, 22, 1, 0]);
    const plain = Buffer.from('abcdabcddddddd');
    assert.deepEqual(decompressSnappy(packed, 100).toString(), 'abcdabcddddddd');
    const checksum = Buffer.alloc(4);
    checksum.writeUInt32BE(crc32(plain));
    const schema = { type: 'fixed', name: 'F', size: 14 };
    const good = file(schema, [[1, Buffer.concat([packed, checksum])]], { codec: 'snappy' });
    assert.deepEqual(convert(good).lines, [{ value: plain.toString('hex').toUpperCase() }]);
    checksum.writeUInt32BE(1);
    const bad = file(schema, [[1, Buffer.concat([packed, checksum])]], { codec: 'snappy' });
    assert.throws(() => convert(bad), /another checksum/);
    for (const hostile of ['ffffffff0f00', '0efc', '0e0101', '0e00', '', '0e0c6162', '0e1661010000'])
      assert.throws(() => decompressSnappy(Buffer.from(hostile, 'hex'), 1_000), /damaged|limit/, hostile);
  });

  it('reads lists that contain themselves, to a depth', () => {
    const list = record([{ name: 'next', type: ['null', 'row'] }]);
    assert.deepEqual(convert(file(list, [[1, Buffer.from([2, 2, 0])]])).lines, [
      { next: { next: { next: null } } },
    ]);
    assert.throws(
      () => convert(file(list, [[1, Buffer.alloc(100_000, 2)]])),
      /row 1: .*nested more than 200 deep/,
    );
    const self = record([{ name: 'self', type: 'row' }]);
    assert.throws(() => convert(file(self, [[1, Buffer.alloc(0)]])), /nested more than 200 deep/);
  });

  describe('refuses in words, and in little time', () => {
    const deep = (levels: number) => `${'{"type":"array","items":'.repeat(levels)}"int"${'}'.repeat(levels)}`;
    const nulls = { type: 'array', items: 'null' };
    const wide = record([{ name: 'a'.repeat(250), type: 'null' }]);
    const cases: readonly (readonly [what: string, bytes: Buffer, message: RegExp])[] = [
      ['no Avro', Buffer.from('id,name\n1,2\n'), /it is no Avro file/],
      ['no schema', Buffer.concat([Buffer.from('Obj\x01'), long(0), sync]), /no "avro.schema"/],
      ['no JSON', file('{', []), /schema is wrong: it is not JSON/],
      ['an unknown type', file('"Foo"', []), /there is no type "Foo"/],
      ['a deep schema', file(deep(10_000), []), /nested more than 100 deep/],
      ['many types', file(JSON.stringify(Array(30_000).fill('null')), []), /more than 20000 types/],
      ['a name twice', file([wide, wide], []), /declared twice/],
      ['a name that is none', file(record([{ name: 'a"; drop', type: 'int' }]), []), /not allowed/],
      ['another codec', file('"int"', [], { codec: 'bzip2' }), /"bzip2", which is not supported/],
      ['a huge block', Buffer.concat([file('"int"', []), Buffer.alloc(40, 0xff)]), /64 bits/],
      [
        'a huge size',
        Buffer.concat([file('"int"', []), long(1), long(1e12), sync]),
        /a block of 1000000000000 bytes/,
      ],
      [
        'a cut file',
        Buffer.concat([file('"int"', []), long(1), long(50), Buffer.from('abc')]),
        /it is cut off/,
      ],
      [
        'another marker',
        file('"int"', [[1, long(1)]], { end: Buffer.alloc(16) }),
        /sync marker: it is damaged/,
      ],
      ['a negative count', file('"int"', [[-1, long(1)]]), /a length is -1/],
      ['a negative length', file('"string"', [[1, long(-5)]]), /row 1: a length is -5/],
      [
        'a long length',
        file('"string"', [[1, long(1e15)]]),
        /has 1000000000000000 bytes, and its block has 0 more/,
      ],
      ['too few bytes', file('"int"', [[2, long(1)]]), /row 2: a value goes on after the end/],
      ['too many bytes', file('"int"', [[1, Buffer.concat([long(1), long(2)])]]), /1 bytes too many/],
      ['a wide int', file('"int"', [[1, long(3e9)]]), /3000000000 is not an int/],
      ['a wide long', file('"long"', [[1, Buffer.alloc(20, 0xff)]]), /more than 64 bits/],
      ['no UTF-8', file('"string"', [[1, string(Buffer.from('ff', 'hex'))]]), /no character in UTF-8/],
      ['a wrong branch', file('["null"]', [[1, long(3)]]), /the type 4 of 1/],
      ['a wrong boolean', file('"boolean"', [[1, Buffer.from([7])]]), /a boolean is 7/],
      ['a far date', file({ type: 'int', logicalType: 'date' }, [[1, long(2e9)]]), /outside of the years/],
      [
        'a long day',
        file({ type: 'int', logicalType: 'time-millis' }, [[1, long(9e7)]]),
        /a time is 90000000/,
      ],
      [
        'a list of nothing',
        file(nulls, [[1, Buffer.concat([long(2n ** 50n)])]]),
        /more than 2000000 items|MiB as JSON/,
      ],
      ['a count that is least', file(nulls, [[1, Buffer.concat([long(-(2n ** 63n)), long(0)])]]), /items/],
      [
        'wide items of nothing',
        file({ type: 'array', items: wide }, [[1, long(9_000_000)]]),
        /32 MiB as JSON/,
      ],
      ['rows of nothing', file('"null"', [[2n ** 50n, Buffer.alloc(0)]]), /zip bomb/],
      [
        'a bomb of deflate',
        file('"int"', [[1, deflateRawSync(Buffer.alloc(2 ** 27))]], { codec: 'deflate' }),
        /unpacked/,
      ],
      [
        'damaged deflate',
        file('"int"', [[1, Buffer.from('zzzz')]], { codec: 'deflate' }),
        /cannot be unpacked/,
      ],
      [
        'a giant decimal',
        file({ type: 'bytes', logicalType: 'decimal', precision: 4 }, [[1, string('9'.repeat(5_000))]]),
        /a decimal has 5000 bytes/,
      ],
    ];
    for (const [what, bytes, message] of cases)
      it(what, () => {
        const begun = process.cpuUsage().user;
        assert.throws(() => convert(bytes), message);
        assert.ok(process.cpuUsage().user - begun < 20_000_000, 'seconds of processor time');
      });
  });

  it('never throws anything but words, whatever byte of a file changes', async () => {
    const schema = record([
      { name: 'id', type: 'long' },
      { name: 'tags', type: { type: 'array', items: ['null', 'string'] } },
      { name: 'at', type: { type: 'long', logicalType: 'timestamp-millis' } },
    ]);
    const row = { id: 5, tags: [{ string: 'a' }, null], at: 1_700_000_000_000 };
    const bytes = await encode(schema, [row, row, row]);
    for (let at = 0; at < bytes.length; at += 1)
      for (const value of [0, 1, 0x7f, 0x80, 0xff]) {
        const changed = Buffer.from(bytes);
        changed[at] = value;
        try {
          convert(changed, 1e8);
        } catch (error) {
          assert.equal((error as Error).constructor.name, 'FileFault', `byte ${at}: ${error}`);
        }
      }
  });
});
