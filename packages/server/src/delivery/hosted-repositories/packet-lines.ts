/** The pkt-line format of Git's protocol (gitprotocol-common). */
import { Buffer } from 'node:buffer';

export const flushPacket = Buffer.from('0000');
const headBytes = 4;
const longestPacket = 65_520;
/** What a packet of a side band can carry. */
const longestBandContent = 65_515;

export class BadPacket extends Error {
  override name = 'BadPacket';
}

/** Packets of a text each, with a line break. */
export function formatLine(text: string): Buffer {
  return formatPacket(Buffer.from(`${text}\n`));
}

export function formatPacket(content: Uint8Array): Buffer {
  const length = content.length + headBytes;
  if (length > longestPacket) throw new Error('the packet is too long');
  return Buffer.concat([Buffer.from(length.toString(16).padStart(4, '0')), content]);
}

/** @param band 1: the answer; 2: words for the user */
export function formatBand(band: 1 | 2, content: Buffer): Buffer {
  const packets: Buffer[] = [];
  for (let at = 0; at < content.length; at += longestBandContent)
    packets.push(
      formatPacket(Buffer.concat([Buffer.of(band), content.subarray(at, at + longestBandContent)])),
    );
  return Buffer.concat(packets);
}

export interface PacketReader {
  /** Undefined for a flush packet, `end` if there are no more bytes. @throws BadPacket */
  read(): Promise<Buffer | undefined | 'end'>;
  /** The bytes after the packets. */
  rest(): AsyncGenerator<Buffer, void, undefined>;
  /** Reads no more, so that the server can discard what the client goes on sending. */
  close(): void;
}

export function createPacketReader(source: AsyncGenerator<Buffer, void, undefined>): PacketReader {
  let held: Buffer = Buffer.alloc(0);

  async function fill(expected: number): Promise<boolean> {
    while (held.length < expected) {
      const next = await source.next();
      if (next.done === true) return false;
      held = held.length === 0 ? next.value : Buffer.concat([held, next.value]);
    }
    return true;
  }

  return {
    async read() {
      if (!(await fill(headBytes))) {
        if (held.length === 0) return 'end';
        throw new BadPacket('the request ends in a packet');
      }
      const head = held.subarray(0, headBytes).toString('latin1');
      if (!/^[0-9a-f]{4}$/i.test(head)) throw new BadPacket('the request is not made of packets');
      const length = Number.parseInt(head, 16);
      if (length === 0) {
        held = held.subarray(headBytes);
        return undefined;
      }
      if (length < headBytes || length > longestPacket)
        throw new BadPacket(`a packet has the length ${length}`);
      if (!(await fill(length))) throw new BadPacket('the request ends in a packet');
      const content = held.subarray(headBytes, length);
      held = held.subarray(length);
      return content;
    },
    close() {
      // Not awaited: it may wait for the client.
      source.return().catch(() => undefined);
    },
    async *rest() {
      if (held.length > 0) yield held;
      held = Buffer.alloc(0);
      for (let next = await source.next(); next.done !== true; next = await source.next()) yield next.value;
    },
  };
}
