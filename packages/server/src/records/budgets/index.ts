import type { Slice } from '../../kernel/slice/slice.ts';
import { budgetRoutes } from './budget.routes.ts';

export { notePassedBudgets } from './budget.store.ts';
export {
  type BudgetStop,
  budgetStopType,
  createBudgetProblem,
  monthOf,
  requireBudget,
  requireBudgetOf,
  selectBudgetStop,
} from './budget-stop.ts';

export const budgets: Slice = { name: 'budgets', routes: budgetRoutes };
