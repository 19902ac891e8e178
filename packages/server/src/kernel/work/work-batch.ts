/** Queues several works, of any accounts, with one statement. */
import { statement, type Transaction } from '../database/database.ts';

export interface NewWork {
  accountId: string;
  workId: string;
  projectId: string;
  environmentName: string;
  agentId: string;
  kind: string;
  name: string;
  /** The principal that must still have permission to run pipelines there when the work is claimed. */
  requestedBy: string;
}

// `due_at` as for one work (work.ts).
const insertWorks = statement(
  { parameters: { works: 'jsonb', now: 'timestamptz' } },
  `
  insert into work (account_id, work_id, project_id, environment_name, agent_id, kind, name, created_at, requested_by,
    state, queued_at, due_at)
  select w."accountId", w."workId", w."projectId", w."environmentName", w."agentId", w.kind, w.name, $now, w."requestedBy",
    'queued', $now, $now::timestamptz + case when exists (
      select from agent a where a.account_id = w."accountId" and a.agent_id = w."agentId" and a.restricted_access)
      then interval '0' else interval '2 seconds' end
  from jsonb_to_recordset($works) as w ("accountId" uuid, "workId" uuid, "projectId" uuid, "environmentName" text,
    "agentId" uuid, kind text, name text, "requestedBy" uuid)`,
);

export function enqueueWorks(tx: Transaction, works: readonly NewWork[], now: Date): void {
  if (works.length > 0) tx.send(insertWorks, { works: JSON.stringify(works), now });
}
