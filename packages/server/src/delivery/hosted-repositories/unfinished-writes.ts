/** Ends the writes of servers that died between git's change of refs and the event. */
import { join } from 'node:path';
import type { PeriodicJob } from '../../kernel/retention/periodic-job.ts';
import { openGitRepository } from '../git/index.ts';
import { claimUnfinishedWrites, type UnfinishedWrite } from './hosted.store.ts';
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
      for (const write of claimed) await endWrite(services, write);
      return claimed.length === most;
    },
  };
}

/** Git moves all refs of a write or none: one that is where it should be shows that it did. */
async function endWrite(
  services: HostedServices & { hosted: HostedRepositories },
  write: UnfinishedWrite,
): Promise<void> {
  const { folder } = services.hosted;
  await folder.require();
  const accountId = write.account_id;
  const repository = openGitRepository(services.git, {
    folder: join(folder.path, `${write.project_id}.git`),
    accountId,
  });
  const found = new Map((await repository.listRefs(['refs/'])).map(({ name, objectId }) => [name, objectId]));
  const isMoved = write.moves.some(({ name, to }) => (found.get(name) ?? null) === to);
  await recordWrite(
    services,
    { accountId, projectId: write.project_id, writeId: write.write_id },
    {
      source: {
        accountId,
        actorId: write.actor_id,
        actorKind: write.actor_kind,
        requestId: write.request_id,
      },
      changes: isMoved ? write.moves : [],
    },
  );
}
