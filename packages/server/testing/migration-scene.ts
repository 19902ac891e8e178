/** A project with a repository on a Git host, and another repository to move it to. */
import assert from 'node:assert/strict';
import type { RepositoryMigration, RepositoryProvider } from '@headgate/contract';
import { createCredential, sealCredential } from '../src/delivery/git-remotes/index.ts';
import { createMigrationSettings } from '../src/delivery/repository-migrations/index.ts';
import { createMigrationWork } from '../src/delivery/repository-migrations/repository-migration.work.ts';
import { Secret } from '../src/kernel/security/sealed.ts';
import type { Leases } from '../src/kernel/work/lease.ts';
import { createServerWorker, type ServerWorker } from '../src/kernel/work/server-worker.ts';
import type { Account } from './account.ts';
import type { Answer } from './client.ts';
import { commitFiles, type GitHost, type HostedOnHost } from './git-host.ts';
import type { TestServer } from './open-server.ts';
import type { TestProject } from './project.ts';

/** Hosts on loopback are allowed, as an operator would. */
export const loopbackHosts = { settings: { HEADGATE_EGRESS_ALLOW: '127.0.0.0/8' } };

export interface MigrationScene {
  account: Account;
  project: TestProject;
  source: HostedOnHost;
  target: HostedOnHost;
  migrator: ServerWorker;
  path: string;
  /** Starts a migration of the target; a github target, unless said otherwise. */
  start(input?: StartGiven): Promise<Answer<{ migrationId: string; code?: string; detail?: string }>>;
  /** Starts a migration, works on it, and returns its end. */
  migrate(input?: StartGiven): Promise<RepositoryMigration>;
  read(migrationId: string): Promise<RepositoryMigration>;
  /** The address that the project has now. */
  readCloneUrl(): Promise<string | null>;
}

export interface StartGiven {
  body?: object;
  query?: string;
  token?: string;
  headers?: Record<string, string>;
}

/** A worker of a server with these settings. */
export function createMigrator(
  services: TestServer['deps'],
  own: Partial<Parameters<typeof createMigrationWork>[0]> = {},
): ServerWorker {
  const settings = createMigrationSettings(services.config.git.mostBytes);
  return createServerWorker(services, createMigrationWork({ ...services, ...settings, ...own }));
}

let count = 0;

/** @param as how the source is associated; `headgate` needs no address */
export async function createMigrationScene(
  server: TestServer,
  host: GitHost,
  as: { provider?: RepositoryProvider; cloneUrl?: string; token?: string; leases?: Leases } = {},
): Promise<MigrationScene> {
  count += 1;
  const account = await server.account();
  const project = await account.project();
  const source = host.addRepository(`acme/source-${count}.git`);
  const target = host.addRepository(`acme/target-${count}.git`);
  const place = { accountId: account.accountId, projectId: project.projectId };
  const cloneUrl = as.cloneUrl ?? source.cloneUrl;
  await insertRepository(server, place, {
    provider: as.provider ?? 'git',
    cloneUrl: as.provider === 'headgate' ? null : cloneUrl,
    sealed:
      as.token === undefined
        ? null
        : sealCredential(
            server.deps.sealer,
            place,
            createCredential('git', { url: cloneUrl, token: new Secret(as.token) }),
          ),
  });
  const migrator = createMigrator(
    { ...server.deps, leases: as.leases ?? server.deps.leases },
    { retryMilliseconds: [5, 5] },
  );
  const path = `${project.path}/repository-migration`;

  const scene: MigrationScene = {
    account,
    project,
    source,
    target,
    migrator,
    path,
    start({ body = {}, query = '', token, headers = {} } = {}) {
      const request = {
        mode: 'MIRROR_PUSH',
        targetCloneUrl: target.cloneUrl,
        targetProvider: 'github',
        targetName: 'acme/target',
        ...body,
      };
      const sent = { ...(token === undefined ? {} : { 'Git-Provider-Access-Token': token }), ...headers };
      return account.admin.send('POST', `${path}${query}`, { body: request, headers: sent });
    },
    async migrate(input) {
      const started = await scene.start(input);
      assert.equal(started.status, 202, started.text);
      await migrator.look();
      await migrator.wait();
      return scene.read(started.body.migrationId);
    },
    async read(migrationId) {
      const answer = await account.admin.get<RepositoryMigration>(`${path}/${migrationId}`);
      assert.equal(answer.status, 200, answer.text);
      return answer.body;
    },
    async readCloneUrl() {
      const rows = await server.database.query(
        'select clone_url from repository where account_id = $1 and project_id = $2',
        [place.accountId, place.projectId],
      );
      return (rows[0] as { clone_url: string | null }).clone_url;
    },
  };
  return scene;
}

async function insertRepository(
  server: TestServer,
  { accountId, projectId }: { accountId: string; projectId: string },
  { provider, cloneUrl, sealed }: { provider: string; cloneUrl: string | null; sealed: Buffer | null },
): Promise<void> {
  await server.database.query(
    `insert into repository (account_id, project_id, provider, repository_name, clone_url, provider_parameters,
       sealed_credential, credential_origin, version, created_by, created_at, updated_at)
     values ($1, $2, $3, 'acme/source', $4, '{}', $5, $6, 1, $1, now(), now())`,
    [accountId, projectId, provider, cloneUrl, sealed, cloneUrl === null ? null : new URL(cloneUrl).origin],
  );
}

/** Some branches and an annotated tag. */
export function fillRepository({ folder, git }: HostedOnHost): void {
  commitFiles(folder, { files: { 'main.orch.yaml': 'type: orchestration\n', 'README.md': '# Weather\n' } });
  commitFiles(folder, { files: { 'b.txt': 'b' } });
  git('branch', 'dev', 'main');
  commitFiles(folder, { branch: 'dev', files: { 'c.txt': 'c' } });
  git('tag', '-a', '-m', 'first', 'v1', 'main');
  git('tag', 'light', 'dev');
}

/** The refs of a repository, as `id name`. */
export function listRefs({ git }: HostedOnHost, ...prefixes: string[]): string[] {
  const roots = prefixes.length === 0 ? ['refs/heads', 'refs/tags'] : prefixes;
  return git('for-each-ref', '--format=%(objectname) %(refname)', ...roots)
    .trim()
    .split('\n');
}
