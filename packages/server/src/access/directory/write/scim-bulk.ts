/**
 * Bulk (RFC 7644 §3.7): all operations in one transaction. Each checks everything before its first change, so
 * one that is refused changes nothing and the others go on. Creations that follow each other share their trips
 * to the database.
 *
 * The ids of new resources are chosen first. So a reference by bulkId is a replacement of text, in any order
 * and also in a circle.
 */
import { bulkOperationLimit, problems, type ScimBulkResult, scimUrns } from '@headgate/contract';
import { Problem, problem } from '../../../kernel/http/problems.ts';
import { renderScimError } from '../../../kernel/http/scim-error.ts';
import { groupSchema } from '../schema/group-schema.ts';
import { readProjection } from '../schema/scim-projection.ts';
import { createMessageProblem, requireSchema } from '../schema/scim-resource.ts';
import { createValueProblem, type Fields, findMember, isFields } from '../schema/scim-value.ts';
import { userSchema } from '../schema/user-schema.ts';
import type { DirectoryWrite, Written } from './directory-write.ts';
import { createGroup, deleteGroup, patchGroup, replaceGroup } from './group.write.ts';
import { createUser, deleteUser, patchUser, replaceUser } from './user.write.ts';

const methods = ['POST', 'PUT', 'PATCH', 'DELETE'] as const;

interface BulkOperation {
  index: number;
  method: (typeof methods)[number];
  bulkId: string | undefined;
  type: 'Users' | 'Groups';
  /** As in the path; undefined for a creation. */
  id: string | undefined;
  ifMatch: string | undefined;
  data: Fields;
  /** The bulkIds that it refers to. */
  references: readonly string[];
}

type Result = ScimBulkResult['Operations'][number];
/** An operation that cannot be read, with its result. */
type Slot = BulkOperation | { index: number; refused: Result };

/** Creations in one trip. */
const togetherLimit = 50;

export interface BulkDone {
  result: ScimBulkResult;
  written: Written[];
}

/** Throws `invalid-scim-message` and `bulk-too-large`. */
export async function runBulk(write: DirectoryWrite, body: Fields): Promise<BulkDone> {
  const { slots, failOnErrors } = readBulk(body);
  const ids = new Map<string, string>();
  for (const slot of slots)
    if (!('refused' in slot) && slot.method === 'POST' && slot.bulkId !== undefined)
      ids.set(slot.bulkId, write.newId());
  const results: (Result | undefined)[] = new Array(slots.length);
  const written: Written[] = [];
  const failed = new Set<string>();
  let errors = 0;
  const run = async (operation: BulkOperation): Promise<void> => {
    try {
      const done = await runOperation(write, operation, ids, failed);
      written.push(done);
      results[operation.index] = presentResult(write.base, operation, done);
    } catch (failure) {
      // A failure of the database ends the transaction, and with it the whole request.
      if (!(failure instanceof Problem) || failure.status >= 500 || failure.code === 'concurrent-change')
        throw failure;
      errors += 1;
      if (operation.bulkId !== undefined) failed.add(operation.bulkId);
      results[operation.index] = presentRefusal(operation, failure);
    }
  };
  const isOver = () => failOnErrors !== undefined && errors >= failOnErrors;
  let together: BulkOperation[] = [];
  const runTogether = async () => {
    const batch = together;
    together = [];
    await Promise.all(batch.map(run));
  };
  for (const slot of orderSlots(slots, ids)) {
    if (isOver()) break;
    if ('refused' in slot) {
      results[slot.index] = slot.refused;
      errors += 1;
      continue;
    }
    const isFree = slot.method === 'POST' && slot.references.length === 0 && failOnErrors === undefined;
    if (isFree) together.push(slot);
    if (!isFree || together.length >= togetherLimit) await runTogether();
    if (!isFree) await run(slot);
  }
  await runTogether();
  const done = results.filter((each) => each !== undefined);
  return { result: { schemas: [scimUrns.bulkResponse], Operations: done }, written };
}

function readBulk(body: Fields): { slots: Slot[]; failOnErrors: number | undefined } {
  requireSchema(body, scimUrns.bulkRequest);
  const operations = findMember(body, 'Operations');
  if (!Array.isArray(operations)) throw createMessageProblem('Operations must be an array.');
  if (operations.length > bulkOperationLimit)
    throw problem('bulk-too-large', { limit: bulkOperationLimit, found: operations.length });
  const failOnErrors = findMember(body, 'failOnErrors') ?? undefined;
  if (failOnErrors !== undefined && (!Number.isInteger(failOnErrors) || Number(failOnErrors) < 1))
    throw createValueProblem('failOnErrors must be an integer from 1.');
  const slots = operations.map(readSlot);
  const taken = new Set<string>();
  for (const slot of slots) {
    if ('refused' in slot || slot.bulkId === undefined) continue;
    if (taken.has(slot.bulkId))
      throw createValueProblem(`The bulkId ${JSON.stringify(slot.bulkId)} occurs twice.`);
    taken.add(slot.bulkId);
  }
  return { slots, failOnErrors: failOnErrors === undefined ? undefined : Number(failOnErrors) };
}

function readSlot(item: unknown, index: number): Slot {
  try {
    return readOperation(item, index);
  } catch (failure) {
    if (!(failure instanceof Problem)) throw failure;
    const method = isFields(item) ? findMember(item, 'method') : undefined;
    const bulkId = isFields(item) ? findMember(item, 'bulkId') : undefined;
    const refused: Result = {
      method: typeof method === 'string' && method !== '' ? method.slice(0, 100) : 'POST',
      status: String(failure.status),
      response: renderScimError(failure),
    };
    if (typeof bulkId === 'string') refused.bulkId = bulkId;
    return { index, refused };
  }
}

function readOperation(item: unknown, index: number): BulkOperation {
  const where = `Operations[${index}]`;
  if (!isFields(item)) throw createMessageProblem(`${where} is not an object.`);
  const word = findMember(item, 'method');
  const method = methods.find((each) => typeof word === 'string' && each === word.toUpperCase());
  if (method === undefined)
    throw createMessageProblem(`${where}.method must be one of ${methods.join(', ')}.`);
  const bulkId = findMember(item, 'bulkId') ?? undefined;
  if (bulkId !== undefined && (typeof bulkId !== 'string' || bulkId === ''))
    throw createMessageProblem(`${where}.bulkId must be text.`);
  if (method === 'POST' && bulkId === undefined)
    throw createValueProblem(`${where} is a POST; it needs a bulkId.`);
  const path = findMember(item, 'path');
  const parts = /^\/?(Users|Groups)(?:\/([^/?#]+))?$/i.exec(typeof path === 'string' ? path.trim() : '');
  if (parts === null || (parts[2] === undefined) !== (method === 'POST'))
    throw createValueProblem(
      `${where}.path is ${JSON.stringify(path)?.slice(0, 200)}; it must be ${method === 'POST' ? '/Users or /Groups' : '/Users/{id} or /Groups/{id}'}.`,
    );
  const data = findMember(item, 'data') ?? {};
  if (!isFields(data) || (method !== 'DELETE' && findMember(item, 'data') === undefined))
    throw createValueProblem(`${where}.data must be an object.`);
  const version = findMember(item, 'version');
  return {
    index,
    method,
    bulkId,
    type: parts[1]?.toLowerCase() === 'users' ? 'Users' : 'Groups',
    id: parts[2],
    ifMatch: typeof version === 'string' && version !== '' ? version : undefined,
    data,
    references: [...new Set(listReferences([data, parts[2]]))],
  };
}

const reference = /^bulkId:(.+)$/i;

function listReferences(value: unknown): string[] {
  if (typeof value === 'string') {
    const found = reference.exec(value)?.[1];
    return found === undefined ? [] : [found];
  }
  if (typeof value !== 'object' || value === null) return [];
  return Object.values(value).flatMap(listReferences);
}

/** Creations before the operations that refer to them; otherwise in the order of the request. */
function orderSlots(slots: readonly Slot[], ids: ReadonlyMap<string, string>): Slot[] {
  const ordered: Slot[] = [];
  // How many creations each waits for, so that no pass reads the references again.
  const open = new Map<Slot, number>();
  const dependents = new Map<string, Slot[]>();
  for (const slot of slots) {
    const needed =
      'refused' in slot ? [] : slot.references.filter((each) => ids.has(each) && each !== slot.bulkId);
    open.set(slot, needed.length);
    for (const each of needed) {
      const those = dependents.get(each) ?? [];
      those.push(slot);
      dependents.set(each, those);
    }
  }
  let waiting = [...slots];
  while (waiting.length > 0) {
    const rest: Slot[] = [];
    for (const slot of waiting) {
      if (open.get(slot) !== 0) {
        rest.push(slot);
        continue;
      }
      ordered.push(slot);
      if ('refused' in slot || slot.bulkId === undefined) continue;
      for (const each of dependents.get(slot.bulkId) ?? []) open.set(each, (open.get(each) ?? 0) - 1);
    }
    // A circle, such as two users who are the manager of each other. Groups need their members first.
    if (rest.length === waiting.length) {
      const isUser = (slot: Slot) => !('refused' in slot) && slot.method === 'POST' && slot.type === 'Users';
      return [...ordered, ...rest.filter(isUser), ...rest.filter((slot) => !isUser(slot))];
    }
    waiting = rest;
  }
  return ordered;
}

function runOperation(
  write: DirectoryWrite,
  operation: BulkOperation,
  ids: ReadonlyMap<string, string>,
  failed: ReadonlySet<string>,
): Promise<Written> {
  const wrong = operation.references.find((each) => !ids.has(each) || failed.has(each));
  if (wrong !== undefined)
    throw createValueProblem(
      `bulkId:${wrong} refers to ${ids.has(wrong) ? 'an operation that failed' : 'no creation of this request'}.`,
    );
  const resolve = (value: unknown): unknown => {
    if (typeof value === 'string') return ids.get(reference.exec(value)?.[1] ?? '') ?? value;
    if (Array.isArray(value)) return value.map(resolve);
    if (!isFields(value)) return value;
    return Object.fromEntries(Object.entries(value).map(([name, inner]) => [name, resolve(inner)]));
  };
  const data = operation.references.length === 0 ? operation.data : (resolve(operation.data) as Fields);
  const id = String(resolve(operation.id ?? ''));
  const isUser = operation.type === 'Users';
  const own: DirectoryWrite = {
    ...write,
    ifMatch: operation.ifMatch,
    // The result of an operation has no resource, so its members need not be read.
    projection: readProjection(isUser ? userSchema : groupSchema, 'id', undefined),
  };
  switch (operation.method) {
    case 'POST': {
      const made = ids.get(operation.bulkId ?? '');
      const fresh = made === undefined ? own : { ...own, id: made };
      return isUser ? createUser(fresh, data) : createGroup(fresh, data);
    }
    case 'PUT':
      return isUser ? replaceUser(own, id, data) : replaceGroup(own, id, data);
    case 'PATCH':
      return isUser ? patchUser(own, id, data) : patchGroup(own, id, data);
    case 'DELETE':
      return isUser ? deleteUser(own, id) : deleteGroup(own, id);
  }
}

function presentResult(base: string, { method, bulkId, type }: BulkOperation, done: Written): Result {
  const result: Result = {
    method,
    location: `${base}/${type}/${done.id}`,
    status: String(done.status),
  };
  if (bulkId !== undefined) result.bulkId = bulkId;
  if (done.etag !== undefined) result.version = done.etag;
  return result;
}

function presentRefusal({ method, bulkId }: BulkOperation, failure: Problem): Result {
  const result: Result = {
    method,
    status: String(problems[failure.code].status),
    response: renderScimError(failure),
  };
  if (bulkId !== undefined) result.bulkId = bulkId;
  return result;
}
