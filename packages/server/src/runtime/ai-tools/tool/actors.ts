/** The rights of a call: what the task's creator and all that are behind the call may do (docs/adr/0073). */
import type { Operation } from '@headgate/contract';
import type { Database, Transaction } from '../../../kernel/database/database.ts';
import { typed } from '../../../kernel/database/database.ts';
import { actFor } from '../../../kernel/endpoint/acting.ts';
import type { ReadCall } from '../../../kernel/endpoint/endpoint.ts';
import { guardedRead } from '../../../kernel/security/guarded-read.ts';
import { isUserScope, type Scope } from '../../../kernel/security/permissions.ts';
import type { Caller } from './platform.ts';
import type { ToolContext } from './tool.ts';

/**
 * One caller that has the rights of all. A user counts without the personal credential of its request: the task
 * outlives it (docs/adr/0053).
 */
export function toScope({ creator, behindIds }: ToolContext['actors']): Scope {
  const { accountId, actorId } = creator;
  const others = [...new Set(behindIds)].filter((id) => id !== actorId);
  return {
    accountId,
    actorId,
    ...(isUserScope(creator) ? { isUser: true } : {}),
    ...(others.length === 0 ? {} : { otherActorIds: others }),
  };
}

/** For requests of the API. */
export function toCaller({ actors, signal }: Pick<ToolContext, 'actors' | 'signal'>): Caller {
  return { as: toScope(actors), signal };
}

export interface Acting {
  rows: ReadCall<Operation>['rows'];
  write<Result>(work: (tx: Transaction) => Promise<Result>): Promise<Result>;
}

/** @param operation what all of them could have asked for; its permission is checked */
export function actForAll(
  services: { database: Database },
  operation: Operation,
  { task, actors, now }: ToolContext,
  environmentName: string | null = null,
): Acting {
  const place = { projectId: task.projectId, environmentName };
  return actFor(services, operation, { scope: toScope(actors), place, now });
}

const nothing = guardedRead({ row: { may: typed<true>('boolean') } }, 'select true as may');

/** Throws `forbidden`, `token-invalid` or `project-not-found`. */
export async function requireRights({ rows }: Acting): Promise<void> {
  await rows(nothing, {});
}
