/** Begins the working copy of a task. */
import { getRepositoryFile } from '@headgate/contract';
import { findRepository, type OpenedRepository } from '../../delivery/repositories/index.ts';
import { problem } from '../../kernel/http/problems.ts';
import type { CopyServices } from './copy-services.ts';
import { actForAll } from './tool/actors.ts';
import type { ToolContext } from './tool/tool.ts';
import { ToolFault } from './tool/tool-fault.ts';
import { type CopyRow, findCopy, insertCopy, type NewCopy, newestVersion } from './working-copy.store.ts';

/** @param last the copy before, which was merged or discarded */
export async function beginCopy(
  services: CopyServices,
  context: ToolContext,
  last: CopyRow | undefined,
): Promise<CopyRow> {
  const { accountId, projectId, taskId } = context.task;
  const place = { accountId, projectId };
  const repository = await findRepository(services.database.read, place);
  const begun =
    repository === undefined
      ? await beginOnVersion(services, context)
      : await services.repositories.withRepository(place, (opened) => beginOnBranch(opened, context, last));
  const copy: NewCopy = { account_id: accountId, task_id: taskId, project_id: projectId, ...begun };
  await services.database.transaction(async (tx) => insertCopy(tx, copy, context.now));
  const row = await findCopy(services.database.read, { accountId, taskId });
  if (row === undefined) throw new ToolFault('the task was deleted');
  return row;
}

type Begun = Omit<NewCopy, 'account_id' | 'task_id' | 'project_id'>;

const ofNoBranch = {
  source_branch: null,
  branch: null,
  is_branch_made: null,
  start_commit: null,
  commit_id: null,
};
const ofNoVersion = { environment_name: null, version_name: null, manifest_digest: null };

/** Throws `environment-not-found`. */
async function beginOnVersion(services: CopyServices, context: ToolContext): Promise<Begun> {
  const { environmentName } = context.task;
  if (environmentName === undefined)
    throw new ToolFault('the task has no environmentName, which a project without a repository needs');
  const acting = actForAll(services, getRepositoryFile, context);
  const found = await acting.rows(newestVersion, { environment_name: environmentName, version_name: null });
  const [row] = found;
  if (row === undefined) throw problem('environment-not-found', { name: environmentName });
  return { ...ofNoBranch, environment_name: environmentName, ...row };
}

/** Throws `revision-not-found`. */
async function beginOnBranch(
  opened: OpenedRepository,
  { task }: ToolContext,
  last: CopyRow | undefined,
): Promise<Begun> {
  const source = task.sourceBranchName ?? opened.defaultBranch;
  if (source === null) throw problem('revision-not-found', { name: 'HEAD', nearest: undefined });
  const head = await findHead(opened, source);
  const isEmpty = head === undefined && (await opened.content.listRefs(['refs/heads/'])).length === 0;
  if (head === undefined && !isEmpty)
    throw problem('revision-not-found', { name: source, nearest: undefined });
  const copy = { ...ofNoVersion, source_branch: source, commit_id: null, is_branch_made: false };
  const { generateBranch, targetBranchName: target } = task;
  if (generateBranch && !isEmpty) return { ...copy, branch: null, start_commit: head ?? null };
  if (target === undefined || target === source || isEmpty)
    return { ...copy, branch: source, start_commit: head ?? null };
  // The one that the task made is behind the source branch since its merge.
  if (last?.is_branch_made && isNamedAfter(last.branch, target))
    return { ...copy, branch: null, start_commit: head ?? null };
  // An existing branch is worked on as it is.
  const targetHead = await findHead(opened, target);
  return targetHead === undefined
    ? { ...copy, branch: null, start_commit: head ?? null }
    : { ...copy, branch: target, start_commit: targetHead };
}

/** `target`, or `target-2`. */
function isNamedAfter(branch: string | null, target: string): boolean {
  return branch === target || branch?.replace(/-\d+$/, '') === target;
}

function findHead({ content }: OpenedRepository, branch: string): Promise<string | undefined> {
  return content.findCommitId(`refs/heads/${branch}`);
}
