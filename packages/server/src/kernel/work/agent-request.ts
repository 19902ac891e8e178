/**
 * What a request asks an agent, and waits for: a row of `agent_request`, and work of the same id. A slice has the
 * payload of its kind and says what an end means; the rest is here.
 */

import { insertStatement, type Read, statement, type Transaction, typed } from '../database/database.ts';
import { insertIntoEvent } from '../database/events.ts';
import type { Wakes } from '../database/wakes.ts';
import { problem } from '../http/problems.ts';
import { waitForEnd } from './awaited-end.ts';
import { enqueueWork, type WorkEnd, type WorkMoment, type WorkOwner, type WorkServices } from './work.ts';

export interface AgentRequest {
  accountId: string;
  requestId: string;
  agentId: string;
  kind: string;
  projectId: string;
  environmentName: string | null;
  /** Of the subject of its events. */
  name: string;
  /** What the agent is sent. */
  request: object;
  /** Until when an agent may take it. */
  until: Date;
  /** How long the answer is kept. */
  keptHours: number;
  /** The principal that must still have permission to ask when the agent takes it. */
  requestedBy?: string | undefined;
  /** Requests that one answer is composed of. Their events belong to the project, not to an environment. */
  groupId?: string;
}

const insertRequest = insertStatement(
  'agent_request',
  {
    account_id: 'uuid',
    request_id: 'uuid',
    kind: 'text',
    project_id: 'uuid',
    environment_name: 'text?',
    name: 'text',
    group_id: 'uuid?',
    request: 'text',
    created_at: 'timestamptz',
    expires_at: 'timestamptz',
  },
  { derived: { state: "'PENDING'" } },
);

/** Wakes all instances of the agent that wait for work: some may be too old for this kind. */
export function askAgent(tx: Transaction, wakes: Wakes, query: AgentRequest, now: Date): void {
  const { accountId, requestId, agentId, kind, projectId, environmentName, name, requestedBy, groupId } =
    query;
  tx.send(insertRequest, {
    account_id: accountId,
    request_id: requestId,
    kind,
    project_id: projectId,
    environment_name: groupId === undefined ? environmentName : null,
    name,
    group_id: groupId ?? null,
    request: JSON.stringify(query.request),
    created_at: now,
    expires_at: new Date(now.getTime() + query.keptHours * 3_600_000),
  });
  const work = {
    account_id: accountId,
    work_id: requestId,
    project_id: projectId,
    environment_name: environmentName,
    agent_id: agentId,
    kind,
    name,
    ...(requestedBy === undefined ? {} : { requested_by: requestedBy }),
  };
  enqueueWork(tx, work, now, { claimableUntil: query.until });
  tx.afterCommit(() => wakes.wake(agentId, 'all'));
}

export interface AgentAnswer {
  state: 'PENDING' | 'ANSWERED' | 'FAILED' | 'FORBIDDEN';
  /** As JSON; of an ANSWERED request. */
  result: string | null;
  message: string | null;
}

const selectAnswers = statement(
  {
    parameters: { account_id: 'uuid', id: 'uuid' },
    row: {
      request_id: 'uuid',
      state: typed<AgentAnswer['state']>('text'),
      result: 'text?',
      message: 'text?',
    },
  },
  `
  select request_id, state, result, message from agent_request
  where account_id = $account_id and (request_id = $id or group_id = $id) order by request_id`,
);

/** @param id of a request, or of a group of them */
export function readAnswers(read: Read, accountId: string, id: string) {
  return read(selectAnswers, { account_id: accountId, id });
}

interface Waiting {
  database: { read: Read };
  wakes: Wakes;
  stopping: AbortSignal;
}

/**
 * @returns undefined if the agent did not answer in time. Throws `project-not-found` if the project was deleted
 * meanwhile.
 */
export function waitForAnswer(
  services: Waiting,
  seconds: number,
  requestId: string,
  { accountId, projectId }: { accountId: string; projectId: string },
): Promise<AgentAnswer | undefined> {
  return waitForEnd(services, seconds, requestId, async () => {
    const [found] = await readAnswers(services.database.read, accountId, requestId);
    if (found === undefined) throw problem('project-not-found', { projectId });
    return found.state === 'PENDING' ? { waitsFor: requestId } : { ended: found };
  });
}

// Writes the events too, which need the project.
const endRequests = statement(
  {
    parameters: {
      account_id: 'uuid',
      ids: 'uuid[]',
      states: 'text[]',
      results: 'text[]',
      messages: 'text[]',
      event_name: 'text',
      shows_message: 'boolean',
      now: 'timestamptz',
      event_ids: 'uuid[]',
      actor_id: 'uuid?',
      actor_kind: 'text',
      request_id: 'uuid?',
    },
  },
  `
  with given as (
    select * from unnest($ids::uuid[], $states::text[], $results::text[], $messages::text[]) as g (id, state, result, message)
  ), ended as (
    update agent_request r set state = given.state, result = given.result, message = given.message
    from given
    where r.account_id = $account_id and r.request_id = given.id and r.state = 'PENDING'
    returning r.request_id, r.kind, r.project_id, r.environment_name, r.name, r.state, r.message
  )
  ${insertIntoEvent}
  select $account_id, $now, ($event_ids::uuid[])[row_number() over ()], $event_name, $actor_id, $actor_kind,
    $request_id, project_id, environment_name, kind, request_id::text, name, null,
    jsonb_strip_nulls(jsonb_build_object('state', state, 'message', case when $shows_message then message end))
  from ended`,
);

export interface RequestKind {
  kind: string;
  /** SQL of the payload, over the row `r` of the request; otherwise it is what was asked. */
  payload?: string;
  /** Whether readers of events may see why it failed. */
  showsMessage: boolean;
  readEnd(end: WorkEnd): AgentAnswer;
}

export function createRequestOwner(
  { metrics, wakes }: WorkServices,
  { kind, payload = 'select r.request::json', showsMessage, readEnd }: RequestKind,
): WorkOwner {
  const nothing = () => undefined;
  return {
    claimed: {
      with: [],
      payload: `
  ${payload}
  from agent_request r where r.account_id = claimed.account_id and r.request_id = claimed.work_id`,
    },
    onStarted: nothing,
    onSilent: nothing,
    onCameBack: nothing,
    onRequeued: nothing,
    onEnded(moment, ends) {
      const answers = ends.map((end) => ({ id: end.workId, ...readEnd(end) }));
      sendEnds(moment, answers, { kind, showsMessage });
      moment.tx.afterCommit(() => {
        for (const { id, state } of answers) {
          metrics.countEndedWork(kind, state);
          wakes.wake(id, 'all');
        }
      });
    },
  };
}

function sendEnds(
  { tx, accountId, source, now, newId }: WorkMoment,
  answers: readonly (AgentAnswer & { id: string })[],
  { kind, showsMessage }: Pick<RequestKind, 'kind' | 'showsMessage'>,
): void {
  tx.send(endRequests, {
    account_id: accountId,
    ids: answers.map(({ id }) => id),
    states: answers.map(({ state }) => state),
    results: answers.map(({ result }) => result) as string[],
    messages: answers.map(({ message }) => message) as string[],
    event_name: `${kind}-ended`,
    shows_message: showsMessage,
    now,
    event_ids: answers.map(newId),
    actor_id: source.actorId,
    actor_kind: source.actorKind,
    request_id: source.requestId,
  });
}

/** The end of work without an answer. */
export function readFailure(
  { status, message }: WorkEnd,
  { otherwise, mostCharacters }: { otherwise: string; mostCharacters: number },
): AgentAnswer {
  const state = status === 'FORBIDDEN' ? 'FORBIDDEN' : 'FAILED';
  return { state, result: null, message: message?.slice(0, mostCharacters) ?? otherwise };
}

export const requestBatch = 1_000;
const deleteExpired = statement(
  { parameters: { now: 'timestamptz' }, row: { removed: 'integer' }, alone: true },
  `
  with removed as (
    delete from agent_request where ctid = any (array(
      select ctid from agent_request where expires_at <= $now limit ${requestBatch} for update skip locked))
    returning 1
  )
  select count(*)::integer as removed from removed`,
);

/** Deletes one batch of expired requests; returns how many. */
export async function removeExpiredRequests(read: Read, now: Date): Promise<number> {
  const [row] = await read(deleteExpired, { now });
  return row?.removed ?? 0;
}
