/**
 * Hosted repositories in a backup: a bundle of each, in parts. A restore unpacks them aside and puts them in
 * place after the database was replaced; those that were there are moved to a folder beside.
 */
import { existsSync } from 'node:fs';
import { appendFile, mkdir, readdir, rename, rm, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import type pg from 'pg';
import type { Git } from '../../delivery/git/index.ts';
import { markerName } from '../../delivery/hosted-repositories/index.ts';
import type { AddMember } from './archive.ts';

const partBytes = 8 * 1_048_576;
const longestMilliseconds = 3_600_000;

export interface HostedFolder {
  git: Git;
  /** Absolute. */
  path: string;
}

/** In the snapshot. A repository whose predecessor has not been moved aside yet has no folder of its own. */
const selectHosted = `
  select project_id from repository r
  where provider = 'headgate' and not exists (
    select from dropped_repository d
    where d.account_id = r.account_id and d.project_id = r.project_id and d.moved_at is null)
  order by project_id`;

export async function listHostedProjects(client: pg.Client): Promise<string[]> {
  const { rows } = await client.query<{ project_id: string }>(selectHosted);
  return rows.map(({ project_id: projectId }) => projectId);
}

/** `repositories/<project>/<part>`: as of now, while pushes go on. An empty repository has no part. */
export async function addRepository(
  { git, path }: HostedFolder,
  projectId: string,
  add: AddMember,
): Promise<boolean> {
  const folder = join(path, `${projectId}.git`);
  if (!existsSync(join(folder, 'HEAD'))) return false;
  const call = { folder, accountId: 'backup', timeoutMilliseconds: longestMilliseconds };
  const refs = await git.run(['for-each-ref', '--count=1'], call);
  if (refs.code === 0 && refs.stdout.length === 0) return false;
  const bundling = await git.spawn(['bundle', 'create', '--quiet', '-', '--all'], call);
  bundling.stdin.end();
  let part = 0;
  let chunks: Buffer[] = [];
  let bytes = 0;
  const addPart = async () => {
    part += 1;
    await add(`repositories/${projectId}/${String(part).padStart(6, '0')}`, Buffer.concat(chunks));
    chunks = [];
    bytes = 0;
  };
  for await (const chunk of bundling.stdout as AsyncIterable<Buffer>) {
    chunks.push(chunk);
    bytes += chunk.length;
    if (bytes >= partBytes) await addPart();
  }
  if (bytes > 0) await addPart();
  const { code, stderr } = await bundling.ended;
  if (code !== 0)
    throw new Error(
      `The hosted repository of the project ${projectId} cannot be read: ${stderr}. Check it with git fsck in ${folder}. No backup was made.`,
    );
  return true;
}

export interface RepositoryRestore {
  write(projectId: string, bytes: Buffer): Promise<void>;
  /** Unpacks the last one. Call it before the database is committed. */
  finish(): Promise<void>;
  /** Puts all in place. Returns where earlier ones were moved, if there were any. */
  place(client: pg.Client): Promise<string | undefined>;
}

/** @param stamp names the folders of this restore */
export function createRepositoryRestore({ git, path }: HostedFolder, stamp: string): RepositoryRestore {
  const aside = join(path, `restored-${stamp}`);
  const replaced = join(path, `replaced-${stamp}`);
  const bundle = join(aside, 'bundle');
  let current: string | undefined;

  async function finish(): Promise<void> {
    if (current === undefined) return;
    const folder = join(aside, `${current}.git`);
    await git.makeRepository(folder);
    const args = ['fetch', '--quiet', '--no-tags', '--no-write-fetch-head', bundle, '+refs/*:refs/*'];
    const call = { folder, accountId: 'backup', local: true, timeoutMilliseconds: longestMilliseconds };
    const { code, stderr } = await git.run(args, call);
    if (code !== 0) throw new Error(`The repository of the project ${current} cannot be restored: ${stderr}`);
    await rm(bundle);
    current = undefined;
  }

  return {
    finish,
    async write(projectId, bytes) {
      if (current !== projectId) {
        await finish();
        await git.makeFolder(aside);
        await git.writeFile(bundle, '');
        current = projectId;
      }
      await appendFile(bundle, bytes);
    },
    async place(client) {
      const { rows } = await client.query<{ marker: string }>('select marker from repositories_folder');
      await git.makeFolder(path);
      const earlier = (await readdir(path)).filter((name) => name.endsWith('.git'));
      if (earlier.length > 0) await mkdir(replaced, { mode: 0o700 });
      for (const name of earlier) await rename(join(path, name), join(replaced, name));
      for (const name of await readdir(aside).catch(() => []))
        await rename(join(aside, name), join(path, name));
      await rm(aside, { recursive: true, force: true });
      const [known] = rows;
      if (known !== undefined) {
        const file = join(path, markerName);
        await git.writeFile(file, '');
        await writeFile(file, `${known.marker}\n`);
      }
      return earlier.length > 0 ? replaced : undefined;
    },
  };
}
