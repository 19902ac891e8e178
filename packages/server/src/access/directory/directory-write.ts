/** What the writes of users and groups share, alone and in Bulk. */
import type { ScimGroup, ScimUser } from '@headgate/contract';
import type { Transaction } from '../../kernel/database/database.ts';
import type { AccountEvent } from '../../kernel/database/events.ts';
import type { NewId } from '../../kernel/identifiers.ts';
import type { Scope } from '../../kernel/security/permissions.ts';
import type { Projection } from './scim-projection.ts';
import type { Caller } from './super-admin.store.ts';
import type { Link } from './user.store.ts';

/** One write in its transaction. */
export interface DirectoryWrite {
  tx: Transaction;
  scope: Scope;
  now: Date;
  newId: NewId;
  /** The address of the SCIM service. */
  base: string;
  /** Read in the trip of the first lock. */
  caller: Promise<Caller>;
  /** `?confirm=true` */
  isConfirmed: boolean;
  ifMatch: string | undefined;
  projection: Projection;
  /** The id for a new resource, if another operation of a Bulk request refers to it. */
  id?: string;
}

/** Members that were added or removed, by the group. */
export interface MemberEffect {
  group: Link;
  user: Link;
}

/** What a write did. */
export interface Written {
  status: 200 | 201 | 204;
  id: string;
  resource?: ScimUser | ScimGroup;
  etag?: string;
  events: AccountEvent[];
  added: MemberEffect[];
  removed: MemberEffect[];
  /** Users whose permissions it may have changed, and groups for whose members it may have. */
  users: string[];
  groups: string[];
}

export function describeWrite(status: Written['status'], id: string, more: Partial<Written> = {}): Written {
  return { status, id, events: [], added: [], removed: [], users: [], groups: [], ...more };
}

const namedMembers = 100;

/** The members in an event: the first by name, and how many there are. */
export function listForEvent(links: readonly Link[]) {
  const members = links.slice(0, namedMembers).map(([value, display]) => ({ value, display }));
  return links.length > namedMembers ? { members, count: links.length } : { members };
}
