import type { Git, GitCall } from './git.ts';

/** Bytes on disk of all objects of a repository, packed or not, and of what failed calls have left. */
export async function measureObjects(git: Git, call: GitCall): Promise<number> {
  const { stdout } = await git.run(['count-objects', '-v'], call);
  const sizes = stdout.toString('latin1').matchAll(/^size[\w-]*: (\d+)$/gm);
  return [...sizes].reduce((sum, [, kibibytes]) => sum + Number(kibibytes) * 1_024, 0);
}
