/**
 * A write is one transaction: its entry (rights, idempotency), the handler's statements, its events and the
 * stored response.
 */
import type { Operation } from '@headgate/contract';
import type { FastifyRequest } from 'fastify';
import {
  conflictCode,
  type Database,
  isDatabaseError,
  isUnavailable,
  type Opening,
  statement,
  type Transaction,
  toSend,
} from '../database/database.ts';
import { createEventSource, recordEvents } from '../database/events.ts';
import { createSlices } from '../event-loop.ts';
import type { BodyPieces } from '../http/body-pieces.ts';
import { warningHeader } from '../http/ignored-members.ts';
import { problem } from '../http/problems.ts';
import { renderJson } from '../http/render-json.ts';
import { type Asking, findRefusal, makeGuardParameters } from '../security/guard.ts';
import { guardTypes } from '../security/guarded-read.ts';
import type { Sealer } from '../security/sealed.ts';
import type { Answer, Outcome, ReadCall, Serving, WriteCall } from './call.ts';
import {
  digestRequest,
  type Earlier,
  findEarlier,
  type IdempotencyKey,
  isKeyTaken,
  type PendingWork,
  parseIdempotencyKey,
  removeExpiredAnswer,
  type StoredAnswer,
  storeAnswer,
  storePending,
} from './idempotency.ts';
import { createReadCall } from './read-call.ts';

/** The prefix of all paths of the public API. */
export const publicPrefix = '/dpc';

/** SQL expressions for the account, the key of the request, and the time. */
const refuseAnswered = (account: string, key: string, now: string) => `
    when not pg_try_advisory_xact_lock(hashtextextended(encode(${key}, 'hex'), 0)) then refuse('HG409')
    when exists (select from idempotency_record where account_id = ${account} and key_digest = ${key} and expires_at > ${now}) then refuse('HG200')`;

/**
 * The first statement of a write. It refuses the write by raising an error, so that the statements queued
 * behind it do nothing. If the project is deleted before the commit, foreign keys or row locks detect it. If
 * a concurrent request with the same key commits first, the unique key of its record does.
 */
export const enterWrite = statement(
  {
    parameters: { ...guardTypes, key_digest: 'bytea?' },
  },
  `
  select case
    when standing = 'inactive' then refuse('HG401')
    when standing = 'unknown' then refuse('HG404')
    when standing <> 'permitted' then refuse('HG403')
    when $key_digest::bytea is null then null ${refuseAnswered('$account_id', '$key_digest', '$now')}
  end as refused
  from rights($account_id, $principal_id, $project_id, $environment_of_rights, $account_roles, $project_roles,
    $environment_roles, $now, $user_credential_id, $other_principal_ids)`,
);

/** The same for a write whose rights were checked by `rows` just before. */
const enterUnderKey = statement(
  { parameters: { account_id: 'uuid', key_digest: 'bytea', now: 'timestamptz' } },
  `select case ${refuseAnswered('$account_id::uuid', '$key_digest::bytea', '$now::timestamptz')} end as refused`,
);

/** The work of a handler in its transaction. */
type WriteWork<Op extends Operation> = (
  tx: Transaction,
  rows: WriteCall<Op>['rows'],
) => Promise<Outcome<Op>> | Outcome<Op>;

/**
 * Runs one write under its key. If it fails after the rights were checked, the response may already be
 * stored, perhaps by a concurrent request.
 */
export async function write<Op extends Operation>(
  serving: Serving<Op>,
  key: IdempotencyKey | undefined,
  work: WriteWork<Op>,
  pending?: PendingWork,
): Promise<Earlier> {
  const { read } = serving.services.database;
  const { accountId } = serving.call.scope;
  try {
    return await runWrite(serving, key, work, pending);
  } catch (failure) {
    if (key === undefined || isRefusal(failure) || isUnavailable(failure))
      throw await toCallerProblem(failure, serving);
    const now = serving.call.now;
    const before = await findEarlier({ read, sealer: serving.services.sealer }, accountId, key, now);
    if (before !== undefined) return markReplayed(before);
    if (!isKeyTaken(failure)) throw await toCallerProblem(failure, serving);
    // The key has an expired record that has not been deleted yet.
    await removeExpiredAnswer(read, accountId, key, now);
    return runWrite(serving, key, work, pending).catch(async (again) => {
      throw await toCallerProblem(again, serving);
    });
  }
}

export function markReplayed(before: Earlier): Earlier {
  if ('pending' in before) return before;
  const { answer } = before;
  return { answer: { ...answer, headers: { ...answer.headers, 'idempotency-replayed': 'true' } } };
}

/** Runs the transaction. With pending work there is no response yet. */
function runWrite<Op extends Operation>(
  serving: Serving<Op>,
  key: IdempotencyKey | undefined,
  work: WriteWork<Op>,
  pending: PendingWork | undefined,
): Promise<Earlier> {
  const { services, operation, call, request } = serving;
  let permitted = false;
  const rows: ReadCall<Op>['rows'] = async (query, parameters) => {
    const found = await createReadCall(serving).rows(query, parameters);
    permitted = true;
    return found;
  };
  function openWrite(): ReturnType<Opening> {
    if (!permitted)
      return toSend(enterWrite, { ...makeGuardParameters(serving), key_digest: key?.key ?? null });
    return (
      key && toSend(enterUnderKey, { account_id: call.scope.accountId, key_digest: key.key, now: call.now })
    );
  }
  return services.database.transaction(async (tx) => {
    // A large value is written, told and answered: three slices.
    const endSlice = createSlices();
    const outcome = await work(tx, rows);
    await endSlice();
    const source = createEventSource(call.scope, request.id);
    recordEvents(tx, source, outcome.events, call.now, services.newId);
    await endSlice();
    if (pending !== undefined) {
      if (key !== undefined) storePending(tx, call.scope.accountId, key, pending, call.now);
      return { pending };
    }
    const location =
      outcome.location === undefined ? undefined : services.tokens.issuer + publicPrefix + outcome.location;
    const answer = await renderAnswer(operation, outcome, location === undefined ? {} : { location });
    if (key !== undefined) {
      const sealer = operation.answerHoldsSecret ? services.sealer : undefined;
      storeAnswer(tx, call.scope.accountId, key, answer, { now: call.now, sealer });
    }
    return { answer };
  }, openWrite);
}

/** Whether the entry refused the write, other than because its key has a stored response. */
function isRefusal(failure: unknown): boolean {
  return isDatabaseError(failure) && /^HG4/.test(failure.code);
}

/** Turns refusals of the entry, and the errors of races, into problems. */
export async function toCallerProblem(
  failure: unknown,
  serving: Asking & { services: { database: Database } },
): Promise<unknown> {
  if (!isDatabaseError(failure)) return failure;
  const { read } = serving.services.database;
  switch (failure.code) {
    case 'HG401':
      return findRefusal(read, 'inactive', serving);
    case 'HG403':
      return findRefusal(read, 'forbidden', serving);
    case 'HG404':
      return findRefusal(read, 'unknown', serving);
    case 'HG409':
      return problem('idempotency-key-in-use');
    case 'HG200':
      // The stored response expired in between.
      return problem('concurrent-change');
    case '40001':
    case '40P01':
    case conflictCode:
      return problem('concurrent-change');
    case '23503':
      // The project was deleted after the rights were checked.
      return /_(of|in)_project$/.test(failure.constraint ?? '')
        ? await findRefusal(read, 'unknown', serving)
        : failure;
    default:
      return failure;
  }
}

export function requireAnswer(written: Earlier): StoredAnswer {
  if ('pending' in written) throw problem('idempotency-key-in-use');
  return written.answer;
}

export async function renderAnswer<Op extends Operation>(
  operation: Op,
  answer: Answer<Op>,
  headers: Record<string, string>,
): Promise<StoredAnswer> {
  const { etag, warning } = answer;
  return {
    status: operation.success.status,
    headers: {
      ...headers,
      ...(etag === undefined ? {} : { etag }),
      ...(warning === undefined ? {} : { [warningHeader]: warning }),
    },
    body: answer.text ?? (answer.body === undefined ? null : await renderJson(answer.body)),
  };
}

/**
 * Digests of JSON bodies that came with an Idempotency-Key. The body itself is not kept: it may hold a
 * secret.
 */
const digests = new WeakMap<FastifyRequest, Buffer>();

export function keepDigest(request: FastifyRequest, sealer: Sealer, content: BodyPieces): void {
  if (request.headers['idempotency-key'] !== undefined) digests.set(request, digestRequest(sealer, content));
}

/** The key of a request with a JSON body or none. */
export function readKeyOfRequest<Op extends Operation>(serving: Serving<Op>): IdempotencyKey | undefined {
  const { request, services } = serving;
  return readKey(serving, digests.get(request) ?? digestRequest(services.sealer, ''));
}

/** The key of a request with another body, represented by `content`. */
export function readKeyOfContent<Op extends Operation>(
  serving: Serving<Op>,
  content: string,
): IdempotencyKey | undefined {
  return readKey(serving, digestRequest(serving.services.sealer, content));
}

function readKey<Op extends Operation>(
  { operation, call, request, services }: Serving<Op>,
  digest: Buffer,
): IdempotencyKey | undefined {
  if (operation.method !== 'POST') return undefined;
  return parseIdempotencyKey(services.sealer, request.headers['idempotency-key'], {
    actorId: call.scope.actorId,
    method: operation.method,
    path: request.url,
    request: digest,
  });
}
