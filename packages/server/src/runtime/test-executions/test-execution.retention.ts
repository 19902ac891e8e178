/** Retention of test executions: they are kept as long as pipeline executions, and their results with them. */
import type { ManifestUse } from '../../delivery/blobs/index.ts';
import { firstIdAt, oldRows, type RetentionRule } from '../../kernel/retention/retention.ts';

// The id contains the start time, so the primary key serves the search. The results, at most a thousand of
// each execution, are deleted with it.
const oldTestExecutions = oldRows({
  table: 'test_execution',
  key: ['test_execution_id'],
  cursorType: 'uuid',
  old: (time) => `r.test_execution_id < ${firstIdAt(time)} and r.finished_at < ${time}`,
});

/** `executionDays`: undefined to keep forever. */
export function createTestExecutionRetention(retained: {
  executionDays: number | undefined;
}): RetentionRule[] {
  return [{ kind: 'test-executions', days: retained.executionDays, ...oldTestExecutions }];
}

const underWay = (state: string) => `
  select e.manifest_digest from work w
  join test_execution e on e.account_id = w.account_id and e.test_execution_id = w.work_id
  where w.account_id = $account_id and ${state}
  union all
  select s ->> 'artifactDigest' from work w
  join test_execution e on e.account_id = w.account_id and e.test_execution_id = w.work_id
  cross join jsonb_array_elements(e.shared_artifacts) s
  where w.account_id = $account_id and ${state} and s ? 'artifactDigest'`;

/** Test executions that are queued or under way need their files even if their version was deleted. */
export const testExecutionsUse: ManifestUse = `m.digest = any (array(
  ${underWay("w.state = 'queued'")} union all ${underWay("w.state in ('held', 'silent')")}))`;
