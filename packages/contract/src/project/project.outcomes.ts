/** Problems and events of projects. */
import { kind, quoted } from '../outcomes/problem-kind.ts';
import type { Outcomes } from '../outcomes/sum-of-outcomes.ts';

export const projectOutcomes = {
  events: ['project-created', 'project-updated', 'project-deleted'],
  problems: {
    'project-not-found': kind<{ projectId: string }>(
      404,
      'The project does not exist, or the caller has no role in it.',
      ({ projectId }) => `There is no project ${projectId}.`,
    ),
    'project-name-taken': kind<{ name: string }>(
      409,
      'Another project of the account has this name.',
      ({ name }) => `A project named ${quoted(name)} already exists in this account.`,
    ),
    'sql-without-duckdb': kind<{ member: string; warehouse: string }>(
      422,
      'A member is for DUCKDB projects only: the other warehouses have a dialect and rights of their own.',
      ({ member, warehouse }) =>
        `${member} is only for a project with the warehouse DUCKDB; this one has ${warehouse}: leave the member out.`,
    ),
    'unknown-project': kind<{ id: string }>(
      422,
      'The body names a project that the account does not have.',
      ({ id }) => `The account has no project ${id}.`,
    ),
  },
} as const satisfies Outcomes;
