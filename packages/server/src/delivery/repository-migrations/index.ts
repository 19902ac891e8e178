import type { Wakes } from '../../kernel/database/wakes.ts';
import type { Metrics } from '../../kernel/metrics.ts';
import { createRemovalJob } from '../../kernel/retention/periodic-job.ts';
import type { Slice } from '../../kernel/slice/slice.ts';
import { createWorkerJob, type WorkerServices } from '../../kernel/work/server-worker.ts';
import { createMigrationSettings } from './migration-settings.ts';
import type { MigrationServices } from './migration-work.ts';
import { repositoryMigrationRoutes } from './repository-migration.routes.ts';
import { createMigrationWork } from './repository-migration.work.ts';
import { removeSeenTokens, tokenRemovalBatch } from './store/seen-token.store.ts';
import { createRenewalJob } from './tokens/token-renewal.ts';

export { createMigrationSettings };

type OwnServices = WorkerServices & Omit<MigrationServices, 'limits' | 'retryMilliseconds' | 'config'>;
interface Needs extends OwnServices {
  wakes: Wakes;
  metrics: Metrics;
  config: MigrationServices['config'] & {
    publicUrl: string;
    migrationPreflightSeconds: number;
    git: { mostBytes: number };
  };
}

/** Tokens of providers live a year at most. */
const tokenMilliseconds = 400 * 86_400_000;

export const repositoryMigrations: Slice<Needs> = {
  name: 'repository-migrations',
  routes(endpoints, services) {
    const { publicUrl, migrationPreflightSeconds: preflightSeconds } = services.config;
    const findHostedUrl = (projectId: string) => `${publicUrl}/git/${projectId}.git`;
    repositoryMigrationRoutes(endpoints, {
      ...services,
      ...createMigrationSettings(services.config.git.mostBytes),
      preflightSeconds,
      findHostedUrl,
    });
  },
  periodic(services) {
    const settings = createMigrationSettings(services.config.git.mostBytes);
    return [
      createWorkerJob(services, createMigrationWork({ ...services, ...settings })),
      createRenewalJob(services),
      createRemovalJob(services, {
        kind: 'git-tokens-seen',
        batch: tokenRemovalBatch,
        remove: (read, now) => removeSeenTokens(read, new Date(now.getTime() - tokenMilliseconds)),
      }),
    ];
  },
};
