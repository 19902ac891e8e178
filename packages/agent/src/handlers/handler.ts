/** A kind of work is one file with one `Handler`, listed in `registry.ts`. */
import type { Step, WorkKind, WorkOf } from '@headgate/contract';
import type { Outcome } from '../session/outbox.ts';

export interface WorkContext {
  /**
   * Says that the work is about to have effects: until then it can be given back unharmed. Settles when the server knows that, and only then
   * may there be any: work of which it knows nothing is given to another claim when this one falls silent. Rejects when the work is killed.
   */
  reportStarted(): Promise<void>;
  step(step: Step): void;
  /** From now on everything that is reported of this work passes through here first: the second line after what the run itself masks. */
  conceal(mask: (text: string) => string): void;
  /** Aborted when the work is to end after what it is doing now. */
  cancel: AbortSignal;
  /** Aborted when the work is to end at once. What the handler returns or throws then does not count. */
  kill: AbortSignal;
}

/** Returns how the work ended; what it throws ends the work as FAILED with the error's message. */
export type Handler<Kind extends WorkKind = 'pipeline-execution'> = (
  work: WorkOf<Kind>,
  context: WorkContext,
) => Promise<Outcome>;
export type Handlers = { [Kind in WorkKind]: Handler<Kind> };
