/** Reads the commands of a push: what git sends before the pack (gitprotocol-pack). */
import { isUtf8 } from 'node:buffer';
import { isObjectId } from '../git/index.ts';
import type { RefChange } from './hosted.store.ts';
import { BadPacket, type PacketReader } from './packet-lines.ts';

/** Refs of one push. */
export const mostCommands = 10_000;
const mostBytes = 16 * 1_048_576;
const noObject = '0'.repeat(40);

export interface PushRequest {
  /** As they were sent; names may be invalid. */
  changes: readonly RefChange[];
  isAtomic: boolean;
  wantsReport: boolean;
  hasSideBand: boolean;
}

/** @throws BadPacket @returns undefined for a request without commands, by which git tests its credentials */
export async function readPushRequest(packets: PacketReader): Promise<PushRequest | undefined> {
  const changes: RefChange[] = [];
  let capabilities: readonly string[] = [];
  let bytes = 0;
  for (let packet = await packets.read(); packet !== undefined; packet = await packets.read()) {
    if (packet === 'end') {
      if (changes.length === 0 && bytes === 0) return undefined;
      throw new BadPacket('the request ends in its commands');
    }
    bytes += packet.length;
    if (bytes > mostBytes || changes.length === mostCommands)
      throw new BadPacket(`a push may change at most ${mostCommands} branches and tags`);
    const nul = packet.indexOf(0);
    const line = nul < 0 ? packet : packet.subarray(0, nul);
    if (!isUtf8(line)) throw new BadPacket('a name of a branch or tag is not UTF-8');
    const text = line.toString('utf8').replace(/\n$/, '');
    // The boundary of a shallow clone. What is pushed must be complete with what is here.
    if (/^shallow [0-9a-f]{40}$/.test(text)) continue;
    if (changes.length === 0 && nul >= 0)
      capabilities = packet
        .subarray(nul + 1)
        .toString('latin1')
        .trim()
        .split(' ');
    changes.push(parseCommand(text));
  }
  if (changes.length === 0) return undefined;
  const format = capabilities.find((each) => each.startsWith('object-format='));
  if (format !== undefined && format !== 'object-format=sha1')
    throw new BadPacket('only repositories of SHA-1 can be pushed; this one has another object format');
  return {
    changes,
    isAtomic: capabilities.includes('atomic'),
    wantsReport: capabilities.includes('report-status'),
    hasSideBand: capabilities.includes('side-band-64k'),
  };
}

function parseCommand(text: string): RefChange {
  const [from = '', to = '', ...name] = text.split(' ');
  if (!isObjectId(from) || !isObjectId(to) || name.length === 0)
    throw new BadPacket('a command of the push cannot be read');
  const idOrNull = (id: string) => (id === noObject ? null : id);
  return { name: name.join(' '), from: idOrNull(from), to: idOrNull(to) };
}
