/** How components end, and which of their transitions are taken then. */
import type { TransitionKind } from './pipeline.ts';

/** How a component ended. TRUE and FALSE are `if`'s; SKIPPED passes on as succeeded. */
export type ComponentEnd = 'SUCCESS' | 'FAILED' | 'SKIPPED' | 'TRUE' | 'FALSE';

/** The kinds of transitions that are taken after an end. */
export const takenKinds: Readonly<Record<ComponentEnd, readonly TransitionKind[]>> = {
  SUCCESS: ['success', 'unconditional'],
  SKIPPED: ['success', 'unconditional'],
  FAILED: ['failure', 'unconditional'],
  TRUE: ['true', 'success', 'unconditional'],
  FALSE: ['false', 'success', 'unconditional'],
};
