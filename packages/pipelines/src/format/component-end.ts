/** How components end, and which transitions are taken after each end. */
import { type OrchestrationComponent, type TransitionKind, transitionKinds } from './pipeline.ts';

/**
 * How a component ended. TRUE and FALSE belong to `if`. After SKIPPED the walk continues as after SUCCESS.
 */
export type ComponentEnd = 'SUCCESS' | 'FAILED' | 'SKIPPED' | 'TRUE' | 'FALSE';

/** The kinds of transitions taken after each end. */
export const takenKinds: Readonly<Record<ComponentEnd, readonly TransitionKind[]>> = {
  SUCCESS: ['success', 'unconditional'],
  SKIPPED: ['success', 'unconditional'],
  FAILED: ['failure', 'unconditional'],
  TRUE: ['true', 'success', 'unconditional'],
  FALSE: ['false', 'success', 'unconditional'],
};

type Ending = Pick<OrchestrationComponent, 'type' | 'skipped'>;

/** The ends after which the walk may continue. Nothing runs after an `end-success` or `end-failure`. */
export function listEnds({ type, skipped }: Ending): readonly ComponentEnd[] {
  if (skipped) return ['SKIPPED'];
  if (type === 'end-success' || type === 'end-failure') return [];
  return type === 'if' ? ['TRUE', 'FALSE', 'FAILED'] : ['SUCCESS', 'FAILED'];
}

/** The kinds of transitions that the component can take. */
export function listTakenKinds(component: Ending): readonly TransitionKind[] {
  const taken = new Set(listEnds(component).flatMap((end) => takenKinds[end]));
  return transitionKinds.filter((kind) => taken.has(kind));
}

/** The components to which this end leads. */
export function listTargets(
  { transitions }: Pick<OrchestrationComponent, 'transitions'>,
  end: ComponentEnd,
): string[] {
  return [...new Set(takenKinds[end].flatMap((kind) => transitions[kind]))];
}
