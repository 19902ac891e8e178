/** Problems and events of the Git repository of a project. */
import type { Outcomes } from '../sum-of-outcomes.ts';

export const repositoryOutcomes = { events: [], problems: {} } as const satisfies Outcomes;
