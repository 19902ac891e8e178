/** What people are asked before a commit: its branch and its files. */
import { createHash } from 'node:crypto';
import { quote } from './declared-tool.ts';
import type { Question, ToolContext } from './tool/tool.ts';
import { ToolFault } from './tool/tool-fault.ts';
import type { WorkingCopy } from './working-copy.ts';

const shownFiles = 100;

export function askAboutCommit(copy: WorkingCopy, context: ToolContext, message: string): Question {
  const { task } = context;
  requireEdits(copy);
  const bases = new Set(copy.baseFiles.map(({ path }) => path));
  const paths = [...copy.uncommitted].sort();
  const lines = paths.slice(0, shownFiles).map((path) => {
    const change = copy.edits.get(path) === null ? 'deletes' : bases.has(path) ? 'changes' : 'adds';
    return `- ${change} ${quote(path)}`;
  });
  if (paths.length > lines.length) lines.push(`- and ${paths.length - lines.length} more`);
  const { environmentName } = task;
  const where = copy.row.source_branch === null ? describeProposal(copy) : describeBranch(copy, task);
  const environment =
    environmentName === undefined
      ? 'The task has no environment.'
      : `The environment of the task is ${quote(environmentName)}.`;
  return {
    title: 'Commit the changes',
    body: `Commits with the message ${quote(message)} ${where}. ${environment}\n${lines.join('\n')}`,
    shownDigest: digestShown(copy, context),
  };
}

/** @throws ToolFault if there are no edits */
export function requireEdits({ uncommitted }: WorkingCopy): void {
  if (uncommitted.size === 0) throw new ToolFault('there are no edits to commit');
}

/** Of what a commit would hold, and where it goes. A call that is made again has the digest of its first time. */
export function digestShown(copy: WorkingCopy, { task, callId }: ToolContext): string {
  const edits = [...copy.uncommitted].sort().map((path) => [path, copy.edits.get(path)]);
  const isBranchOfCall = copy.row.branch_call === callId;
  const branch = isBranchOfCall ? describeNewBranch(task) : describeBranch(copy, task);
  const where = copy.row.source_branch === null ? '' : branch;
  return createHash('sha256')
    .update(JSON.stringify([where, edits]))
    .digest('base64');
}

/** What the branch of the task is called, if no branch has the name yet. */
export function nameBranch({ taskId, targetBranchName }: ToolContext['task']): string {
  // The end of the id, because tasks of the same minute begin alike.
  return targetBranchName ?? `ai/task-${taskId.slice(-12)}`;
}

/** Undefined if it must be made. */
export function findBranch({ row }: WorkingCopy): string | undefined {
  const { branch, branch_call: call, is_branch_made: isMade } = row;
  return branch !== null && (call === null || isMade === true) ? branch : undefined;
}

function describeBranch(copy: WorkingCopy, task: ToolContext['task']): string {
  const { source_branch: source, is_branch_made: isMade } = copy.row;
  const branch = findBranch(copy);
  if (branch === undefined) return describeNewBranch(task);
  if (isMade === true) return `to the branch ${quote(branch)} of this task`;
  const whose = branch === source ? 'the source branch' : 'the existing branch';
  return `to ${whose} ${quote(branch)}, which this task did not make: the commit is there at once, and a discard cannot take it back`;
}

function describeNewBranch(task: ToolContext['task']): string {
  return `to the new branch ${quote(nameBranch(task))}, or that name with a number if it is taken`;
}

function describeProposal({ row }: WorkingCopy): string {
  return `as a proposal for the environment ${quote(row.environment_name ?? '')}, which a person can publish`;
}
