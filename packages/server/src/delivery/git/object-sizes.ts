import type { Git, GitCall } from './git.ts';

/** More than these are joined. */
export const mostPacks = 50;

/** Bytes on disk of all objects of a repository, packed or not, and of what failed calls have left. */
export async function countObjects(git: Git, call: GitCall): Promise<{ bytes: number; packs: number }> {
  const { stdout } = await git.run(['count-objects', '-v'], call);
  const text = stdout.toString('latin1');
  const sizes = [...text.matchAll(/^size[\w-]*: (\d+)$/gm)];
  const bytes = sizes.reduce((sum, [, kibibytes]) => sum + Number(kibibytes) * 1_024, 0);
  return { bytes, packs: Number(/^packs: (\d+)$/m.exec(text)?.[1] ?? 0) };
}

/** The bytes of `countObjects`. */
export async function measureObjects(git: Git, call: GitCall): Promise<number> {
  return (await countObjects(git, call)).bytes;
}
