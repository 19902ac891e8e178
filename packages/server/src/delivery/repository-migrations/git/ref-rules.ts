/** What the refs of source and target say about a migration. Nothing is read here. */
import type { MigrationFinding, MigrationMode } from '@headgate/contract';
import type { MigrationFailureCode } from './migration-failure.ts';
import { branchPrefix, isBranch, listBranches, nameSome, type RemoteRefs, showRef } from './remote-refs.ts';

/** A finding of level error that is of this module has one of the failure codes. */
export interface Finding extends MigrationFinding {
  code: MigrationFailureCode | 'note';
}

export interface RefsOfBoth {
  source: RemoteRefs;
  target: RemoteRefs;
}

export interface MirrorRules extends RefsOfBoth {
  overwrite: boolean;
  /** All that the target has is one branch with one commit that its host made. */
  hasInitialCommitOnly: boolean;
  /** An earlier server has begun to push, so refs of the target that equal those of the source are ours. */
  isResumed: boolean;
  /** An earlier migration to this target failed in its push, so the same holds. */
  isContinued: boolean;
}

export const note = (message: string, level: 'info' | 'warning' = 'info'): Finding => ({
  level,
  code: 'note',
  message,
});

export function judgeMirror(rules: MirrorRules): Finding[] {
  const { source, target, overwrite, hasInitialCommitOnly, isResumed } = rules;
  const mayBeOurs = isResumed || rules.isContinued;
  const findings = describeSource(source);
  const foreign = [...target.refs].filter(([name, id]) => !mayBeOurs || source.refs.get(name) !== id);
  if (foreign.length > 0 && !overwrite && !hasInitialCommitOnly)
    findings.push({
      level: 'error',
      code: isResumed ? 'target-changed' : 'target-not-empty',
      message: `The target is not empty: it has ${nameSome(foreign.map(([name]) => name))}. Use an empty repository, or start with ?overwrite=true to overwrite branches and tags of the same name.`,
    });
  const changed = foreign.filter(([name, id]) => source.refs.has(name) && source.refs.get(name) !== id);
  if (changed.length > 0 && (overwrite || hasInitialCommitOnly))
    findings.push(note(`Overwritten in the target: ${nameSome(changed.map(([name]) => name))}.`, 'warning'));
  const others = foreign.filter(([name]) => !source.refs.has(name));
  if (others.length > 0 && (overwrite || hasInitialCommitOnly))
    findings.push(
      note(`Kept in the target, and not in the source: ${nameSome(others.map(([name]) => name))}.`),
    );
  return findings;
}

/** @param differing branches whose commit in the target is neither the same nor a descendant */
export function judgeReconfigure({ source, target }: RefsOfBoth, differing: readonly string[]): Finding[] {
  const findings: Finding[] = [];
  const missing = listBranches(source).filter((name) => !target.refs.has(name));
  if (missing.length > 0)
    findings.push({
      level: 'error',
      code: 'missing-branches',
      message: `The target lacks ${missing.length === 1 ? 'the branch' : 'the branches'} ${nameSome(missing)}. RECONFIGURE copies nothing: push them to the target first, or use MIRROR_PUSH.`,
    });
  if (differing.length > 0)
    findings.push(
      note(
        `In the target these branches lack commits of the source: ${nameSome(differing)}. They were not copied.`,
        'warning',
      ),
    );
  return findings;
}

/** Branches in both, at different commits. */
export function listMovedBranches({ source, target }: RefsOfBoth): string[] {
  return listBranches(source).filter((name) => {
    const there = target.refs.get(name);
    return there !== undefined && there !== source.refs.get(name);
  });
}

function describeSource(source: RemoteRefs): Finding[] {
  const findings: Finding[] = [];
  if (source.refs.size === 0)
    findings.push(note('The source has no branches and tags; there is nothing to copy.', 'warning'));
  if (source.isDetached)
    findings.push(note('HEAD of the source names no branch; only branches and tags are copied.', 'warning'));
  return findings;
}

/** After a move the host, not the push, decides on its default branch. */
export function compareDefaultBranches(
  mode: MigrationMode,
  expected: string | undefined,
  target: RemoteRefs,
): Finding[] {
  if (expected === undefined || target.defaultBranch === expected || mode !== 'MIRROR_PUSH') return [];
  if (!target.refs.has(branchPrefix + expected)) return [];
  const there = target.defaultBranch === undefined ? 'no branch' : showRef(target.defaultBranch);
  return [
    note(
      `The default branch of the target is ${there}, that of the source is ${showRef(expected)}. Change it at the provider.`,
      'warning',
    ),
  ];
}

/** Refs of the source whose object in the target is another one, or missing. */
export function findUnverified(expected: ReadonlyMap<string, string>, target: RemoteRefs): string[] {
  return [...expected].filter(([name, id]) => target.refs.get(name) !== id).map(([name]) => name);
}

export function countRefs({ refs }: RemoteRefs): { branches: number; tags: number } {
  const branches = [...refs.keys()].filter(isBranch).length;
  return { branches, tags: refs.size - branches };
}
