/** The values of one attribute, changed by one operation of a PATCH. */
import { problem } from '../../../kernel/http/problems.ts';
import type { Attribute, Located } from '../schema/scim-attribute.ts';
import { countComparisons, matchesValue } from '../schema/scim-filter.ts';
import { createValueOfFilter, isDescription, type PatchPath } from '../schema/scim-path.ts';
import {
  describeValue,
  type Fields,
  isFields,
  listValues,
  readValue,
  readValues,
  requireFewValues,
} from '../schema/scim-value.ts';
import type { PatchWork } from './patch-work.ts';

export function setWhole(
  holder: Fields,
  op: 'add' | 'replace',
  { attribute }: Located,
  value: unknown,
  work: PatchWork,
): void {
  const { name } = attribute;
  if (attribute.multiValued) {
    const old = listFields(holder[name]);
    work.spend(listValues(value).length + old.length);
    const read = readValues(attribute, value, name);
    if (op === 'replace') assign(holder, name, read);
    else if (read !== undefined) holder[name] = addValues(name, old, read);
    return;
  }
  if (attribute.type !== 'complex' || value === null || typeof value !== 'object') {
    const read = readValue(attribute, value);
    if (read === undefined) unassign(holder, attribute);
    else holder[name] = read;
    return;
  }
  // Sub-attributes that the value leaves out keep their values.
  const unassigned = Object.entries(value).filter(([, input]) => input === null);
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

export function setSub(holder: Fields, { attribute, sub }: PatchPath, value: unknown, work: PatchWork): void {
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
    work.spend(values.length);
    assign(holder, attribute.name, (values.length === 0 ? [{}] : values).map(setIn));
  }
}

export function applyToMatches(
  holder: Fields,
  op: 'add' | 'replace' | 'remove',
  path: PatchPath,
  value: unknown,
  work: PatchWork,
): void {
  const { attribute, sub, filter } = path;
  if (filter === undefined) return;
  const values = listFields(holder[attribute.name]);
  work.spend(values.length * countComparisons(filter));
  const matching = new Set(values.filter((each) => matchesValue(attribute, filter, each)));
  if (op === 'remove') {
    const rest = values.flatMap((each) => {
      if (!matching.has(each)) return [each];
      if (sub === undefined) return [];
      const { [sub.name]: _, ...rest } = each;
      return [rest];
    });
    assign(holder, attribute.name, rest);
    return;
  }
  const read =
    sub === undefined
      ? (readValues(attribute, value, attribute.name)?.[0] ?? {})
      : { [sub.name]: readValue(sub, value, `${attribute.name}.${sub.name}`) };
  if (matching.size === 0) {
    // Microsoft Entra ID replaces what is not there. Refused, the `active: False` beside it would be lost.
    if (op === 'replace' && !isDescription(filter))
      throw problem('no-patch-target', {
        reason: `No value of ${attribute.name} matches the filter of the path, and only one of "eq" and "and" says which to create.`,
      });
    holder[attribute.name] = addValues(attribute.name, values, [
      { ...createValueOfFilter(attribute, filter), ...read },
    ]);
    return;
  }
  const changed = values.map((each) => {
    if (matching.has(each)) return dropUnassigned({ ...each, ...read });
    return read.primary === true ? { ...each, primary: false } : each;
  });
  assign(holder, attribute.name, changed);
}

export function removeAt(holder: Fields, path: PatchPath, value: unknown, work: PatchWork): void {
  const { attribute, sub } = path;
  const old = holder[attribute.name];
  if (sub !== undefined) {
    const drop = (fields: Fields): Fields => dropUnassigned({ ...fields, [sub.name]: undefined });
    work.spend(listFields(old).length);
    if (isFields(old)) assign(holder, attribute.name, drop(old));
    else assign(holder, attribute.name, listFields(old).map(drop));
    return;
  }
  const values = attribute.multiValued ? listValues(value ?? null) : [];
  if (values.length === 0) {
    unassign(holder, attribute);
    return;
  }
  const gone = readValues(attribute, value, attribute.name) ?? [];
  work.spend(values.length + listFields(old).length * gone.length);
  const rest = listFields(old).filter((each) => !gone.some((one) => isDescribedBy(each, one)));
  assign(holder, attribute.name, rest);
}

/** Whether the value has all sub-attributes that the description gives. */
function isDescribedBy(value: Fields, description: Fields): boolean {
  return Object.entries(description).every(
    ([name, expected]) => name === 'primary' || value[name] === expected,
  );
}

/** A user of whom nothing says that they are active is not. */
function unassign(holder: Fields, { name, required }: Attribute): void {
  if (required)
    throw problem('immutable-attribute', { attribute: name, reason: 'is required and cannot be removed.' });
  if (name === 'active') holder[name] = false;
  else delete holder[name];
}

/** The added values replace those that are the same; a new primary value is the only one. */
function addValues(name: string, values: readonly Fields[], added: readonly Fields[]): Fields[] {
  const isNewPrimary = added.some(({ primary }) => primary === true);
  const coming = new Set(added.map(describeValue));
  const same = new Map<string, Fields>();
  const others: Fields[] = [];
  for (const each of values) {
    const description = describeValue(each);
    if (coming.has(description)) same.set(description, each);
    else others.push(isNewPrimary && each.primary === true ? { ...each, primary: false } : each);
  }
  const all = [...others, ...added.map((one) => ({ ...same.get(describeValue(one)), ...one }))];
  requireFewValues(name, all.length);
  return all;
}

function listFields(value: unknown): Fields[] {
  return Array.isArray(value) ? value.filter(isFields) : isFields(value) ? [value] : [];
}

function dropUnassigned(fields: Fields): Fields {
  return Object.fromEntries(Object.entries(fields).filter(([, value]) => value !== undefined));
}

/** Sets the attribute, or removes it if nothing is left. */
function assign(holder: Fields, name: string, value: unknown): void {
  const cleaned = Array.isArray(value)
    ? value.filter((each) => !isFields(each) || Object.keys(each).length > 0)
    : value;
  const isEmpty =
    cleaned === undefined ||
    (Array.isArray(cleaned) && cleaned.length === 0) ||
    (isFields(cleaned) && Object.keys(cleaned).length === 0);
  if (isEmpty) delete holder[name];
  else holder[name] = cleaned;
}
