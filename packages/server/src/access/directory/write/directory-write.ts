/** What the writes of users and groups share, alone and in Bulk. */
import type { ScimGroup, ScimUser } from '@headgate/contract';
import type { Transaction } from '../../../kernel/database/database.ts';
import type { AccountEvent } from '../../../kernel/database/events.ts';
import type { NewId } from '../../../kernel/identifiers.ts';
import type { Scope } from '../../../kernel/security/permissions.ts';
import type { Link } from '../../groups/index.ts';
import type { Projection } from '../schema/scim-projection.ts';

/** One write in its transaction. */
export interface DirectoryWrite {
  tx: Transaction;
  scope: Scope;
  now: Date;
  newId: NewId;
  /** The address of the SCIM service. */
  base: string;
  /** Whether the caller is one. Read in the trip of the first lock. */
  isSuperAdmin: Promise<boolean>;
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
