/**
 * PATCH (RFC 7644 §3.5.2), as the RFC says and as clients really send it. Works on a copy of the resource, so
 * that a refused operation changes nothing. Changes of `members` are collected (member-change.ts).
 */
import { patchOperationLimit, scimUrns } from '@headgate/contract';
import { problem } from '../../../kernel/http/problems.ts';
import { isReadOnly, type ResourceSchema, splitUrn } from '../schema/scim-attribute.ts';
import { countComparisons } from '../schema/scim-filter.ts';
import { type PatchPath, parsePath } from '../schema/scim-path.ts';
import { createMessageProblem, findExtension, openHolder, requireSchema } from '../schema/scim-resource.ts';
import {
  createValueProblem,
  type Fields,
  findMember,
  isFields,
  type Resource,
} from '../schema/scim-value.ts';
import { createFilteredRemoval, type MemberStep, readMemberIds } from './member-change.ts';
import { PatchWork } from './patch-work.ts';
import { applyToMatches, removeAt, setSub, setWhole } from './patched-values.ts';

interface Operation {
  op: 'add' | 'replace' | 'remove';
  path: string | undefined;
  value: unknown;
}

export interface Patched {
  resource: Resource;
  members: MemberStep[];
}

interface Draft extends Patched {
  work: PatchWork;
}

/** Throws the problems of a PATCH. */
export function applyPatch(schema: ResourceSchema, stored: Resource, message: Fields): Patched {
  const draft: Draft = { resource: structuredClone(stored), members: [], work: new PatchWork() };
  for (const operation of readOperations(message)) applyOperation(schema, draft, operation);
  return { resource: draft.resource, members: draft.members };
}

function readOperations(message: Fields): Operation[] {
  requireSchema(message, scimUrns.patch);
  const operations = findMember(message, 'Operations');
  const list = isFields(operations) ? [operations] : operations;
  if (!Array.isArray(list) || list.length === 0)
    throw createMessageProblem('Operations must be an array with at least one operation.');
  if (list.length > patchOperationLimit)
    throw problem('too-many-operations', { limit: patchOperationLimit, found: list.length });
  return list.map(readOperation);
}

function readOperation(item: unknown, index: number): Operation {
  if (!isFields(item)) throw createMessageProblem(`Operations[${index}] is not an object.`);
  const op = findMember(item, 'op');
  const word = typeof op === 'string' ? op.trim().toLowerCase() : undefined;
  if (word !== 'add' && word !== 'replace' && word !== 'remove')
    throw createMessageProblem(
      `Operations[${index}].op is ${JSON.stringify(op)?.slice(0, 100) ?? 'missing'}; it must be add, replace or remove.`,
    );
  const path = findMember(item, 'path') ?? undefined;
  if (path !== undefined && typeof path !== 'string')
    throw problem('invalid-attribute-path', { reason: `Operations[${index}].path is not text.` });
  const value = findMember(item, 'value');
  if (word !== 'remove' && value === undefined)
    throw createValueProblem(`Operations[${index}] (${word}) has no value.`);
  const trimmed = path?.trim();
  return { op: word, path: trimmed === '' ? undefined : trimmed, value };
}

function applyOperation(schema: ResourceSchema, patched: Draft, { op, path, value }: Operation): void {
  if (path === undefined || path.toLowerCase() === schema.urn.toLowerCase()) {
    if (op === 'remove')
      throw problem('no-patch-target', { reason: 'A remove operation needs a path, such as "nickName".' });
    if (!isFields(value))
      throw createValueProblem('Without a path, the value of an operation must be an object.');
    applyFields(schema, patched, op, value);
    return;
  }
  const extension = findExtension(schema, path);
  if (extension !== undefined) {
    if (op === 'remove') delete patched.resource[extension];
    else if (isFields(value)) applyFields(schema, patched, op, value, extension);
    else throw createValueProblem(`The value for ${extension} must be an object.`);
    return;
  }
  const parsed = parsePath(schema, path);
  if (parsed === undefined)
    throw problem('invalid-attribute-path', {
      reason: `${schema.type} has no attribute ${JSON.stringify(path.slice(0, 200))}.`,
    });
  const fixed = [parsed.attribute, parsed.sub].find((each) => each !== undefined && isReadOnly(each));
  if (fixed !== undefined) throw problem('immutable-attribute', { attribute: path, reason: 'is read-only.' });
  applyAt(patched, op, parsed, value);
}

/**
 * An operation without path: each member of its value is one. Its name can be that of an attribute, qualified
 * by a URN, dotted, or a path with a filter. Read-only and unknown ones are ignored.
 */
function applyFields(
  schema: ResourceSchema,
  patched: Draft,
  op: 'add' | 'replace',
  fields: Fields,
  prefix?: string,
): void {
  for (const [name, value] of Object.entries(fields)) {
    const extension = prefix === undefined ? findExtension(schema, name) : undefined;
    if (extension !== undefined && isFields(value)) {
      applyFields(schema, patched, op, value, extension);
      continue;
    }
    const isQualified = prefix === undefined || splitUrn(schema, name).urn !== undefined;
    const parsed = parsePath(schema, isQualified ? name : `${prefix}:${name}`);
    if (parsed === undefined || isReadOnly(parsed.attribute)) continue;
    if (parsed.sub !== undefined && isReadOnly(parsed.sub)) continue;
    applyAt(patched, op, parsed, value);
  }
}

function applyAt(patched: Draft, op: Operation['op'], path: PatchPath, value: unknown): void {
  const { attribute } = path;
  if (attribute.mutability === 'writeOnly') return;
  const { work } = patched;
  if (path.filter !== undefined) work.spend(countComparisons(path.filter));
  if (attribute.name === 'members') {
    patched.members.push(readMemberStep(op, path, value));
    return;
  }
  const holder = openHolder(patched.resource, path.extension);
  if (path.filter !== undefined) applyToMatches(holder, op, path, value, work);
  else if (op === 'remove') removeAt(holder, path, value, work);
  else if (path.sub !== undefined) setSub(holder, path, value, work);
  else setWhole(holder, op, path, value, work);
  if (path.extension !== undefined && Object.keys(holder).length === 0)
    delete patched.resource[path.extension];
}

function readMemberStep(op: Operation['op'], { filter, sub }: PatchPath, value: unknown): MemberStep {
  if (sub !== undefined && !(sub.name === 'value' && filter === undefined && op !== 'remove'))
    throw problem('immutable-attribute', {
      attribute: `members.${sub.name}`,
      reason: 'cannot be changed; remove the member and add another.',
    });
  if (filter !== undefined) {
    if (op === 'remove') return createFilteredRemoval(filter);
    throw problem('immutable-attribute', {
      attribute: 'A member',
      reason: 'cannot be changed; remove it and add another.',
    });
  }
  if (op !== 'remove') return { kind: op, ids: value === null ? [] : readMemberIds(value) };
  const isWhole = value === undefined || value === null || (Array.isArray(value) && value.length === 0);
  return isWhole ? { kind: 'remove-all' } : { kind: 'remove', ids: readMemberIds(value) };
}
