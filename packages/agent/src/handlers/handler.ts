/** Each kind of work has a file with a `Handler`, listed in `registry.ts`. */
import type {
  LogLine,
  RunVariables,
  Step,
  StepLineage,
  TestResult,
  WorkKind,
  WorkOf,
} from '@headgate/contract';
import type { Outcome } from '../session/outbox.ts';

export interface WorkContext {
  /**
   * Reports that the work is about to have effects. Before this, it can be released safely. Resolves once the
   * server has accepted the report; the handler must not have effects earlier, because the server gives work
   * that has not started to another instance when this one falls silent. Rejects if the work is killed.
   */
  reportStarted(): Promise<void>;
  /** @param lineage of a step that has succeeded */
  step(step: Step, lineage?: StepLineage): void;
  /** Reports the result of a test. Only for work that runs tests. */
  tested(result: TestResult): void;
  line(line: Omit<LogLine, 'sequence'>): void;
  variables(variables: RunVariables): void;
  /** Masks all further reports of this work with `mask`, in addition to the masking inside the run. */
  conceal(mask: (text: string) => string): void;
  /** Aborted with a Cancellation when the work should end after its running steps. */
  cancel: AbortSignal;
  /** Aborted when the work must end at once. The handler's result is then ignored. */
  kill: AbortSignal;
}

/** Returns how the work ended. An error ends the work as FAILED with the error's message. */
export type Handler<Kind extends WorkKind = 'pipeline-execution'> = (
  work: WorkOf<Kind>,
  context: WorkContext,
) => Promise<Outcome>;
export type Handlers = { [Kind in WorkKind]: Handler<Kind> };
