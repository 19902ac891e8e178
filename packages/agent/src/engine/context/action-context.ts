/** The context of an action and its result. */
import type { OpenComponent } from '@headgate/contract';
import type { Evaluation, OrchestrationComponent, VariableScope } from '@headgate/pipelines';
import type { PipelineRun } from './run-context.ts';
import type { RunningStep, StepPlace } from './step.ts';

/** How an action ended. `fromChild`: the message already names its pipeline and component. */
export interface ActionResult {
  status: 'SUCCESS' | 'FAILED' | 'CANCELLED';
  message?: string;
  rowCount?: number;
  /** The result of an `if`. */
  branch?: boolean;
  fromChild?: boolean;
  /** Another attempt would fail in the same way. */
  isPermanent?: true;
  /** The variables of the called pipeline at its end. */
  childScope?: VariableScope;
}

/** A component or an iteration that was under way when the restarted execution ended. */
export type RestartedComponent = Pick<OpenComponent, 'run' | 'iterations' | 'partial'>;

/**
 * Runs a component of the same pipeline in its own scope. Iterators run their target with it. `isConcurrent`: others
 * run at the same time.
 */
export type RunTarget = (
  target: string,
  evaluation: Evaluation,
  place: StepPlace & { readonly isConcurrent?: boolean },
  restarted?: RestartedComponent,
) => Promise<ActionResult>;

export interface ActionContext {
  readonly run: PipelineRun;
  readonly component: OrchestrationComponent;
  readonly step: RunningStep;
  readonly evaluation: Evaluation;
  readonly runTarget: RunTarget;
  /** What the component has done before, in a restarted run; absent: it starts from its beginning. */
  readonly restarted?: RestartedComponent;
}
