/** Moves the folders of dropped repositories aside, and removes them after 30 days. */
import { rm } from 'node:fs/promises';
import { join } from 'node:path';
import type { PeriodicJob } from '../../kernel/retention/periodic-job.ts';
import { forgetFolder, listExpiredFolders, listProjectsToMove } from './dropped.store.ts';
import type { HostedRepositories, HostedServices } from './hosted-repositories.ts';

const everyMilliseconds = 60_000;
const keptMilliseconds = 30 * 86_400_000;
const most = 50;

export function createDroppedRepositoriesJob({
  database,
  clock,
  hosted,
}: HostedServices & { hosted: HostedRepositories }): PeriodicJob {
  return {
    name: 'dropped repositories',
    everyMilliseconds,
    async run() {
      const moving = await listProjectsToMove(database.read, most);
      const before = new Date(clock.now().getTime() - keptMilliseconds);
      const expired = await listExpiredFolders(database.read, before, most);
      if (moving.length === 0 && expired.length === 0) return false;
      // Without the folder, the rows wait for a server that sees it.
      if ((await hosted.folder.findFault()) !== undefined) return false;
      const failures: unknown[] = [];
      // One folder that cannot be moved must not keep the others.
      for (const at of moving)
        await hosted.moveDropped(at).catch((failure: unknown) => failures.push(failure));
      for (const name of expired) {
        await rm(join(hosted.folder.path, 'dropped', `${name}.git`), { recursive: true, force: true });
        await forgetFolder(database.read, name);
      }
      if (failures.length > 0) throw failures[0];
      return moving.length === most || expired.length === most;
    },
  };
}
