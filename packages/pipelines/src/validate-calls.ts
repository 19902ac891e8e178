/** Pipelines that call others. */
import { callCycleLimit, sharedUseLimit } from './bounds.ts';
import type { Finding, Notes, Report } from './finding.ts';
import { topologicalOrder } from './graph.ts';
import { ParameterError } from './parameters.ts';
import {
  type Orchestration,
  type OrchestrationComponent,
  type PipelineType,
  type Plain,
  type PlainMap,
  pipelinePath,
} from './pipeline.ts';
import { sharedPipelineType, sharedPipelineUse, sharedUsesBeyond } from './shared-pipeline-use.ts';
import { cells } from './validate-variables.ts';

const calls: Readonly<Record<string, { parameter: string; type: PipelineType }>> = {
  'run-orchestration': { parameter: 'orchestrationJob', type: 'orchestration' },
  'run-transformation': { parameter: 'transformationJob', type: 'transformation' },
};

/** The path of the pipeline that a component calls; undefined when it calls none, or its name is an expression. */
function calledPath(component: OrchestrationComponent): string | undefined {
  const call = Object.hasOwn(calls, component.type) ? calls[component.type] : undefined;
  const name = call && component.parameters[call.parameter];
  if (call === undefined || typeof name !== 'string' || name === '' || name.includes('${')) return undefined;
  return pipelinePath(name, call.type);
}

/** Whether the called pipeline is there, and has the variables that are set, is asked of the project. */
export function checkCall(component: OrchestrationComponent, notes: Notes): void {
  const path = calledPath(component);
  if (path === undefined) return;
  const grids = component.parameters.setGridVariables;
  const gridNames = Array.isArray(grids)
    ? grids.flatMap((each: Plain) => {
        const variable = (each as PlainMap | null)?.variable;
        return typeof variable === 'string' ? [variable] : [];
      })
    : [];
  const sets = [...cells(component.parameters.setScalarVariables, 0), ...gridNames];
  notes.ask({ asks: 'call', component: component.name, path, sets });
}

/** Which shared pipelines there are is known when an execution starts; here only what no start could make sense of. */
export function checkSharedCalls(orchestration: Orchestration, report: Report): void {
  for (const component of orchestration.components.values()) checkSharedCall(component, report);
  const beyond = sharedUsesBeyond(orchestration);
  if (beyond === 0) return;
  const message = `the pipeline uses ${sharedUseLimit + beyond} versions of shared pipelines, and an execution uses at most ${sharedUseLimit}: split it`;
  report({ code: 'shared-pipeline-use', message, level: 'error' });
}

function checkSharedCall({ name, type, parameters }: OrchestrationComponent, report: Report): void {
  if (type !== sharedPipelineType) return;
  // That it is missing is told of every required parameter.
  if ((parameters.sharedPipelineIdPrefix ?? '') === '') return;
  try {
    sharedPipelineUse(parameters);
  } catch (error) {
    if (!(error instanceof ParameterError)) throw error;
    report({ component: name, code: 'shared-pipeline-use', message: error.message, level: 'error' });
  }
}

/**
 * A pipeline that calls itself, over others or not, is bounded when it runs; a condition may end it, so this is a warning.
 *
 * @param callees by the path of each pipeline, the paths of those that it calls
 */
export function callCycles(callees: Map<string, { sources: readonly string[] }>): Finding[] {
  const findings: Finding[] = [];
  for (;;) {
    const { cycle } = topologicalOrder(callees);
    if (cycle === undefined) return findings;
    const [path = '', next = ''] = cycle;
    const more = findings.length === callCycleLimit;
    const message = more
      ? `there are more than ${callCycleLimit} circles of pipelines that call themselves: break those that are told first`
      : `the pipeline calls itself: ${cycle.join(' → ')}; make sure that a condition ends it`;
    findings.push({ path, code: 'pipeline-calls-itself', message, level: 'warning' });
    if (more) return findings;
    // The call is reported: without it the next cycle, if any, is found.
    callees.set(path, { sources: (callees.get(path)?.sources ?? []).filter((each) => each !== next) });
  }
}
