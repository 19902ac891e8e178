/** What the steps of a run record for a restart: the order of their ends, and the variables that changed. */
import type { CarriedVariable } from '@headgate/contract';
import { runStepValuesLimit } from '@headgate/contract/without-schemas';
import type { Variable, VariableScope } from '@headgate/pipelines';
import { carryVariable } from './restart-values.ts';

export interface StepRecords {
  /** Ends so far. */
  countEnds(): number;
  /** Numbers an end. */
  addEnd(): number;
  /** Takes the variables of a pipeline as known, when it starts. */
  open(pipelineRunId: string, scope: VariableScope): void;
  /**
   * The variables that changed since the end before.
   *
   * @param scope of the step
   * @param within in an iteration only SHARED variables outlive it; the copies of a branch are not kept
   */
  takeChanges(
    pipelineRunId: string,
    scope: VariableScope,
    within: 'pipeline' | 'branch' | 'iteration',
  ): CarriedVariable[];
}

export function createStepRecords(mask: (text: string) => string): StepRecords {
  let ends = 0;
  let room = runStepValuesLimit;
  const known = new Map<string, Map<string, Variable>>();
  return {
    countEnds: () => ends,
    addEnd: () => ++ends,
    open(pipelineRunId, scope) {
      known.set(pipelineRunId, new Map(scope.all().map((variable) => [variable.name, variable])));
    },
    takeChanges(pipelineRunId, scope, within) {
      const before = known.get(pipelineRunId);
      if (before === undefined) return [];
      return scope.all().flatMap((variable) => {
        const isCopy = within !== 'pipeline' && variable.behaviour !== 'SHARED';
        if (isCopy && within === 'iteration') return [];
        // A variable that is set is another object.
        if (before.get(variable.name) === variable) return [];
        if (isCopy) return [{ name: variable.name, lost: 'branch' }];
        before.set(variable.name, variable);
        const { carried, size } = carryVariable(variable, mask, room);
        room -= size;
        return [carried];
      });
    },
  };
}
