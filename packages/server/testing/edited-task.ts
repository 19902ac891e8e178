/** An AI task that has ended with an edit, as its tools leave it. */
import { type Database, statement } from '../src/kernel/database/database.ts';

const key = { account_id: 'uuid', task_id: 'uuid' } as const;

const stopTask = statement(
  { parameters: key },
  "update ai_task set status = 'STOPPED' where account_id = $account_id and task_id = $task_id",
);
const addCopy = statement(
  { parameters: { ...key, now: 'timestamptz' } },
  `
  insert into ai_working_copy (account_id, task_id, project_id, state, environment_name, version_name, manifest_digest,
    message, created_at, modified_at)
  select t.account_id, t.task_id, t.project_id, 'OPEN', v.environment_name, v.version_name, v.manifest_digest,
    'Add a note', $now, $now
  from ai_task t
  join artifact_version v on v.account_id = t.account_id and v.project_id = t.project_id and v.environment_name = 'dev'
  where t.account_id = $account_id and t.task_id = $task_id
  order by v.deployed_at desc limit 1`,
);
const addEdit = statement(
  { parameters: key },
  `
  insert into ai_edit (account_id, task_id, stage, path, content)
  values ($account_id, $task_id, 'PROPOSED', 'notes.md', 'The weather of Oslo' || chr(10))`,
);

/** The project has a version in dev, and no repository. */
export async function endWithEdit(
  { read }: Pick<Database, 'read'>,
  task: { accountId: string; taskId: string },
  now: Date,
): Promise<void> {
  const keyOf = { account_id: task.accountId, task_id: task.taskId };
  await read(stopTask, keyOf);
  await read(addCopy, { ...keyOf, now });
  await read(addEdit, keyOf);
}
