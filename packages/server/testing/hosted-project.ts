/** A project with a repository that is hosted here, and the git program of its users. */
import { execFile } from 'node:child_process';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after } from 'node:test';
import type { Account, Actor } from './account.ts';
import type { TestServer } from './open-server.ts';
import type { TestProject } from './project.ts';

export interface Ran {
  code: number;
  /** Both outputs. */
  text: string;
}

/** The git of a person: a home of its own, without configuration of the machine. */
export interface UserGit {
  folder: string;
  run(
    args: readonly string[],
    options?: { cwd?: string; env?: Record<string, string>; input?: string },
  ): Promise<Ran>;
  /** Fails the test unless git succeeds. Returns the trimmed output. */
  ok(
    args: readonly string[],
    options?: { cwd?: string; env?: Record<string, string>; input?: string },
  ): Promise<string>;
  /** Creates a working tree with one commit on main. Returns its folder. */
  makeTree(name: string, files?: Record<string, string>): Promise<string>;
}

export async function makeUserGit(): Promise<UserGit> {
  const folder = await mkdtemp(join(tmpdir(), 'headgate-user-git-'));
  after(() => rm(folder, { recursive: true, force: true }));
  const base = {
    PATH: process.env.PATH ?? '',
    HOME: folder,
    LC_ALL: 'C',
    GIT_CONFIG_NOSYSTEM: '1',
    GIT_TERMINAL_PROMPT: '0',
    GIT_AUTHOR_NAME: 'Ada',
    GIT_AUTHOR_EMAIL: 'ada@example.com',
    GIT_COMMITTER_NAME: 'Ada',
    GIT_COMMITTER_EMAIL: 'ada@example.com',
    GIT_CONFIG_COUNT: '2',
    GIT_CONFIG_KEY_0: 'init.defaultBranch',
    GIT_CONFIG_VALUE_0: 'main',
    GIT_CONFIG_KEY_1: 'core.fsync',
    GIT_CONFIG_VALUE_1: 'none',
  };
  const run: UserGit['run'] = (args, { cwd = folder, env = {}, input } = {}) =>
    new Promise((resolve) => {
      const options = { cwd, env: { ...base, ...env }, maxBuffer: 64 * 1_048_576 };
      const child = execFile('git', [...args], options, (failure, stdout, stderr) => {
        const code = failure === null ? 0 : Number(failure.code ?? 1);
        resolve({ code, text: `${stdout}${stderr}` });
      });
      // Git may not read it.
      child.stdin?.on('error', () => undefined).end(input ?? '');
    });
  const ok: UserGit['ok'] = async (args, options) => {
    const { code, text } = await run(args, options);
    if (code !== 0) throw new Error(`git ${args.join(' ')}: ${text}`);
    return text.trim();
  };
  return {
    folder,
    run,
    ok,
    async makeTree(name, files = { 'main.orch.yaml': 'type: orchestration\n' }) {
      await ok(['init', '-q', name]);
      const tree = join(folder, name);
      for (const [path, content] of Object.entries(files)) await writeFile(join(tree, path), content);
      await ok(['add', '-A'], { cwd: tree });
      await ok(['commit', '-q', '-m', 'first'], { cwd: tree });
      return tree;
    },
  };
}

export interface HostedProject {
  account: Account;
  project: TestProject;
  /** With the admin's token. */
  url: string;
  /** The address with other credentials, or none. */
  urlOf(caller?: Actor | { user: string; password: string }): Promise<string>;
  /** The bare repository at the server. */
  folder: string;
}

export async function makeHostedProject(server: TestServer, base: string): Promise<HostedProject> {
  const account = await server.account();
  const project = await account.project();
  await associateHosted(server, account, project.projectId);
  async function urlOf(caller?: Actor | { user: string; password: string }): Promise<string> {
    const url = new URL(`/git/${project.projectId}.git`, base || 'http://localhost');
    if (caller === undefined) return url.href;
    const [user, password] =
      'token' in caller ? ['token', await caller.token()] : [caller.user, caller.password];
    url.username = user;
    url.password = password;
    return url.href;
  }
  return {
    account,
    project,
    url: await urlOf(account.admin),
    urlOf,
    folder: join(server.deps.repositoriesFolder, `${project.projectId}.git`),
  };
}

export async function associateHosted(
  server: TestServer,
  account: Account,
  projectId: string,
): Promise<void> {
  await server.database.query(
    `insert into repository (account_id, project_id, provider, repository_name, provider_parameters, default_branch,
       version, created_by, created_at, updated_at)
     values ($1, $2, 'headgate', 'pipelines', '{}', 'main', 1, $3, now(), now())`,
    [account.accountId, projectId, account.admin.actorId],
  );
}
