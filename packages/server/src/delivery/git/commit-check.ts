/** Checks the objects of a commit as those of a push: an ordinary git must be able to clone what was written. */
import { createHash } from 'node:crypto';
import { problem } from '../../kernel/http/problems.ts';
import type { Git, GitCall } from './git.ts';
import { strictOption } from './git-environment.ts';
import type { FileWrite } from './git-repository.ts';
import type { IncomingObjects } from './incoming-objects.ts';

/** @throws `invalid-repository-file` */
export async function checkCommitObjects(
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
