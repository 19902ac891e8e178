/**
 * PATCH (RFC 7644 §3.5.2), as the RFC says and as clients really send it. Works on a copy of the resource, so
 * that a refused operation changes nothing. Changes of `members` are collected (member-change.ts).
 */
import { patchOperationLimit, scimUrns } from '@headgate/contract';
import { problem } from '../../kernel/http/problems.ts';
import { createFilteredRemoval, type MemberStep, readMemberIds } from './member-change.ts';
import { isReadOnly, type Located, type ResourceSchema, splitUrn } from './scim-attribute.ts';
import { matchesValue } from './scim-filter.ts';
import { createValueOfFilter, type PatchPath, parsePath } from './scim-path.ts';
import { createMessageProblem, findExtension, openHolder, requireSchema } from './scim-resource.ts';
import {
  createValueProblem,
  type Fields,
  findMember,
  isFields,
  isSameValue,
  listValues,
  type Resource,
  readValue,
  readValues,
} from './scim-value.ts';

interface Operation {
  op: 'add' | 'replace' | 'remove';
  path: string | undefined;
  value: unknown;
}

export interface Patched {
  resource: Resource;
  members: MemberStep[];
}

/** Throws the problems of a PATCH. */
export function applyPatch(schema: ResourceSchema, stored: Resource, message: Fields): Patched {
  const patched: Patched = { resource: structuredClone(stored), members: [] };
  for (const operation of readOperations(message)) applyOperation(schema, patched, operation);
  return patched;
}

function readOperations(message: Fields): Operation[] {
  requireSchema(message, scimUrns.patch);
  const given = findMember(message, 'Operations');
  const list = isFields(given) ? [given] : given;
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

function applyOperation(schema: ResourceSchema, patched: Patched, { op, path, value }: Operation): void {
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
  patched: Patched,
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

function applyAt(patched: Patched, op: Operation['op'], path: PatchPath, value: unknown): void {
  const { attribute } = path;
  if (attribute.mutability === 'writeOnly') return;
  if (attribute.name === 'members') {
    patched.members.push(readMemberStep(op, path, value));
    return;
  }
  const holder = openHolder(patched.resource, path.extension);
  if (path.filter !== undefined) applyToMatches(holder, op, path, value);
  else if (op === 'remove') removeAt(holder, path, value);
  else if (path.sub !== undefined) setSub(holder, path, value);
  else setWhole(holder, op, path, value);
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

function setWhole(holder: Fields, op: 'add' | 'replace', { attribute }: Located, value: unknown): void {
  const { name } = attribute;
  if (attribute.multiValued) {
    const read = readValues(attribute, value, name);
    if (op === 'replace') assign(holder, name, read);
    else if (read !== undefined) holder[name] = addValues(listFields(holder[name]), read);
    return;
  }
  if (attribute.type !== 'complex' || value === null || typeof value !== 'object') {
    const read = readValue(attribute, value);
    if (read === undefined) requireRemovable({ attribute });
    assign(holder, name, read);
    return;
  }
  // Sub-attributes that the value leaves out keep their values.
  const unassigned = Object.entries(value).filter(([, given]) => given === null);
  const old = holder[name];
  const merged: Fields = {
    ...(isFields(old) ? old : {}),
    ...(readValue(attribute, value) as Fields | undefined),
  };
  for (const [subName] of unassigned) {
    const found = Object.keys(merged).find((each) => each.toLowerCase() === subName.toLowerCase());
    if (found !== undefined) delete merged[found];
  }
  assign(holder, name, merged);
}

function setSub(holder: Fields, { attribute, sub }: PatchPath, value: unknown): void {
  if (sub === undefined) return;
  const read = readValue(sub, value, `${attribute.name}.${sub.name}`);
  const setIn = (fields: Fields): Fields => {
    const changed = { ...fields };
    assign(changed, sub.name, read);
    return changed;
  };
  const old = holder[attribute.name];
  if (!attribute.multiValued) assign(holder, attribute.name, setIn(isFields(old) ? old : {}));
  else {
    const values = listFields(old);
    assign(holder, attribute.name, (values.length === 0 ? [{}] : values).map(setIn));
  }
}

function applyToMatches(holder: Fields, op: Operation['op'], path: PatchPath, value: unknown): void {
  const { attribute, sub, filter } = path;
  if (filter === undefined) return;
  const values = listFields(holder[attribute.name]);
  const matching = new Set(values.filter((each) => matchesValue(attribute, filter, each)));
  if (op === 'remove') {
    const rest = values.flatMap((each) => {
      if (!matching.has(each)) return [each];
      if (sub === undefined) return [];
      const { [sub.name]: _, ...kept } = each;
      return [kept];
    });
    assign(holder, attribute.name, rest);
    return;
  }
  const read =
    sub === undefined
      ? (readValues(attribute, value, attribute.name)?.[0] ?? {})
      : { [sub.name]: readValue(sub, value, `${attribute.name}.${sub.name}`) };
  if (matching.size === 0) {
    if (op === 'replace')
      throw problem('no-patch-target', {
        reason: `No value of ${attribute.name} matches the filter of the path; use add to create one.`,
      });
    holder[attribute.name] = addValues(values, [{ ...createValueOfFilter(attribute, filter), ...read }]);
    return;
  }
  const changed = values.map((each) => {
    if (matching.has(each)) return dropUnassigned({ ...each, ...read });
    return read.primary === true ? { ...each, primary: false } : each;
  });
  assign(holder, attribute.name, changed);
}

function removeAt(holder: Fields, path: PatchPath, value: unknown): void {
  const { attribute, sub } = path;
  const old = holder[attribute.name];
  if (sub !== undefined) {
    const drop = (fields: Fields): Fields => dropUnassigned({ ...fields, [sub.name]: undefined });
    if (isFields(old)) assign(holder, attribute.name, drop(old));
    else assign(holder, attribute.name, listFields(old).map(drop));
    return;
  }
  requireRemovable(path);
  const wanted = attribute.multiValued ? listValues(value ?? null) : [];
  if (wanted.length === 0) {
    delete holder[attribute.name];
    return;
  }
  const gone = readValues(attribute, value, attribute.name) ?? [];
  const rest = listFields(old).filter((each) => !gone.some((one) => isDescribedBy(each, one)));
  assign(holder, attribute.name, rest);
}

/** Whether the value has all sub-attributes that the description gives. */
function isDescribedBy(value: Fields, description: Fields): boolean {
  return Object.entries(description).every(([name, wanted]) => name === 'primary' || value[name] === wanted);
}

function requireRemovable({ attribute }: Pick<PatchPath, 'attribute'>): void {
  if (attribute.required)
    throw problem('immutable-attribute', {
      attribute: attribute.name,
      reason: 'is required and cannot be removed.',
    });
  if (attribute.name === 'active')
    throw problem('immutable-attribute', {
      attribute: attribute.name,
      reason: 'cannot be removed; replace it with true or false.',
    });
}

function addValues(values: readonly Fields[], added: readonly Fields[]): Fields[] {
  const isNewPrimary = added.some(({ primary }) => primary === true);
  const kept = values
    .filter((each) => !added.some((one) => isSameValue(one, each)))
    .map((each) => (isNewPrimary && each.primary === true ? { ...each, primary: false } : each));
  const same = values.filter((each) => added.some((one) => isSameValue(one, each)));
  return [...kept, ...added.map((one) => ({ ...same.find((each) => isSameValue(one, each)), ...one }))];
}

function listFields(value: unknown): Fields[] {
  return Array.isArray(value) ? value.filter(isFields) : isFields(value) ? [value] : [];
}

function dropUnassigned(fields: Fields): Fields {
  return Object.fromEntries(Object.entries(fields).filter(([, value]) => value !== undefined));
}

/** Sets the attribute, or removes it if nothing is left. */
function assign(holder: Fields, name: string, value: unknown): void {
  const kept = Array.isArray(value)
    ? value.filter((each) => !isFields(each) || Object.keys(each).length > 0)
    : value;
  const isEmpty =
    kept === undefined ||
    (Array.isArray(kept) && kept.length === 0) ||
    (isFields(kept) && Object.keys(kept).length === 0);
  if (isEmpty) delete holder[name];
  else holder[name] = kept;
}
