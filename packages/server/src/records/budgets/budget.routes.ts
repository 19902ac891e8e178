import { defaultWarnAt, deleteBudget, getBudget, replaceBudget } from '@headgate/contract';
import { requireRow } from '../../kernel/database/database.ts';
import type { Endpoints } from '../../kernel/endpoint/endpoint.ts';
import { requireMatch } from '../../kernel/http/if-match.ts';
import { problem } from '../../kernel/http/problems.ts';
import {
  budgetOfProject,
  buildBudgetEvent,
  deleteBudgetRow,
  lockBudget,
  notePassedBudgets,
  presentBudget,
  renderBudgetEtag,
  writeBudget,
} from './budget.store.ts';

export function budgetRoutes({ read, write }: Endpoints): void {
  read(getBudget, async ({ rows, now }) => {
    const row = requireRow(await rows(budgetOfProject, {}), () => problem('budget-not-found'));
    return { body: presentBudget(row, now), etag: renderBudgetEtag(row) };
  });

  write(replaceBudget, async ({ tx, scope, params: { projectId }, headers, body, now, newId }) => {
    const { warnAt = defaultWarnAt, stopAt } = body;
    if (stopAt !== undefined && stopAt < warnAt) throw problem('budget-order', { warnAt, stopAt });
    const { accountId } = scope;
    const key = { accountId, projectId, now };
    const stored = await lockBudget(tx, key);
    requireMatch(headers['If-Match'], stored === undefined ? '' : renderBudgetEtag(stored));
    const row = await writeBudget(tx, key, newId(), body);
    const passed = await notePassedBudgets(tx, [key], now);
    const after = presentBudget(row, now);
    const states = { ...(stored === undefined ? {} : { before: presentBudget(stored, now) }), after };
    const written = buildBudgetEvent('budget-written', { ...row, project_id: projectId }, states);
    return {
      body: after,
      etag: renderBudgetEtag(row),
      events: [written, ...(passed.get(accountId) ?? [])],
    };
  });

  write(deleteBudget, async ({ tx, scope, params: { projectId }, headers, now }) => {
    const key = { accountId: scope.accountId, projectId, now };
    const stored = await lockBudget(tx, key);
    if (stored === undefined) throw problem('budget-not-found');
    requireMatch(headers['If-Match'], renderBudgetEtag(stored));
    deleteBudgetRow(tx, key);
    const before = presentBudget(stored, now);
    return { events: [buildBudgetEvent('budget-deleted', { ...stored, project_id: projectId }, { before })] };
  });
}
