/** Branches, tags and commits that a request names. */
import { nearestName } from '@headgate/contract';
import { type Problem, problem } from '../../kernel/http/problems.ts';
import type { GitRepository, Ref } from '../git/index.ts';

export const branchPrefix = 'refs/heads/';
const tagPrefix = 'refs/tags/';

interface Opened {
  content: GitRepository;
  defaultBranch: string | null;
}

/** Without the prefix, sorted by name. */
async function listNamed({ content }: Opened, prefix: string): Promise<Ref[]> {
  const refs = await content.listRefs([prefix]);
  return refs.map((ref) => ({ ...ref, name: ref.name.slice(prefix.length) }));
}

/** Without refs/heads/, sorted by name. */
export const listBranchRefs = (opened: Opened): Promise<Ref[]> => listNamed(opened, branchPrefix);

export async function findHead({ content }: Opened, branch: string): Promise<string | undefined> {
  return content.findCommitId(branchPrefix + branch);
}

/** The branch that the caller most likely means: `main` for `mian`, and for `origin/main`. */
export async function findNearestBranch(opened: Opened, name: string): Promise<string | undefined> {
  return findNearest(opened, branchPrefix, name);
}

async function findNearest(opened: Opened, prefix: string, name: string): Promise<string | undefined> {
  const names = new Set((await listNamed(opened, prefix)).map((ref) => ref.name));
  const parts = name.split('/');
  const ends = parts.slice(1).map((_, index) => parts.slice(index + 1).join('/'));
  return ends.find((end) => names.has(end)) ?? nearestName(name, names);
}

type NotFound = (about: { name: string; nearest: string | undefined }) => Problem;
const revisionNotFound: NotFound = (about) => problem('revision-not-found', about);

async function refuse(opened: Opened, name: string, notFound: NotFound, prefix = branchPrefix) {
  return notFound({ name, nearest: await findNearest(opened, prefix, name) });
}

/** The commit of a branch or tag, or with a commit's id that one of them contains. @throws `notFound` */
export async function requireRevision(
  opened: Opened,
  name: string,
  notFound: NotFound = revisionNotFound,
): Promise<string> {
  const found = await opened.content.findCommitId(name);
  // What was removed from all branches and tags is kept for a while, but not shown (docs/adr/0068).
  const isById = /^[0-9a-f]{4,40}$/.test(name);
  if (found !== undefined && (!isById || (await opened.content.isReachable(found)))) return found;
  throw await refuse(opened, name, notFound);
}

/** @throws `notFound` */
export async function requireHead(
  opened: Opened,
  branch: string,
  notFound: NotFound = revisionNotFound,
): Promise<string> {
  const found = await findHead(opened, branch);
  if (found === undefined) throw await refuse(opened, branch, notFound);
  return found;
}

/** The commit of a tag. @throws `notFound` */
export async function requireTag(opened: Opened, tag: string, notFound: NotFound): Promise<string> {
  const found = await opened.content.findCommitId(tagPrefix + tag);
  if (found === undefined) throw await refuse(opened, tag, notFound, tagPrefix);
  return found;
}

/**
 * The commit that a request asks about, by default the head of the default branch. Undefined if the repository
 * has no branch yet and the request names none.
 * @throws `revision-not-found`
 */
export async function findAskedCommit(
  opened: Opened,
  { branch, commit }: { branch?: string | undefined; commit?: string | undefined },
): Promise<string | undefined> {
  if (commit !== undefined) {
    const found = await requireRevision(opened, commit);
    if (branch !== undefined && !(await opened.content.isAncestor(found, await requireHead(opened, branch))))
      throw revisionNotFound({ name: `${commit} of ${branch}`, nearest: undefined });
    return found;
  }
  if (branch !== undefined) return requireHead(opened, branch);
  const head = opened.defaultBranch === null ? undefined : await findHead(opened, opened.defaultBranch);
  if (head !== undefined) return head;
  const [first] = await listBranchRefs(opened);
  if (first === undefined) return undefined;
  throw await refuse(opened, opened.defaultBranch ?? 'HEAD', revisionNotFound);
}
