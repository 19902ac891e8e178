/**
 * The tool that commits the edits of a task: to its branch, or as a proposal in a project without a repository.
 * A call that is made again after a crash finds what it did before.
 */
import { createBranch, createCommit, type FileOfCommit } from '@headgate/contract';
import { Type } from 'typebox';
import type { GitRepository } from '../../delivery/git/index.ts';
import { askAboutCommit, digestShown, findBranch, nameBranch, requireEdits } from './commit-question.ts';
import { declareTool, object, quote, type ToolServices } from './declared-tool.ts';
import { toCaller } from './tool/actors.ts';
import { Refused } from './tool/platform.ts';
import type { Tool, ToolContext } from './tool/tool.ts';
import { ToolFault } from './tool/tool-fault.ts';
import {
  type CopyRow,
  proposeEdits,
  removeWorkingEdits,
  storeBranch,
  storeCommit,
} from './working-copy.store.ts';
import { changeCopy, openCopy, requireOpen, type WorkingCopy } from './working-copy.ts';

const mostNames = 50;

export function createCommitTool(services: ToolServices): Tool {
  return declareTool({
    name: 'commit',
    description:
      'Commit all edits of this task with a message, to the branch of the task. A person can then merge them.',
    input: object({ message: Type.String({ minLength: 1, maxLength: 5_000 }) }),
    asks: async ({ message }, context) => askAboutCommit(await openCopy(services, context), context, message),
    async run(context, { message }) {
      const copy = await openCopy(services, context);
      const { row } = copy;
      if (row.committed_by_call === context.callId) return describeCommit(row, row.commit_id);
      requireEdits(copy);
      if (context.shownDigest !== undefined && context.shownDigest !== digestShown(copy, context))
        throw new ToolFault(
          'the edits or the branch have changed since a person allowed this: call commit again',
        );
      await requireOpen(services.database.read, row, context.now);
      if (row.source_branch === null) return propose(services, context, copy, message);
      const branch = findBranch(copy) ?? (await makeBranch(services, context, copy));
      const commitId = await commitEdits(services, context, copy, { branch, message });
      await changeCopy(services, context, copy, async (tx) => {
        storeCommit(tx, context.task, { commitId, message, callId: context.callId }, context.now);
        removeWorkingEdits(tx, context.task);
      });
      return describeCommit({ ...row, branch }, commitId);
    },
  });
}

const proposed = 'The edits are a proposal now. A person can publish them by merging the task.';

function describeCommit({ source_branch: source, branch }: CopyRow, commitId: string | null): string {
  if (commitId === null) return proposed;
  const done = `Committed ${commitId.slice(0, 12)} to the branch ${quote(branch ?? '')}.`;
  return branch === source
    ? `${done} It is the source branch, so there is nothing to merge.`
    : `${done} A person can merge it into ${quote(source ?? '')}.`;
}

async function propose(
  services: ToolServices,
  context: ToolContext,
  copy: WorkingCopy,
  message: string,
): Promise<string> {
  await changeCopy(services, context, copy, async (tx) => {
    proposeEdits(tx, context.task);
    storeCommit(tx, context.task, { commitId: null, message, callId: context.callId }, context.now);
  });
  return proposed;
}

/** Makes the branch of the task under the first free name. */
async function makeBranch(services: ToolServices, context: ToolContext, copy: WorkingCopy): Promise<string> {
  const { row } = copy;
  const baseName = nameBranch(context.task);
  for (let number = 1; number <= mostNames; number += 1) {
    const branch = number === 1 ? baseName : `${baseName}-${number}`;
    const store = (isMade: boolean) =>
      changeCopy(services, context, copy, async (tx) =>
        storeBranch(tx, context.task, { branch, callId: context.callId, isMade }, context.now),
      );
    await store(false);
    try {
      await services.platform.call(
        createBranch,
        toCaller(context),
        {
          params: { projectId: context.task.projectId },
          body: { name: branch, ...(row.start_commit === null ? {} : { from: row.start_commit }) },
        },
        `${context.callId}-${number}`,
      );
    } catch (failure) {
      if (!(failure instanceof Refused) || failure.code !== 'branch-exists') throw failure;
      // The server may have died after it made the branch.
      if (row.branch_call !== context.callId || row.branch !== branch) continue;
    }
    await store(true);
    return branch;
  }
  throw new ToolFault(
    `the repository has ${mostNames} branches with names like ${quote(baseName)}: delete some`,
  );
}

async function commitEdits(
  services: ToolServices,
  context: ToolContext,
  copy: WorkingCopy,
  { branch, message }: { branch: string; message: string },
): Promise<string> {
  const { row } = copy;
  const expectedHead = row.commit_id ?? row.start_commit;
  try {
    const { commitId } = await services.platform.call(
      createCommit,
      toCaller(context),
      {
        params: { projectId: context.task.projectId },
        body: {
          branch,
          message,
          files: listCommitted(copy),
          ...(expectedHead === null ? {} : { expectedHead }),
        },
      },
      context.callId,
    );
    return commitId;
  } catch (failure) {
    if (!(failure instanceof Refused) || failure.code !== 'branch-has-moved') throw failure;
    const made = await findOwnCommit(services, copy, { branch, message, expectedHead });
    if (made === undefined) throw failure;
    return made;
  }
}

function listCommitted({ edits, uncommitted }: WorkingCopy): FileOfCommit[] {
  return [...edits]
    .filter(([path]) => uncommitted.has(path))
    .map(([path, content]) => (content === null ? { path, delete: true } : { path, content }));
}

/** The server may have died after it moved the branch, and before it stored the answer under the key. */
async function findOwnCommit(
  services: ToolServices,
  { row, edits, uncommitted }: WorkingCopy,
  { branch, message, expectedHead }: { branch: string; message: string; expectedHead: string | null },
): Promise<string | undefined> {
  const place = { accountId: row.account_id, projectId: row.project_id };
  return services.repositories.withRepository(place, async ({ content }) => {
    const head = await content.findCommitId(`refs/heads/${branch}`);
    const commit = head === undefined ? undefined : await content.readCommit(head);
    if (commit === undefined || commit.message.trim() !== message.trim()) return undefined;
    if ((commit.parentIds[0] ?? null) !== expectedHead) return undefined;
    for (const path of uncommitted)
      if ((await readText(content, commit.commitId, path)) !== (edits.get(path) ?? undefined))
        return undefined;
    return commit.commitId;
  });
}

const mostBytes = 16 * 1_048_576;

async function readText(content: GitRepository, commitId: string, path: string): Promise<string | undefined> {
  const entry = await content.findEntry(commitId, path);
  if (entry === undefined) return undefined;
  for await (const bytes of content.readBlobs([entry.objectId], mostBytes)) return bytes.toString('utf8');
  return undefined;
}
