/** The tables `ai_working_copy` and `ai_edit`. */
import { selectChosenVersion } from '../../delivery/artifacts/index.ts';
import {
  type ColumnTypes,
  type ParametersOf,
  type Read,
  type RowOf,
  statement,
  type Transaction,
  typed,
} from '../../kernel/database/database.ts';
import { guardedRead } from '../../kernel/security/guarded-read.ts';
import { type HeldWork, holdWork, removeWork } from '../../kernel/work/server-work.ts';

export type CopyState = 'OPEN' | 'MERGED' | 'DISCARDED';

const copyTypes = {
  account_id: 'uuid',
  task_id: 'uuid',
  project_id: 'uuid',
  source_branch: 'text?',
  branch: 'text?',
  is_branch_made: 'boolean?',
  start_commit: 'text?',
  commit_id: 'text?',
  environment_name: 'text?',
  version_name: 'text?',
  manifest_digest: 'text?',
} as const satisfies ColumnTypes;
export const copyRow = {
  ...copyTypes,
  state: typed<CopyState>('text'),
  branch_call: 'uuid?',
  message: 'text?',
  committed_by_call: 'uuid?',
  /** Only servers of the release before 0109 set it, like `claimed_until`, to keep others from the copy. */
  claimed_by: 'uuid?',
  claimed_until: 'timestamptz?',
  mark_key: 'uuid',
} satisfies ColumnTypes;
export type CopyRow = RowOf<typeof copyRow>;
export type NewCopy = ParametersOf<typeof copyTypes>;

export interface CopyKey {
  accountId: string;
  taskId: string;
}

const key = { account_id: 'uuid', task_id: 'uuid' } as const;
const keyOf = ({ accountId, taskId }: CopyKey) => ({ account_id: accountId, task_id: taskId });

const columns = Object.keys(copyRow).join(', ');
const selectCopy = statement(
  { parameters: key, row: copyRow },
  `select ${columns} from ai_working_copy where account_id = $account_id and task_id = $task_id`,
);
const lockCopySql = statement(
  { parameters: key, row: copyRow },
  `select ${columns} from ai_working_copy where account_id = $account_id and task_id = $task_id for update`,
);

export async function findCopy(read: Read, task: CopyKey): Promise<CopyRow | undefined> {
  return (await read(selectCopy, keyOf(task)))[0];
}

export async function lockCopy(tx: Transaction, task: CopyKey): Promise<CopyRow | undefined> {
  return (await tx.query(lockCopySql, keyOf(task)))[0];
}

const insertOne = statement(
  { parameters: { ...copyTypes, now: 'timestamptz' } },
  `
  insert into ai_working_copy (account_id, task_id, project_id, state, source_branch, branch, is_branch_made,
    start_commit, commit_id, environment_name, version_name, manifest_digest, created_at, modified_at)
  values ($account_id, $task_id, $project_id, 'OPEN', $source_branch, $branch, $is_branch_made, $start_commit,
    $commit_id, $environment_name, $version_name, $manifest_digest, $now, $now)
  on conflict (account_id, task_id) do nothing`,
);

const deleteClosed = statement(
  { parameters: key },
  "delete from ai_working_copy where account_id = $account_id and task_id = $task_id and state <> 'OPEN'",
);

/** In the place of one that was merged or discarded. Does nothing if there is an open one. */
export function insertCopy(tx: Transaction, copy: NewCopy, now: Date): void {
  tx.send(deleteClosed, { account_id: copy.account_id, task_id: copy.task_id });
  tx.send(insertOne, { ...copy, now });
}

const updateBranch = statement(
  {
    parameters: {
      ...key,
      branch: 'text',
      branch_call: 'uuid',
      is_branch_made: 'boolean',
      now: 'timestamptz',
    },
  },
  `update ai_working_copy set branch = $branch, branch_call = $branch_call, is_branch_made = $is_branch_made,
    modified_at = $now
  where account_id = $account_id and task_id = $task_id`,
);

/** Also before the branch is made, so that the same call knows it again. */
export function storeBranch(
  tx: Transaction,
  task: CopyKey,
  { branch, callId, isMade }: { branch: string; callId: string; isMade: boolean },
  now: Date,
): void {
  tx.send(updateBranch, { ...keyOf(task), branch, branch_call: callId, is_branch_made: isMade, now });
}

const updateCommit = statement(
  {
    parameters: {
      ...key,
      commit_id: 'text?',
      message: 'text',
      committed_by_call: 'uuid',
      now: 'timestamptz',
    },
  },
  `update ai_working_copy set commit_id = $commit_id, message = $message, committed_by_call = $committed_by_call,
    modified_at = $now
  where account_id = $account_id and task_id = $task_id`,
);

export interface Committed {
  /** Null in a project without a repository. */
  commitId: string | null;
  message: string;
  callId: string;
}

export function storeCommit(tx: Transaction, task: CopyKey, committed: Committed, now: Date): void {
  const { commitId, message, callId } = committed;
  tx.send(updateCommit, { ...keyOf(task), commit_id: commitId, message, committed_by_call: callId, now });
}

const selectHold = statement(
  {
    parameters: { account_id: 'uuid', mark_key: 'uuid', now: 'timestamptz' },
    row: { is_held: 'boolean' },
  },
  `select exists (
    select from server_work where account_id = $account_id and work_id = $mark_key and lease_until > $now) as is_held`,
);

/** Whether a merge or discard holds the copy. Another transaction can hold it afterwards unless the copy is locked. */
export async function isCopyHeld(read: Read, row: CopyRow, now: Date): Promise<boolean> {
  const { account_id, mark_key, claimed_by: by, claimed_until: until } = row;
  if (by !== null && until !== null && new Date(until) > now) return true;
  const [hold] = await read(selectHold, { account_id, mark_key, now });
  return hold?.is_held === true;
}

const changesKind = 'ai-changes';

/** Nothing else changes a copy that is held. Lock it before. @returns undefined if something else holds it */
export async function holdCopy(
  tx: Transaction,
  row: CopyRow,
  lease: { now: Date; seconds: number },
): Promise<HeldWork | undefined> {
  if (await isCopyHeld(tx.query, row, lease.now)) return undefined;
  const { account_id, mark_key: work_id } = row;
  return holdWork(tx, { account_id, work_id, kind: changesKind }, lease);
}

const deleteEdits = statement(
  { parameters: key },
  'delete from ai_edit where account_id = $account_id and task_id = $task_id',
);
const close = statement(
  {
    parameters: { ...key, state: 'text', mark_key: 'uuid', now: 'timestamptz' },
  },
  `update ai_working_copy set state = $state, modified_at = $now
  where account_id = $account_id and task_id = $task_id and state = 'OPEN' and mark_key = $mark_key`,
);

/** Closes a copy that is held, with its edits. @throws LeaseLost */
export async function closeCopy(
  tx: Transaction,
  { account_id, task_id, mark_key }: CopyRow,
  held: HeldWork,
  { state, now }: { state: 'MERGED' | 'DISCARDED'; now: Date },
): Promise<void> {
  const copy = { account_id, task_id };
  tx.send(close, { ...copy, mark_key, state, now });
  tx.send(deleteEdits, copy);
  await removeWork(tx, held);
}

export type Stage = 'WORKING' | 'PROPOSED';

export interface Edit {
  stage: Stage;
  path: string;
  /** Null: the file is deleted. */
  content: string | null;
  /** The call that wrote it. */
  call_id: string | null;
}

const selectEdits = statement(
  { parameters: key, row: { stage: typed<Stage>('text'), path: 'text', content: 'text?', call_id: 'uuid?' } },
  `select stage, path, content, call_id from ai_edit where account_id = $account_id and task_id = $task_id
  order by stage, path collate "C"`,
);

/** Those that are committed first, so that later ones win. */
export async function listEdits(read: Read, task: CopyKey): Promise<Edit[]> {
  return read(selectEdits, keyOf(task));
}

const upsertEdit = statement(
  { parameters: { ...key, path: 'text', content: 'text?', call_id: 'uuid' } },
  `insert into ai_edit (account_id, task_id, stage, path, content, call_id)
  values ($account_id, $task_id, 'WORKING', $path, $content, $call_id)
  on conflict (account_id, task_id, stage, path) do update set content = excluded.content, call_id = excluded.call_id`,
);

export interface NewEdit {
  path: string;
  content: string | null;
  callId: string;
}

export function storeEdit(tx: Transaction, task: CopyKey, { path, content, callId }: NewEdit): void {
  tx.send(upsertEdit, { ...keyOf(task), path, content, call_id: callId });
}

const deleteWorking = statement(
  { parameters: key },
  `delete from ai_edit where account_id = $account_id and task_id = $task_id and stage = 'WORKING'`,
);
const proposeWorking = statement(
  { parameters: key },
  `insert into ai_edit (account_id, task_id, stage, path, content)
  select account_id, task_id, 'PROPOSED', path, content from ai_edit
  where account_id = $account_id and task_id = $task_id and stage = 'WORKING'
  on conflict (account_id, task_id, stage, path) do update set content = excluded.content`,
);

export function removeWorkingEdits(tx: Transaction, task: CopyKey): void {
  tx.send(deleteWorking, keyOf(task));
}

export function proposeEdits(tx: Transaction, task: CopyKey): void {
  tx.send(proposeWorking, keyOf(task));
  tx.send(deleteWorking, keyOf(task));
}

/** No row if the environment does not exist; null for one without a version. */
export const newestVersion = guardedRead(
  {
    parameters: { environment_name: 'text', version_name: 'text?' },
    row: { version_name: 'text?', manifest_digest: 'text?' },
  },
  `
  select v.version_name, v.manifest_digest
  from environment e
  left join lateral (${selectChosenVersion('version_name, manifest_digest')}) v on true
  where e.account_id = $account_id and e.project_id = $project_id and e.name = $environment_name`,
);
