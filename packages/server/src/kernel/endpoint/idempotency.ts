/**
 * Idempotent retries: the response to a POST is stored under its Idempotency-Key in the
 * transaction of its effect, and returned for the same request. Keys and requests are stored as keyed
 * digests.
 */
import {
  type ColumnTypes,
  insertStatement,
  isDatabaseError,
  type Read,
  statement,
  type Transaction,
  typed,
} from '../database/database.ts';
import type { BodyPieces } from '../http/body-pieces.ts';
import { invalidRequest, problem } from '../http/problems.ts';
import { type Sealer, Secret } from '../security/sealed.ts';

export const keptHours = 24;
const keyLimit = 255;

export interface IdempotencyKey {
  key: Buffer;
  request: Buffer;
}

/** The work that a request waits for, and the time until which no other request with the key may wait. */
export interface PendingWork {
  workId: string;
  until: Date;
}

/** The result of an earlier request with the same key. */
export type Earlier = { answer: StoredAnswer } | { pending: PendingWork };

export interface StoredAnswer {
  status: number;
  headers: Record<string, string>;
  body: string | null;
}

const recordRow = {
  request_digest: 'bytea',
  status: 'smallint?',
  headers: typed<Record<string, string> | null>('jsonb'),
  body: 'text?',
  body_sealed: 'bytea?',
  pending_work_id: 'uuid?',
  pending_until: 'timestamptz?',
} satisfies ColumnTypes;

const selectRecord = statement(
  { parameters: { account_id: 'uuid', key_digest: 'bytea', now: 'timestamptz' }, row: recordRow },
  `
  select request_digest, status, headers, body, body_sealed, pending_work_id, pending_until from idempotency_record
  where account_id = $account_id and key_digest = $key_digest and expires_at > $now`,
);

const insertRecord = insertStatement('idempotency_record', {
  account_id: 'uuid',
  key_digest: 'bytea',
  request_digest: 'bytea',
  status: 'smallint',
  headers: 'jsonb',
  body: 'text?',
  body_sealed: 'bytea?',
  expires_at: 'timestamptz',
});

/** A digest of the request's content, stored to detect a different request with the same key. */
export function digestRequest(sealer: Sealer, content: BodyPieces | string): Buffer {
  return sealer.digest(content, 'idempotent request');
}

/** The key of a request, scoped to its actor, method and path. Undefined if the request has none. */
export function parseIdempotencyKey(
  sealer: Sealer,
  header: string | string[] | undefined,
  about: { actorId: string; method: string; path: string; request: Buffer },
): IdempotencyKey | undefined {
  if (header === undefined) return undefined;
  if (Array.isArray(header) || header.length === 0 || header.length > keyLimit) {
    const detail = `must be a single value of 1 to ${keyLimit} characters`;
    throw invalidRequest([{ field: 'headers.Idempotency-Key', pointer: '/headers/Idempotency-Key', detail }]);
  }
  return {
    key: sealer.digest(`${about.actorId} ${about.method} ${about.path} ${header}`, 'idempotency key'),
    request: about.request,
  };
}

const sealingPurpose = 'stored answer';

/** Stores the response. Pass a sealer if it contains a secret, to store it sealed. */
export function storeAnswer(
  tx: Transaction,
  accountId: string,
  { key, request }: IdempotencyKey,
  answer: StoredAnswer,
  retained: { now: Date; sealer?: Sealer | undefined },
): void {
  const expiresAt = new Date(retained.now.getTime() + keptHours * 3_600_000);
  const sealed =
    answer.body === null ? undefined : retained.sealer?.seal(new Secret(answer.body), sealingPurpose);
  const body = sealed === undefined ? answer.body : null;
  const headers = JSON.stringify(answer.headers);
  tx.send(insertRecord, {
    account_id: accountId,
    key_digest: key,
    request_digest: request,
    status: answer.status,
    headers,
    body,
    body_sealed: sealed ?? null,
    expires_at: expiresAt,
  });
}

/** Whether a write failed because its key has a record: of a concurrent request, or an expired one. */
export function isKeyTaken(failure: unknown): boolean {
  return isDatabaseError(failure) && failure.constraint === 'idempotency_record_key';
}

const insertPending = statement(
  {
    parameters: {
      account_id: 'uuid',
      key_digest: 'bytea',
      request_digest: 'bytea',
      pending_work_id: 'uuid',
      pending_until: 'timestamptz',
      expires_at: 'timestamptz',
    },
  },
  `
  insert into idempotency_record (account_id, key_digest, request_digest, pending_work_id, pending_until, expires_at)
  values ($account_id, $key_digest, $request_digest, $pending_work_id, $pending_until, $expires_at)`,
);

/**
 * Records that a request waits for work: the first of the two transactions of a long operation.
 */
export function storePending(
  tx: Transaction,
  accountId: string,
  { key, request }: IdempotencyKey,
  { workId, until }: PendingWork,
  now: Date,
): void {
  const expiresAt = new Date(now.getTime() + keptHours * 3_600_000);
  tx.send(insertPending, {
    account_id: accountId,
    key_digest: key,
    request_digest: request,
    pending_work_id: workId,
    pending_until: until,
    expires_at: expiresAt,
  });
}

const completeRecord = statement(
  {
    parameters: {
      account_id: 'uuid',
      key_digest: 'bytea',
      pending_work_id: 'uuid',
      status: 'smallint',
      headers: 'jsonb',
      body: 'text?',
    },
  },
  `
  update idempotency_record set status = $status, headers = $headers, body = $body, pending_work_id = null,
    pending_until = null
  where account_id = $account_id and key_digest = $key_digest and pending_work_id = $pending_work_id`,
);

/** Stores the response of a request that waited: the second transaction. */
export function storeOutcome(
  tx: Transaction,
  accountId: string,
  { key }: IdempotencyKey,
  workId: string,
  { status, headers, body }: StoredAnswer,
): void {
  tx.send(completeRecord, {
    account_id: accountId,
    key_digest: key,
    pending_work_id: workId,
    status,
    headers: JSON.stringify(headers),
    body,
  });
}

/** Deletes the record of a request without a result, so that the key can be used again. */
export const removePending = statement(
  { parameters: { account_id: 'uuid', key_digest: 'bytea', pending_work_id: 'uuid' } },
  'delete from idempotency_record where account_id = $account_id and key_digest = $key_digest and pending_work_id = $pending_work_id',
);

/**
 * Finds the result of an earlier request with the key. Throws `idempotency-key-reused` if that request was
 * different.
 */
export async function findEarlier(
  services: { read: Read; sealer: Sealer },
  accountId: string,
  { key, request }: IdempotencyKey,
  now: Date,
): Promise<Earlier | undefined> {
  const [record] = await services.read(selectRecord, { account_id: accountId, key_digest: key, now });
  if (record === undefined) return undefined;
  if (!record.request_digest.equals(request)) throw problem('idempotency-key-reused');
  const { status, headers, body_sealed: sealed, pending_work_id: workId, pending_until: until } = record;
  if (workId !== null && until !== null) return { pending: { workId, until } };
  if (status === null || headers === null)
    throw new Error('An idempotency record has neither a response nor pending work.');
  const body = sealed === null ? record.body : services.sealer.unseal(sealed, sealingPurpose).reveal();
  return { answer: { status, headers, body } };
}

const deleteExpiredOne = statement(
  { parameters: { account_id: 'uuid', key_digest: 'bytea', now: 'timestamptz' } },
  'delete from idempotency_record where account_id = $account_id and key_digest = $key_digest and expires_at <= $now',
);

export async function removeExpiredAnswer(
  read: Read,
  accountId: string,
  { key }: IdempotencyKey,
  now: Date,
): Promise<void> {
  await read(deleteExpiredOne, { account_id: accountId, key_digest: key, now });
}

export const removalBatch = 1_000;
// By ctid array: with a join the planner might scan the whole table. Rows that another transaction has locked
// are skipped.
const deleteExpired = statement(
  { parameters: { now: 'timestamptz' }, row: { removed: 'integer' }, alone: true },
  `
  with removed as (
    delete from idempotency_record where ctid = any (array(
      select ctid from idempotency_record where expires_at < $now order by expires_at limit ${removalBatch}
        for update skip locked))
    returning 1
  )
  select count(*)::integer as removed from removed`,
);

/** Deletes one batch of expired records and returns how many. */
export async function removeExpiredAnswers(read: Read, now: Date): Promise<number> {
  const [row] = await read(deleteExpired, { now });
  return row?.removed ?? 0;
}
