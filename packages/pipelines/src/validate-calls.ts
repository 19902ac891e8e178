/** Pipelines that call others. */
import { sharedUseLimit } from './bounds.ts';
import type { Finding, Project, Report } from './finding.ts';
import { topologicalOrder } from './graph.ts';
import { ParameterError } from './parameters.ts';
import {
  type Orchestration,
  type OrchestrationComponent,
  type Pipeline,
  type PipelineType,
  type Plain,
  type PlainMap,
  pipelinePath,
} from './pipeline.ts';
import { sharedPipelineType, sharedPipelineUse, sharedUsesBeyond } from './shared-pipeline-use.ts';
import { cells, checkVariable } from './validate-variables.ts';

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

export function checkCall(
  component: OrchestrationComponent,
  orchestration: Orchestration,
  project: Project,
  report: Report,
): void {
  const path = calledPath(component);
  if (path === undefined) return;
  const called = project.pipelines.get(path);
  if (called === undefined) {
    const message = `the pipeline ${path} is not in the project, or cannot be read: add it, or correct the name`;
    report({ component: component.name, code: 'missing-pipeline', message, level: 'error' });
    return;
  }
  const grids = component.parameters.setGridVariables;
  const gridNames = Array.isArray(grids)
    ? grids.flatMap((each: Plain) => {
        const variable = (each as PlainMap | null)?.variable;
        return typeof variable === 'string' ? [variable] : [];
      })
    : [];
  for (const name of [...cells(component.parameters.setScalarVariables, 0), ...gridNames]) {
    const declared = called.variables.get(name);
    if (declared === undefined) checkVariable(component.name, name, called, project, report);
    else if (declared.visibility === 'PRIVATE') {
      const message = `"${name}" is PRIVATE in ${path} and cannot be set from ${orchestration.path}: make it PUBLIC`;
      report({ component: component.name, code: 'private-variable', message, level: 'error' });
    }
  }
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

/** A pipeline that calls itself, over others or not, is bounded when it runs; a condition may end it, so this is a warning. */
export function callCycles(pipelines: ReadonlyMap<string, Pipeline>): Finding[] {
  const callees = new Map<string, { sources: string[] }>();
  for (const { path, type, components } of pipelines.values()) {
    const called = type === 'orchestration' ? [...components.values()].map(calledPath) : [];
    callees.set(path, { sources: called.filter((each) => each !== undefined) });
  }
  const findings: Finding[] = [];
  for (;;) {
    const { cycle } = topologicalOrder(callees);
    if (cycle === undefined) return findings;
    const [path = '', next = ''] = cycle;
    const message = `the pipeline calls itself: ${cycle.join(' → ')}; make sure that a condition ends it`;
    findings.push({ path, code: 'pipeline-calls-itself', message, level: 'warning' });
    // The call is reported: without it the next cycle, if any, is found.
    callees.set(path, { sources: (callees.get(path)?.sources ?? []).filter((each) => each !== next) });
  }
}
