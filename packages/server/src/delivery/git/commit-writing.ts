/** Writes commits, and moves refs. */
import { createHash, randomUUID } from 'node:crypto';
import { createInterface } from 'node:readline';
import type { Writable } from 'node:stream';
import { problem } from '../../kernel/http/problems.ts';
import type { Git, GitCall } from './git.ts';
import { strictOption } from './git-environment.ts';
import type { CommitWrite, FileWrite, WrittenCommit } from './git-repository.ts';
import { type IncomingObjects, makeIncomingObjects } from './incoming-objects.ts';
import { measureObjects } from './object-sizes.ts';

const noObject = '0'.repeat(40);
/** Nothing is written to it: the name that `git fast-import` needs. */
const unwritten = 'refs/headgate/commit';

/** A pack, not loose objects: packs are measured, and joined when there are many. */
const intoPack = ['-c', 'fastimport.unpackLimit=0'];

/** Writes a commit to which nothing points yet. Its objects become part of the repository when they were checked. */
export async function writeCommitObject(
  git: Git,
  call: GitCall,
  write: Omit<CommitWrite, 'branch'>,
  mostBytes?: number,
): Promise<WrittenCommit> {
  const incoming = await makeIncomingObjects(git, call.folder, randomUUID());
  try {
    const apart = { ...call, environment: { ...call.environment, ...incoming.environment } };
    const [written, present] = await Promise.all([
      importCommit(git, apart, write),
      mostBytes === undefined ? 0 : measureObjects(git, call),
    ]);
    if (!written.isChange) return written;
    // `fast-import` leaves out what any pack has, also one that no ref needs and the next repack drops.
    const parents = write.expectedHead === null ? [] : [write.expectedHead];
    await incoming.packWhole([written.commitId], parents, apart);
    if (mostBytes !== undefined && present + (await incoming.measure()) > mostBytes)
      throw problem('repository-too-large', {
        reason: `with this commit it would have more than ${Math.floor(mostBytes / 1_048_576)} MB.`,
      });
    await checkCommitObjects(git, apart, incoming, write.files);
    await incoming.release();
    return written;
  } finally {
    await incoming.remove();
  }
}

/** One process of git, which is asked for the modes of existing files, and then given the commit. */
async function importCommit(
  git: Git,
  call: GitCall,
  { expectedHead, files, message, author, at }: Omit<CommitWrite, 'branch'>,
): Promise<WrittenCommit> {
  const args = [...intoPack, 'fast-import', '--quiet', '--done', '--date-format=raw'];
  const importing = await git.spawn(args, call);
  const { stdin, stdout } = importing;
  const lines = createInterface({ input: stdout })[Symbol.asyncIterator]();
  const readLine = async () => {
    const next = await lines.next();
    if (next.done !== true) return next.value;
    const { stderr } = await importing.ended;
    throw problem('git-failed', { command: 'fast-import', words: stderr || 'it ended too early' });
  };
  try {
    const unknownModes =
      expectedHead === null ? [] : files.filter(({ executable }) => executable === undefined);
    for (const { path } of unknownModes) stdin.write(`ls ${expectedHead} ${quote(path)}\n`);
    const executables = new Set<string>();
    for (const { path } of unknownModes) if ((await readLine()).startsWith('100755 ')) executables.add(path);

    const person = `${cleanName(author.name)} <${cleanName(author.email)}> ${Math.floor(at.getTime() / 1_000)} +0000`;
    stdin.write(`commit ${unwritten}\nmark :1\nauthor ${person}\ncommitter ${person}\n`);
    writeData(stdin, Buffer.from(message.endsWith('\n') ? message : `${message}\n`));
    if (expectedHead !== null) stdin.write(`from ${expectedHead}\n`);
    for (const file of files) writeFile(stdin, file, executables.has(file.path));
    stdin.end(
      `\nget-mark :1\nls :1 ""\n${expectedHead === null ? '' : `ls ${expectedHead} ""\n`}reset ${unwritten}\ndone\n`,
    );
    const [commitId, tree] = [await readLine(), await readLine()];
    const isChange = expectedHead === null || tree !== (await readLine());
    const { code, stderr } = await importing.ended;
    if (code !== 0) throw problem('git-failed', { command: 'fast-import', words: stderr });
    return { commitId, isChange };
  } finally {
    importing.kill();
  }
}

function writeFile(stdin: Writable, { path, content, executable }: FileWrite, wasExecutable: boolean): void {
  if (content === undefined) {
    stdin.write(`D ${quote(path)}\n`);
    return;
  }
  stdin.write(`M ${(executable ?? wasExecutable) ? '100755' : '100644'} inline ${quote(path)}\n`);
  writeData(stdin, content);
}

function writeData(stdin: Writable, content: Uint8Array): void {
  stdin.write(`data ${content.length}\n`);
  stdin.write(content);
  stdin.write('\n');
}

/** Git reads a quoted path as a string of C. */
function quote(path: string): string {
  return `"${path.replaceAll(/["\\]/g, '\\$&').replaceAll('\n', '\\n')}"`;
}

/** Git ends a name at these characters, and refuses one of nothing else. */
function cleanName(name: string): string {
  return name.replaceAll(/[\p{Cc}<>]/gu, '').trim() || 'unknown';
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

/**
 * Checks the objects of a commit as those of a push: an ordinary git must be able to clone what was written.
 *
 * @throws `invalid-repository-file`
 */
async function checkCommitObjects(
  git: Git,
  call: GitCall,
  incoming: IncomingObjects,
  files: readonly FileWrite[],
): Promise<void> {
  for (const pack of await incoming.listPacks()) {
    const { code, stderr } = await git.run(['index-pack', '--verify', strictOption, pack], call);
    if (code !== 0) throw explainRefusal(stderr, files);
  }
}

/** `error: object <id>: <rule>: <words>` */
function explainRefusal(stderr: string, files: readonly FileWrite[]) {
  const [, objectId, words] = /object ([0-9a-f]{40}): (.+)$/m.exec(stderr) ?? [];
  if (objectId === undefined || words === undefined)
    return problem('git-failed', { command: 'index-pack', words: stderr });
  const path = files.find(({ content }) => content !== undefined && hashBlob(content) === objectId)?.path;
  // A tree has no path of its own, and the file may be one of an earlier commit.
  const named = path ?? (words.startsWith('gitmodules') ? '.gitmodules' : (files[0]?.path ?? ''));
  return problem('invalid-repository-file', { path: named, reason: `Git refuses it: ${words}.` });
}

const hashBlob = (content: Uint8Array) =>
  createHash('sha1').update(`blob ${content.length}\0`).update(content).digest('hex');
