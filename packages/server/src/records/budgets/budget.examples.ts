/** A request that succeeds for each operation on budgets. */
import type { Examples, Place } from '../../../testing/place.ts';

const budget = { monthlyCredits: 500, warnAt: 0.8, stopAt: 1.2 };

/** Returns its path. */
async function createBudget({ account, project }: Place): Promise<string> {
  const path = `${project.path}/budget`;
  await account.admin.send('PUT', path, { body: budget });
  return path;
}

export const budgetExamples: Examples = {
  getBudget: async (place) => ({ path: await createBudget(place) }),
  replaceBudget: ({ project }) => ({ path: `${project.path}/budget`, body: budget }),
  deleteBudget: async (place) => ({ path: await createBudget(place) }),
};
