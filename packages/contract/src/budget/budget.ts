/** The budget of a project: how many credits it may spend in a month (UTC). */
import { type Static, Type } from 'typebox';
import { named } from '../named-schema.ts';
import { operation } from '../operation.ts';
import { DateTime, ifMatchHeader } from '../primitives.ts';
import { projectPath } from '../project/project.ts';

export const defaultWarnAt = 0.8;

const MonthlyCredits = Type.Number({ minimum: 0, maximum: 1e9 });
const WarnAt = Type.Number({
  minimum: 0,
  maximum: 1,
  description: 'The part of `monthlyCredits` at which the event `budget-warned` is recorded; 0.8 by default',
});
const StopAt = Type.Number({
  minimum: 0,
  maximum: 1_000,
  description:
    'The part of `monthlyCredits` from which nothing more starts, at least `warnAt`, for example 1. Absent: nothing is stopped',
});
export const Budget = named(
  'Budget',
  Type.Object({
    monthlyCredits: MonthlyCredits,
    warnAt: WarnAt,
    stopAt: Type.Optional(StopAt),
    liftedUntil: Type.Optional(DateTime),
    spent: Type.Number({ minimum: 0, description: 'Credits of this month' }),
    month: Type.String({ maxLength: 7, description: 'This month (UTC), for example 2026-11' }),
  }),
);
export type Budget = Static<typeof Budget>;

const budgetOperation = {
  surface: 'dpc',
  tag: 'Consumption',
  path: '/v1/projects/{projectId}/budget',
  params: Type.Object(projectPath),
} as const;

export const getBudget = operation({
  ...budgetOperation,
  id: 'getBudget',
  method: 'GET',
  summary: 'Get the budget of a project, and what it has spent',
  permission: 'budget:read',
  success: { status: 200, body: Budget, headers: ['ETag'] },
  problems: ['budget-not-found'],
  events: [],
});

export const replaceBudget = operation({
  ...budgetOperation,
  id: 'replaceBudget',
  method: 'PUT',
  summary: 'Create or replace the budget of a project',
  description:
    'From `stopAt` on, runs, tests, backfills and AI tasks of the project are refused with `budget-exceeded`, and ticks of its schedules are SKIPPED. What runs goes on. ' +
    'The events `budget-warned` and `budget-limit-reached` are recorded once in a month each. The latter means that `stopAt` is reached, or without it `monthlyCredits`. Until `liftedUntil` nothing is stopped.',
  permission: 'consumption:manage',
  headers: ifMatchHeader,
  body: Type.Object({
    monthlyCredits: MonthlyCredits,
    warnAt: Type.Optional(WarnAt),
    stopAt: Type.Optional(StopAt),
    liftedUntil: Type.Optional(DateTime),
  }),
  success: { status: 200, body: Budget, headers: ['ETag'] },
  problems: ['budget-order', 'etag-mismatch'],
  events: ['budget-written', 'budget-warned', 'budget-limit-reached'],
});

export const deleteBudget = operation({
  ...budgetOperation,
  id: 'deleteBudget',
  method: 'DELETE',
  summary: 'Delete the budget of a project',
  permission: 'consumption:manage',
  headers: ifMatchHeader,
  success: { status: 204 },
  problems: ['budget-not-found', 'etag-mismatch'],
  events: ['budget-deleted'],
});

export const budgetOperations = [getBudget, replaceBudget, deleteBudget] as const;
