import type { Slice } from '../../kernel/slice/slice.ts';
import { createWorkerJob, type WorkerServices } from '../../kernel/work/server-worker.ts';
import { createDroppedRepositoriesJob } from './dropped-repositories.ts';
import { type GitRouteServices, gitRoutes } from './git.routes.ts';
import { createLeftoversJob } from './maintenance.ts';
import { createRepositoryWriteWork } from './repository-write.work.ts';

export { lockForWrites, type RefChange } from './hosted.store.ts';
export {
  createHostedRepositories,
  type HostedRepositories,
} from './hosted-repositories.ts';
export { isProtected, listProtected, mostRefs } from './push-judgement.ts';
export { markerName } from './repositories-folder.ts';

export const hostedRepositories: Slice<GitRouteServices & WorkerServices> = {
  name: 'hosted-repositories',
  routes: gitRoutes,
  periodic: (services) => [
    createWorkerJob(services, createRepositoryWriteWork(services)),
    createDroppedRepositoriesJob(services),
    createLeftoversJob(services),
  ],
};
