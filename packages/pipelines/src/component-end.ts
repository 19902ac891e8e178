/** How components end, and which of their transitions are taken then. */
import { type OrchestrationComponent, type TransitionKind, transitionKinds } from './pipeline.ts';

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

type Ending = Pick<OrchestrationComponent, 'type' | 'skipped'>;

/** The ends of a component after which the walk may go on. Nothing runs after an `end-success` or `end-failure`. */
export function endsOf({ type, skipped }: Ending): readonly ComponentEnd[] {
  if (skipped) return ['SKIPPED'];
  if (type === 'end-success' || type === 'end-failure') return [];
  return type === 'if' ? ['TRUE', 'FALSE', 'FAILED'] : ['SUCCESS', 'FAILED'];
}

/** The kinds of transitions that the component can take. */
export function takenKindsOf(component: Ending): readonly TransitionKind[] {
  const taken = new Set(endsOf(component).flatMap((end) => takenKinds[end]));
  return transitionKinds.filter((kind) => taken.has(kind));
}
