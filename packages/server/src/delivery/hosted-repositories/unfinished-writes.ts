/** Ends the writes of servers that died between git's change of refs and the event. */
import { join } from 'node:path';
import type { PeriodicJob } from '../../kernel/retention/periodic-job.ts';
import { type GitRepository, openGitRepository, removeLeftLocks } from '../git/index.ts';
import { claimUnfinishedWrites, type RefChange, type UnfinishedWrite } from './hosted.store.ts';
import type { HostedRepositories, HostedServices } from './hosted-repositories.ts';
import { writeLeaseMilliseconds } from './hosted-repositories.ts';
import { recordWrite } from './recorded-write.ts';

const everyMilliseconds = 5_000;
const most = 20;

export function createUnfinishedWritesJob(
  services: HostedServices & { hosted: HostedRepositories },
): PeriodicJob {
  return {
    name: 'unfinished pushes',
    everyMilliseconds,
    async run() {
      const now = services.clock.now();
      const leaseUntil = new Date(now.getTime() + writeLeaseMilliseconds);
      const claimed = await claimUnfinishedWrites(services.database.read, { now, leaseUntil, most });
      const failures: unknown[] = [];
      // A repository that cannot be read must not keep the others waiting.
      for (const write of claimed)
        await endWrite(services, write).catch((failure: unknown) => failures.push(failure));
      if (failures.length > 0) throw failures[0];
      return claimed.length === most;
    },
  };
}

/** How many branches are looked at. */
const mostCompared = 20;

/** A branch whose present head contains what the write made of it shows that git had moved it. */
async function hasMovedOn(
  repository: GitRepository,
  moves: readonly RefChange[],
  found: ReadonlyMap<string, string>,
): Promise<boolean> {
  const compared = moves.slice(0, mostCompared);
  const types = await repository.readTypes(compared.flatMap(({ to }) => to ?? []));
  for (const { name, to } of compared) {
    const head = found.get(name);
    if (!name.startsWith('refs/heads/') || head === undefined || to === null) continue;
    if (types.get(to) === 'commit' && (await repository.isAncestor(to, head))) return true;
  }
  return false;
}

/** Git moves all refs of a write or none: one that is where it should be shows that it did. */
async function endWrite(
  services: HostedServices & { hosted: HostedRepositories },
  write: UnfinishedWrite,
): Promise<void> {
  const accountId = write.account_id;
  const ids = { accountId, projectId: write.project_id, writeId: write.write_id };
  const { account_id, actor_id: actorId, actor_kind: actorKind, request_id: requestId } = write;
  const source = { accountId: account_id, actorId, actorKind, requestId };
  // A write on another host.
  if (write.moves.length === 0) return recordWrite(services, ids, { source, changes: [] });
  const { folder } = services.hosted;
  await folder.require();
  const at = join(folder.path, `${write.project_id}.git`);
  await removeLeftLocks(at);
  const repository = openGitRepository(services.git, { folder: at, accountId });
  const found = new Map((await repository.listRefs(['refs/'])).map(({ name, objectId }) => [name, objectId]));
  // A branch that has moved on was pushed to by another caller, whose own write wakes its rules.
  const standing = write.moves.filter(({ name, to }) => (found.get(name) ?? null) === to);
  const isDone = standing.length > 0 || (await hasMovedOn(repository, write.moves, found));
  const changes = isDone ? write.moves : [];
  await recordWrite(services, ids, { source, changes, standing });
}
