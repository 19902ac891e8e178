/** Pushes that no git would send: packs and commands made byte by byte. */
import { createHash } from 'node:crypto';
import { deflateSync } from 'node:zlib';

const types = { commit: 1, tree: 2, blob: 3 } as const;
export const noObject = '0'.repeat(40);

export interface RawObject {
  type: keyof typeof types;
  content: Buffer;
  id: string;
}

export function makeObject(type: keyof typeof types, content: Buffer | string): RawObject {
  const bytes = Buffer.from(content);
  const id = createHash('sha1').update(`${type} ${bytes.length}\0`).update(bytes).digest('hex');
  return { type, content: bytes, id };
}

export function makeTreeObject(
  entries: readonly { mode: string; name: Buffer | string; id: string }[],
): RawObject {
  const parts = entries.flatMap(({ mode, name, id }) => [
    Buffer.from(`${mode} `),
    Buffer.from(name),
    Buffer.of(0),
    Buffer.from(id, 'hex'),
  ]);
  return makeObject('tree', Buffer.concat(parts));
}

export function makeCommitObject(treeId: string, extra = ''): RawObject {
  const person = 'Ada <ada@example.com> 1700000000 +0000';
  return makeObject('commit', `tree ${treeId}\nauthor ${person}\ncommitter ${person}\n${extra}\nm\n`);
}

/** @param count what the header says */
export function makePack(objects: readonly RawObject[], count = objects.length): Buffer {
  return closePack(
    count,
    objects.flatMap(({ type, content }) => [sizeOf(types[type], content.length), deflateSync(content)]),
  );
}

function closePack(count: number, entries: readonly Buffer[]): Buffer {
  const head = Buffer.from('PACK\0\0\0\x02\0\0\0\0');
  head.writeUInt32BE(count, 8);
  const body = Buffer.concat([head, ...entries]);
  return Buffer.concat([body, createHash('sha1').update(body).digest()]);
}

/** A pack of 64 KiB and `count` objects of 16 MiB, each of which says only: the 64 KiB, 256 times. */
export function makeDeltaBomb(count: number): Buffer {
  const base = makeObject('blob', Buffer.alloc(65_536, 'zeros'));
  const refDelta = 7;
  const deltas = Array.from({ length: count }, (_, index) => {
    const target = 256 * 65_536 + 4;
    const inserted = Buffer.from([4, 0, 0, 0, 0]);
    inserted.writeUInt32BE(index, 1);
    const delta = Buffer.concat([varint(65_536), varint(target), Buffer.alloc(256, 0x80), inserted]);
    return Buffer.concat([sizeOf(refDelta, delta.length), Buffer.from(base.id, 'hex'), deflateSync(delta)]);
  });
  return closePack(count + 1, [sizeOf(types.blob, 65_536), deflateSync(base.content), ...deltas]);
}

function varint(value: number): Buffer {
  const bytes: number[] = [];
  for (let rest = value; ; rest = Math.floor(rest / 128)) {
    if (rest < 128) return Buffer.from([...bytes, rest]);
    bytes.push((rest % 128) | 0x80);
  }
}

function sizeOf(type: number, size: number): Buffer {
  const bytes: number[] = [];
  let rest = Math.floor(size / 16);
  bytes.push((type << 4) | (size % 16) | (rest > 0 ? 0x80 : 0));
  while (rest > 0) {
    const next = Math.floor(rest / 128);
    bytes.push((rest % 128) | (next > 0 ? 0x80 : 0));
    rest = next;
  }
  return Buffer.from(bytes);
}

export interface RawCommand {
  from?: string;
  to: string;
  name: Buffer | string;
}

export function makeCommands(
  commands: readonly RawCommand[],
  capabilities = 'report-status side-band-64k',
): Buffer {
  const lines = commands.map(({ from = noObject, to, name }, index) => {
    const line = Buffer.concat([
      Buffer.from(`${from} ${to} `),
      Buffer.from(name),
      Buffer.from(index === 0 ? `\0${capabilities}` : ''),
    ]);
    return Buffer.concat([Buffer.from((line.length + 4).toString(16).padStart(4, '0')), line]);
  });
  return Buffer.concat([...lines, Buffer.from('0000')]);
}
