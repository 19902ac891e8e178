/** The table `agent_instance`: the running processes of an agent, and when each was heard of. */
import type { AgentCommand, AgentStatus, HelloRequest } from '@headgate/contract';
import { type Read, statement, type Transaction } from '../../kernel/database/database.ts';
import { problem } from '../../kernel/http/problems.ts';
import type { CallingAgent } from './known-agents.ts';

export interface InstanceKey {
  agent: CallingAgent;
  instanceId: string;
}

const keyOf = ({ agent, instanceId }: InstanceKey) => [agent.accountId, agent.agentId, instanceId];

/** An instance that is silent for so long is not expected back; a later sign of life makes it known again. */
const forgottenAfter = '10 minutes';

const forgetSilent = statement(`
  delete from agent_instance where account_id = $1 and agent_id = $2 and last_seen_at < $3::timestamptz - interval '${forgottenAfter}'`);
const upsert = statement(`
  insert into agent_instance (account_id, agent_id, instance_id, agent_version, abilities, concurrency, connected_at, last_seen_at)
  values ($1, $2, $3, $4, $5, $6, $7, $7)
  on conflict (account_id, agent_id, instance_id) do update set agent_version = excluded.agent_version, abilities = excluded.abilities,
    concurrency = excluded.concurrency, stopping = false, restart_requested = false, last_seen_at = excluded.last_seen_at, silent = false`);
const noteVersion = statement('update agent set agent_version = $3 where account_id = $1 and agent_id = $2');

type Introduced = Pick<HelloRequest, 'agentVersion' | 'abilities' | 'concurrency'>;

/** What an instance says of itself in its hello. */
export function writeInstance(tx: Transaction, key: InstanceKey, said: Introduced, now: Date): void {
  const { accountId, agentId } = key.agent;
  onDeletedAgent(tx);
  tx.send(forgetSilent, [accountId, agentId, now]);
  tx.send(upsert, [...keyOf(key), said.agentVersion, said.abilities, said.concurrency, now]);
  tx.send(noteVersion, [accountId, agentId, said.agentVersion]);
}

const insertUnknown = statement(`
  insert into agent_instance (account_id, agent_id, instance_id, agent_version, connected_at, last_seen_at)
  values ($1, $2, $3, '', $4, $4)
  on conflict (account_id, agent_id, instance_id) do update set last_seen_at = excluded.last_seen_at, silent = false`);

/** An instance that works without having said hello, or that was forgotten. */
export function writeUnknownInstance(tx: Transaction, key: InstanceKey, now: Date): void {
  onDeletedAgent(tx);
  tx.send(insertUnknown, [...keyOf(key), now]);
}

function onDeletedAgent(tx: Transaction): void {
  tx.onConstraint('agent_instance_of_agent', () =>
    problem('token-invalid', { reason: 'its agent was deleted.' }),
  );
}

const noteSeen = statement<{ agent_status: AgentStatus; stopping: boolean }>(`
  update agent_instance set last_seen_at = $4, silent = false
  where account_id = $1 and agent_id = $2 and instance_id = $3
  returning (select status from agent a where a.account_id = $1 and a.agent_id = $2) as agent_status, stopping`);

/** Notes a sign of life. No row, after the commit, for an instance that is not known. */
export function noteSignOfLife(tx: Transaction, key: InstanceKey, now: Date) {
  return tx.collect(noteSeen, [...keyOf(key), now]);
}

const setStopping = statement(`
  update agent_instance set stopping = true, last_seen_at = $4, silent = false where account_id = $1 and agent_id = $2 and instance_id = $3`);
const remove = statement(
  'delete from agent_instance where account_id = $1 and agent_id = $2 and instance_id = $3',
);

export function noteStopping(tx: Transaction, key: InstanceKey, now: Date): void {
  tx.send(setStopping, [...keyOf(key), now]);
}

export function removeInstance(tx: Transaction, key: InstanceKey): void {
  tx.send(remove, keyOf(key));
}

const selectCommand = statement<{ command: AgentCommand }>(`
  select 'restart' as command from agent_instance
  where account_id = $1 and agent_id = $2 and instance_id = $3 and restart_requested`);

/** What is asked of an instance itself: one row, or none. */
export function commandForInstance(tx: Transaction, key: InstanceKey): readonly { command: AgentCommand }[] {
  return tx.collect(selectCommand, keyOf(key));
}

export function readCommandForInstance(read: Read, key: InstanceKey): Promise<{ command: AgentCommand }[]> {
  return read(selectCommand, keyOf(key));
}
