/** Branches and commits that a request names. */
import { nearestName } from '@headgate/contract';
import { type Problem, problem } from '../../kernel/http/problems.ts';
import type { Ref } from '../git/index.ts';
import type { OpenedRepository } from './repository-use.ts';

export const branchPrefix = 'refs/heads/';

/** Without refs/heads/, sorted by name. */
export async function listBranchRefs({ content }: OpenedRepository): Promise<Ref[]> {
  const refs = await content.listRefs([branchPrefix]);
  return refs.map((ref) => ({ ...ref, name: ref.name.slice(branchPrefix.length) }));
}

export async function findHead(opened: OpenedRepository, branch: string): Promise<string | undefined> {
  return opened.content.findCommitId(branchPrefix + branch);
}

type NotFound = (about: { name: string; nearest: string | undefined }) => Problem;
const revisionNotFound: NotFound = (about) => problem('revision-not-found', about);

async function refuse(opened: OpenedRepository, name: string, notFound: NotFound): Promise<never> {
  const names = (await listBranchRefs(opened)).map((ref) => ref.name);
  throw notFound({ name, nearest: nearestName(name, names) });
}

/** The commit of a branch or tag, or with a commit's id. @throws `notFound` */
export async function requireRevision(
  opened: OpenedRepository,
  name: string,
  notFound: NotFound = revisionNotFound,
): Promise<string> {
  return (await opened.content.findCommitId(name)) ?? refuse(opened, name, notFound);
}

/** @throws `notFound` */
export async function requireHead(
  opened: OpenedRepository,
  branch: string,
  notFound: NotFound = revisionNotFound,
): Promise<string> {
  return (await findHead(opened, branch)) ?? refuse(opened, branch, notFound);
}

/**
 * The commit that a request asks about, by default the head of the default branch. Undefined if the repository
 * has no branch yet and the request names none.
 * @throws `revision-not-found`
 */
export async function findAskedCommit(
  opened: OpenedRepository,
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
  return refuse(opened, opened.defaultBranch ?? 'HEAD', revisionNotFound);
}
