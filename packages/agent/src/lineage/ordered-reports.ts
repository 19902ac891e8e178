/**
 * The reports of a run in their order. The report of a step that has succeeded waits for its lineage, so that both
 * reach the server together, and what came after it waits, too.
 */
import type { Step, StepLineage } from '@headgate/contract';
import type { RunLineage } from './lineage.ts';
import type { RanSql } from './ran-sql.ts';

export interface OrderedReports {
  addStep(step: Step, ran?: RanSql): void;
  add(report: () => void): void;
  /** Resolves when nothing waits. */
  settle(): Promise<void>;
}

export function createOrderedReports(
  send: (step: Step, lineage?: StepLineage) => void,
  lineage: Pick<RunLineage, 'analyze'>,
): OrderedReports {
  let last: Promise<void> | undefined;

  function add(report: () => void): void {
    if (last === undefined) report();
    else follow(async () => report());
  }

  function follow(work: () => Promise<void>): void {
    const mine = (last ?? Promise.resolve()).then(work).then(() => {
      if (last === mine) last = undefined;
    });
    last = mine;
  }

  return {
    add,
    addStep(step, ran) {
      if (ran === undefined) {
        add(() => send(step));
        return;
      }
      // Analyses of concurrent steps run beside each other.
      const analyzed = lineage.analyze(ran);
      follow(async () => send(step, describe(step, await analyzed)));
    },
    async settle() {
      while (last !== undefined) await last;
    },
  };
}

/** Undefined if there is nothing to say. */
function describe(step: Step, found: Awaited<ReturnType<RunLineage['analyze']>>): StepLineage | undefined {
  const { inputs, outputs, gaps } = found;
  if (inputs.length + outputs.length + (gaps?.length ?? 0) === 0) return undefined;
  const { stepId, pipelineRunId, rowCount } = step;
  const written = outputs.filter(({ dropped }) => dropped !== true);
  const isCounted = written.length === 1 && rowCount !== undefined;
  return {
    ...found,
    stepId,
    pipelineRunId,
    outputs: isCounted
      ? outputs.map((output) => (output.dropped === true ? output : { ...output, rowCount }))
      : [...outputs],
  };
}
