/** Which changes of a push are refused, and why. */
import { findRefNameFault, type GitRepository, type Ref } from '../git/index.ts';
import type { RefChange } from './hosted.store.ts';

/** Branches and tags of one repository. */
export const mostRefs = 10_000;

export interface JudgedChange extends RefChange {
  /** Undefined: it may be made. */
  refusal?: string;
}

export interface BranchRules {
  defaultBranch: string | null;
  /** Null: only the default branch is protected. */
  protectedBranches: readonly string[] | null;
}

/** The default branch, unless the repository says otherwise. */
export function listProtected({ defaultBranch, protectedBranches }: BranchRules): readonly string[] {
  return protectedBranches ?? (defaultBranch === null ? [] : [defaultBranch]);
}

export function isProtected(rules: BranchRules, name: string): boolean {
  return name.startsWith('refs/heads/') && listProtected(rules).includes(name.slice('refs/heads/'.length));
}

/** What can be judged before the pack is read. */
export function judgeNames(
  changes: readonly RefChange[],
  present: readonly Ref[],
  rules: BranchRules,
): JudgedChange[] {
  const found = new Map(present.map(({ name, objectId }) => [name, objectId]));
  const seen = new Set<string>();
  let refs = present.length;
  return changes.map((change) => {
    const refusal = judgeName(change, { found, seen, refs }, rules);
    seen.add(change.name);
    if (refusal === undefined && change.from === null) refs += 1;
    return refusal === undefined ? change : { ...change, refusal };
  });
}

function judgeName(
  { name, from, to }: RefChange,
  { found, seen, refs }: { found: ReadonlyMap<string, string>; seen: ReadonlySet<string>; refs: number },
  rules: BranchRules,
): string | undefined {
  if (!/^refs\/(heads|tags)\//.test(name)) return 'only branches and tags can be pushed';
  const fault = findRefNameFault(name);
  if (fault !== undefined) return `not a valid name: ${fault}`;
  if (seen.has(name)) return 'the push names it twice';
  if (from === null && to === null) return 'it does not exist';
  const at = found.get(name) ?? null;
  if (at !== from)
    return at === null ? 'it does not exist any more; fetch first' : 'it was changed meanwhile; fetch first';
  if (to === null && isProtected(rules, name)) return 'protected branch: it cannot be deleted';
  if (from === null && refs >= mostRefs)
    return `the repository has ${mostRefs} branches and tags, which is the most`;
  return undefined;
}

/** What needs the objects of the pack: `repository` sees them. */
export async function judgeObjects(
  changes: readonly JudgedChange[],
  repository: GitRepository,
  rules: BranchRules,
): Promise<JudgedChange[]> {
  const types = await repository.readTypes(changes.flatMap(({ to }) => (to === null ? [] : [to])));
  const judged: JudgedChange[] = [];
  for (const change of changes) {
    const refusal = change.refusal ?? (await judgeObject(change, types, repository, rules));
    judged.push(refusal === undefined ? change : { ...change, refusal });
  }
  return judged;
}

async function judgeObject(
  { name, from, to }: JudgedChange,
  types: ReadonlyMap<string, string>,
  repository: GitRepository,
  rules: BranchRules,
): Promise<string | undefined> {
  if (to === null) return undefined;
  const type = types.get(to);
  if (type === undefined) return 'missing necessary objects';
  if (name.startsWith('refs/heads/') && type !== 'commit')
    return `a branch must name a commit, not a ${type}`;
  if (from === null || !isProtected(rules, name)) return undefined;
  if (await repository.isAncestor(from, to)) return undefined;
  return 'protected branch: only fast-forward pushes; pull first';
}
