/**
 * The checks before anything is changed: both repositories can be reached, the credential may push, and the
 * refs of both permit the migration.
 */
import type { MigrationMode } from '@headgate/contract';
import type { ProviderCall, ProviderFinding, RepositoryDescription } from '../../git-providers/index.ts';
import {
  fetchRefs,
  isAncestor,
  listRemoteRefs,
  listRootNames,
  type Place,
  pushDry,
  type Reached,
  readRawCommit,
} from './git-calls.ts';
import { MigrationFailed } from './migration-failure.ts';
import {
  type Finding,
  judgeMirror,
  judgeReconfigure,
  listMovedBranches,
  note,
  type RefsOfBoth,
} from './ref-rules.ts';
import { isBranch, type RemoteRefs } from './remote-refs.ts';

export interface PreflightPlan {
  mode: MigrationMode;
  overwrite: boolean;
  isResumed: boolean;
  isContinued: boolean;
  mostRefs: number;
}

export interface PreflightHosts {
  /** For temporary objects. */
  place: Place;
  listSource: () => Promise<RemoteRefs>;
  /** Makes commits of the source readable in `place`. */
  readSource: () => Promise<void>;
  target: Reached;
  /** The interface of the target's provider, if there is a credential for it. */
  provider: ProviderCall | undefined;
}

export interface Preflight {
  findings: readonly (Finding | ProviderNote)[];
  refs: Partial<RefsOfBoth>;
  /** All that the target has is a commit of its host, which may be replaced. */
  replaceable: ReadonlyMap<string, string>;
}

type ProviderNote = Omit<Finding, 'code'> & { code: string };

/** Findings of a provider that stop a push of all branches. The others may not matter for this one. */
const stoppingCodes = new Set<ProviderFinding['code']>([
  'repository-not-found',
  'repository-archived',
  'token-rejected',
  'token-expired',
  'token-reused',
  'role-too-low',
  'force-push-forbidden',
  'protected-branch',
  'quota-exceeded',
]);

/** Never throws for what the hosts answer: that is a finding. */
export async function checkBefore(plan: PreflightPlan, hosts: PreflightHosts): Promise<Preflight> {
  const findings: (Finding | ProviderNote)[] = [];
  const collect = async <Result>(work: Promise<Result>): Promise<Result | undefined> => {
    try {
      return await work;
    } catch (failure) {
      if (!(failure instanceof MigrationFailed)) throw failure;
      findings.push({ level: 'error', code: failure.code, message: failure.message });
      return undefined;
    }
  };
  const { place, target, provider } = hosts;
  const dryPush = plan.mode === 'MIRROR_PUSH' ? pushDry(place, target).then(() => true) : undefined;
  const [source, there, description] = await Promise.all([
    collect(hosts.listSource()),
    collect(listRemoteRefs(place, target, plan.mostRefs)),
    provider === undefined ? undefined : target.provider.describeRepository(provider),
    Promise.allSettled([dryPush]),
  ]);
  // Where the target cannot even be listed, that is the finding.
  const letsPush = dryPush !== undefined && there !== undefined && (await collect(dryPush));
  const hasOwnCommit =
    there === undefined || plan.overwrite
      ? undefined
      : await collect(findInitialCommit(place, target, there, description));
  const replaceable = hasOwnCommit === true ? new Map(there?.refs) : new Map<string, string>();
  findings.push(...readProviderFindings(plan, description, replaceable.size > 0, there));
  const refs = { ...(source && { source }), ...(there && { target: there }) };
  if (source !== undefined && there !== undefined) {
    const both = { source, target: there };
    if (plan.mode === 'MIRROR_PUSH')
      findings.push(...judgeMirror({ ...both, ...plan, hasInitialCommitOnly: replaceable.size > 0 }));
    else findings.push(...(await judgeTarget(hosts, both)));
  }
  if (letsPush && provider === undefined)
    findings.push(
      note(
        'The target lets a push begin. Its rules of branches and hooks could not be checked, because there is no credential for the interface of its provider.',
      ),
    );
  return { findings: dropRepeated(findings), refs, replaceable };
}

/** What the provider and git say of the same fault is one finding. */
function dropRepeated<Each extends { level: string; code: string }>(findings: readonly Each[]): Each[] {
  return findings.filter(
    (each, at) =>
      each.code === 'note' ||
      findings.findIndex((other) => other.code === each.code && other.level === each.level) === at ||
      each.code === 'protected-branch' ||
      each.code === 'force-push-forbidden',
  );
}

function readProviderFindings(
  { mode, overwrite }: PreflightPlan,
  description: RepositoryDescription | undefined,
  isReplaced: boolean,
  target: RemoteRefs | undefined,
): ProviderNote[] {
  const listed = (description?.findings ?? []).filter(({ code }) => code !== 'repository-not-empty');
  // What git itself could do counts more than an interface that does not know the repository.
  if (description?.canRead === false && target !== undefined && !description.isArchived)
    return listed.map(({ code, detail, remedy }) => {
      const message = `Git reaches the target, but its rules and rights could not be read from the provider. ${detail} ${remedy}`;
      return { level: 'info', code, message };
    });
  // Nothing is forced into an empty repository.
  const needsForce = overwrite || isReplaced || (target?.refs.size ?? 0) > 0;
  return listed.map(({ code, detail, remedy }) => {
    const matters = code === 'force-push-forbidden' ? needsForce : stoppingCodes.has(code);
    const level = matters && mode === 'MIRROR_PUSH' ? 'error' : 'warning';
    return { level, code, message: `The target: ${detail} ${remedy}` };
  });
}

/** Names that hosts put into the first commit of a new repository. */
const initialNames =
  /^(readme|license|licence|copying|contributing|changelog)(\.\w+)*$|^\.git(ignore|attributes)$/i;

/**
 * Whether all that the target has is one branch with one commit that the host itself made. The provider
 * says it, or the commit has no parents and nothing but a README, a license and the like.
 */
async function findInitialCommit(
  place: Place,
  target: Reached,
  { refs }: RemoteRefs,
  description: RepositoryDescription | undefined,
): Promise<boolean> {
  const [only] = refs;
  if (refs.size !== 1 || only === undefined || !isBranch(only[0])) return false;
  if (description?.canRead) return description.isEmptyOrInitialCommit;
  const [, id] = only;
  await fetchRefs(place, target, ['+refs/heads/*:refs/headgate/target/*'], ['--depth=1']);
  const commit = await readRawCommit(place, id);
  if (commit === undefined || /^parent /m.test(commit.split('\n\n', 1)[0] ?? '')) return false;
  const names = await listRootNames(place, id);
  return names.length > 0 && names.every((name) => initialNames.test(name));
}

async function judgeTarget(hosts: PreflightHosts, both: RefsOfBoth): Promise<Finding[]> {
  try {
    return judgeReconfigure(both, await findDiverged(hosts, both));
  } catch (failure) {
    if (!(failure instanceof MigrationFailed)) throw failure;
    const unknown = `Whether the target has all commits could not be found out. ${failure.message}`;
    return [...judgeReconfigure(both, []), note(unknown, 'warning')];
  }
}

/** Branches whose commit in the target is neither that of the source nor a descendant of it. */
async function findDiverged(hosts: PreflightHosts, both: RefsOfBoth): Promise<string[]> {
  const moved = listMovedBranches(both);
  if (moved.length === 0) return [];
  await hosts.readSource();
  const refspecs = ['+refs/heads/*:refs/headgate/target/*'];
  await fetchRefs(hosts.place, hosts.target, refspecs, []);
  const diverged: string[] = [];
  for (const name of moved) {
    const [here, there] = [both.source.refs.get(name), both.target.refs.get(name)];
    if (here === undefined || there === undefined) continue;
    if (!(await isAncestor(hosts.place, here, there))) diverged.push(name);
  }
  return diverged;
}
