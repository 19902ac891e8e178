import type { Wakes } from '../../kernel/database/wakes.ts';
import type { Metrics } from '../../kernel/metrics.ts';
import { createLookJob } from '../../kernel/retention/look-job.ts';
import { createRemovalJob } from '../../kernel/retention/periodic-job.ts';
import type { Slice } from '../../kernel/slice/slice.ts';
import { migrationsKey } from './migration.ts';
import { createMigrationSettings } from './migration-settings.ts';
import { createMigrator, type MigratorServices } from './migrator.ts';
import { repositoryMigrationRoutes } from './repository-migration.routes.ts';
import { removeSeenTokens, tokenRemovalBatch } from './store/seen-token.store.ts';
import { createRenewalJob } from './tokens/token-renewal.ts';

export { createMigrationSettings };

type Given = Omit<MigratorServices, 'limits' | 'retryMilliseconds' | 'config'>;
interface Needs extends Given {
  wakes: Wakes;
  metrics: Metrics;
  config: MigratorServices['config'] & {
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
    const migrator = createMigrator({
      ...services,
      ...createMigrationSettings(services.config.git.mostBytes),
    });
    return [
      createLookJob(services, { name: 'repository migrations', key: migrationsKey, looker: migrator }),
      createRenewalJob(services),
      createRemovalJob(services, {
        kind: 'git-tokens-seen',
        batch: tokenRemovalBatch,
        remove: (read, now) => removeSeenTokens(read, new Date(now.getTime() - tokenMilliseconds)),
      }),
    ];
  },
};
