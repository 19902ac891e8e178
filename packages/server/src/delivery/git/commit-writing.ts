/** Writes commits with a temporary index, and moves refs. */
import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { problem } from '../../kernel/http/problems.ts';
import type { Git, GitCall } from './git.ts';
import type { CommitWrite, FileWrite } from './git-repository.ts';
import { splitByNul } from './tree-reading.ts';

const noObject = '0'.repeat(40);

/** @returns the id of the commit, to which nothing points yet */
export async function writeCommitObject(
  git: Git,
  call: GitCall,
  { expectedHead, files, message, author, at }: Omit<CommitWrite, 'branch'>,
): Promise<string> {
  const scratch = await git.makeScratch();
  const environment = { ...call.environment, GIT_INDEX_FILE: join(scratch.folder, 'index') };
  const withIndex = { ...call, environment };
  try {
    const modes =
      expectedHead === null ? new Map<string, string>() : await readIndex(git, withIndex, expectedHead);
    const ids = await hashFiles(git, call, scratch.folder, files);
    const lines = files.map(({ path, executable }, index) => {
      const id = ids[index];
      if (id === undefined) return `0 ${noObject}\t${path}\0`;
      const kept = modes.get(path) === '100755';
      return `${(executable ?? kept) ? '100755' : '100644'} ${id}\t${path}\0`;
    });
    await runOrFail(git, ['update-index', '-z', '--index-info'], { ...withIndex, stdin: lines.join('') });
    const treeId = await runOrFail(git, ['write-tree'], withIndex);
    const date = `${Math.floor(at.getTime() / 1_000)} +0000`;
    const person = {
      GIT_AUTHOR_NAME: cleanName(author.name),
      GIT_AUTHOR_EMAIL: cleanName(author.email),
      GIT_AUTHOR_DATE: date,
      GIT_COMMITTER_NAME: cleanName(author.name),
      GIT_COMMITTER_EMAIL: cleanName(author.email),
      GIT_COMMITTER_DATE: date,
    };
    const parents = expectedHead === null ? [] : ['-p', expectedHead];
    const stdin = message.endsWith('\n') ? message : `${message}\n`;
    return await runOrFail(git, ['commit-tree', treeId, ...parents], {
      ...call,
      environment: { ...call.environment, ...person },
      stdin,
    });
  } finally {
    await scratch.remove();
  }
}

/** Git ends a name at these characters, and refuses one of nothing else. */
function cleanName(name: string): string {
  return name.replaceAll(/[\p{Cc}<>]/gu, '').trim() || 'unknown';
}

/** Reads a commit into the index. Returns the modes of its files. */
async function readIndex(git: Git, call: GitCall, commitId: string): Promise<Map<string, string>> {
  await runOrFail(git, ['read-tree', commitId], call);
  const { stdout } = await git.run(['ls-files', '-s', '-z'], call);
  const modes = new Map<string, string>();
  for (const line of splitByNul(stdout)) {
    const tab = line.indexOf(9);
    modes.set(line.subarray(tab + 1).toString('utf8'), line.subarray(0, 6).toString('latin1'));
  }
  return modes;
}

async function hashFiles(
  git: Git,
  call: GitCall,
  folder: string,
  files: readonly FileWrite[],
): Promise<(string | undefined)[]> {
  const paths: string[] = [];
  for (const [index, { content }] of files.entries()) {
    if (content === undefined) continue;
    const path = join(folder, `file-${index}`);
    // Only the user of git can enter the folder.
    await writeFile(path, content, { mode: 0o644 });
    paths.push(path);
  }
  if (paths.length === 0) return files.map(() => undefined);
  const stdin = paths.map((path) => `${path}\n`).join('');
  const ids = (
    await runOrFail(git, ['hash-object', '-w', '--no-filters', '--stdin-paths'], { ...call, stdin })
  ).split('\n');
  return files.map(({ content }) => (content === undefined ? undefined : ids.shift()));
}

async function runOrFail(git: Git, args: readonly string[], call: GitCall): Promise<string> {
  const { code, stdout, stderr } = await git.run(args, call);
  if (code !== 0) throw problem('git-failed', { command: args[0] ?? '', words: stderr });
  return stdout.toString('utf8').trim();
}

export interface RefMove {
  /** The full name. */
  name: string;
  /** Null: the ref is new. */
  from: string | null;
  /** Null: the ref is deleted. */
  to: string | null;
}

/** More refs than this are not written to disk one by one, but then packed into one file, which is. */
const manyMoves = 50;

/** Moves all refs or none. Returns git's words if it could not. */
export async function moveRefs(
  git: Git,
  call: GitCall,
  moves: readonly RefMove[],
): Promise<string | undefined> {
  const commands = moves.map(({ name, from, to }) => {
    if (to === null) return `delete ${name}\0${from ?? noObject}\0`;
    return `update ${name}\0${to}\0${from ?? noObject}\0`;
  });
  const isMany = moves.length > manyMoves;
  const unsynced = isMany ? ['-c', 'core.fsync=-reference'] : [];
  const { code, stderr } = await git.run([...unsynced, 'update-ref', '-z', '--stdin'], {
    ...call,
    stdin: commands.join(''),
  });
  if (code !== 0) return stderr || 'git update-ref failed';
  if (isMany) await git.run(['pack-refs', '--all', '--prune'], call);
  return undefined;
}
