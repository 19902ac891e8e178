/** The explanation of access adds no problems and no events. */
import type { Outcomes } from '../outcomes/sum-of-outcomes.ts';

export const accessOutcomes = { events: [], problems: {} } as const satisfies Outcomes;
