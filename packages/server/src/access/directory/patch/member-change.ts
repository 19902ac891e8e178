/**
 * Changes of the members of a group as one set operation, however many operations a PATCH has. The members
 * are never read into the server: the result is two lists of ids for SQL.
 */
import { isUuid } from '../../../kernel/identifiers.ts';
import type { MemberChange } from '../../groups/index.ts';
import { type Filter, splitFilter } from '../schema/scim-filter.ts';
import { createValueProblem, findMember, isFields, listValues } from '../schema/scim-value.ts';

export type MemberStep =
  | { kind: 'add' | 'remove' | 'replace'; ids: readonly string[] }
  | { kind: 'remove-all' }
  | { kind: 'remove-matching'; filter: Filter };

/** `findMatching` returns the ids of present members that match a filter. */
export async function foldSteps(
  steps: readonly MemberStep[],
  findMatching: (filter: Filter) => Promise<readonly string[]>,
): Promise<MemberChange> {
  let keeps = true;
  let added = new Set<string>();
  let removed = new Set<string>();
  const remove = (ids: readonly string[]) => {
    for (const id of ids) {
      added.delete(id);
      // No user has another id.
      if (keeps && isUuid(id)) removed.add(id);
    }
  };
  for (const step of steps) {
    switch (step.kind) {
      case 'add':
        for (const id of step.ids) {
          added.add(id);
          removed.delete(id);
        }
        break;
      case 'remove':
        remove(step.ids);
        break;
      case 'remove-matching':
        remove(await findMatching(step.filter));
        break;
      case 'replace':
      case 'remove-all':
        keeps = false;
        added = new Set(step.kind === 'replace' ? step.ids : []);
        removed = new Set();
    }
  }
  return { keeps, added, removed };
}

/**
 * The ids of a `members` value: objects with `value`, texts, one of them, or JSON text. Throws
 * `invalid-attribute-value`.
 */
export function readMemberIds(value: unknown): string[] {
  return [...new Set(listValues(value).map(readMemberId))];
}

function readMemberId(item: unknown): string {
  const id = isFields(item) ? readIdOfObject(item) : item;
  if (typeof id !== 'string' || id.trim() === '')
    throw createValueProblem(
      `members has ${JSON.stringify(item)?.slice(0, 200)}; a member is an object with the id of a user as value.`,
    );
  return id.trim().toLowerCase();
}

function readIdOfObject(item: Record<string, unknown>): unknown {
  const type = findMember(item, 'type');
  if (typeof type === 'string' && type !== '' && type.toLowerCase() !== 'user')
    throw createValueProblem(
      `members has type ${JSON.stringify(type.slice(0, 100))}; only users can be members: type must be USER.`,
    );
  const value = findMember(item, 'value');
  const ref = findMember(item, '$ref') ?? findMember(item, 'ref');
  return value ?? (typeof ref === 'string' ? ref.split('/').at(-1) : undefined);
}

/** The step for `members[…]`: by ids, if the filter only names ids. */
export function createFilteredRemoval(filter: Filter): MemberStep {
  const ids = listIds(filter);
  return ids === undefined ? { kind: 'remove-matching', filter } : { kind: 'remove', ids };
}

function listIds(filter: Filter): string[] | undefined {
  const each = splitFilter(filter);
  if (each.kind === 'compare' && each.op === 'eq' && each.path.toLowerCase() === 'value')
    return typeof each.value === 'string' ? [each.value.toLowerCase()] : undefined;
  if (each.kind !== 'or') return undefined;
  const lists = each.filters.map(listIds);
  return lists.every((list) => list !== undefined) ? lists.flat() : undefined;
}
