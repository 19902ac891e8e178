/** The branches and tags as a push gets them first (gitprotocol-pack, reference discovery). */
import type { GitRepository } from '../git/index.ts';
import { flushPacket, formatLine, formatPacket } from './packet-lines.ts';

/** What push.ts can do. */
const capabilities =
  'report-status delete-refs side-band-64k quiet atomic ofs-delta object-format=sha1 agent=headgate';
const noObject = '0'.repeat(40);

export async function advertisePush(repository: GitRepository): Promise<Buffer> {
  const refs = await repository.listRefs(['refs/heads/', 'refs/tags/']);
  const [first = { objectId: noObject, name: 'capabilities^{}' }, ...others] = refs;
  return Buffer.concat([
    formatLine('# service=git-receive-pack'),
    flushPacket,
    formatPacket(Buffer.from(`${first.objectId} ${first.name}\0${capabilities}\n`)),
    ...others.map(({ objectId, name }) => formatLine(`${objectId} ${name}`)),
    flushPacket,
  ]);
}
