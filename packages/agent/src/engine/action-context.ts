/** What an action is carried out with, and how it ends. */
import type { Evaluation, OrchestrationComponent } from '@headgate/pipelines';
import type { PipelineRun } from './run-context.ts';
import type { RunningStep } from './step.ts';

/** How an action ended; `fromChild` marks a message that already names its pipeline and component. */
export interface ActionResult {
  status: 'SUCCESS' | 'FAILED' | 'CANCELLED';
  message?: string;
  rowCount?: number;
  /** Of an `if`. */
  branch?: boolean;
  fromChild?: boolean;
}

/** Runs a component of the same pipeline in a scope of its own: what iterators do with their target. */
export type RunTarget = (target: string, evaluation: Evaluation) => Promise<ActionResult>;

export interface ActionContext {
  readonly run: PipelineRun;
  readonly component: OrchestrationComponent;
  readonly step: RunningStep;
  readonly evaluation: Evaluation;
  readonly runTarget: RunTarget;
}
