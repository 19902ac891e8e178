/** Pipelines that call others. */
import { callCycleLimit, sharedUseLimit } from './bounds.ts';
import type { CallArgument, Finding, Notes, Report } from './finding.ts';
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
import type { Certainty } from './reach.ts';
import { sharedPipelineType, sharedPipelineUse, sharedUsesBeyond } from './shared-pipeline-use.ts';
import { cells } from './validate-variables.ts';

const calls: Readonly<Record<string, { parameter: string; type: PipelineType }>> = {
  'run-orchestration': { parameter: 'orchestrationJob', type: 'orchestration' },
  'run-transformation': { parameter: 'transformationJob', type: 'transformation' },
};

/** Whether the called pipeline is there, and has the variables that are set, is asked of the project. */
export function checkCall(component: OrchestrationComponent, isCertain: Certainty, notes: Notes): void {
  const { name, type, parameters } = component;
  const sets = setBy(parameters);
  if (type === sharedPipelineType) {
    const use = readUse(parameters);
    if (use === undefined) return;
    const called = writtenOut(parameters.sharedPipeline);
    const named = called === undefined ? {} : { pipelineName: called };
    const at = ['parameters', 'sharedPipeline'];
    notes.ask({ asks: 'shared-call', component: name, at, use, ...named, sets, certain: isCertain(name) });
    return;
  }
  const call = Object.hasOwn(calls, type) ? calls[type] : undefined;
  const called = call && writtenOut(parameters[call.parameter]);
  if (call === undefined || called === undefined) return;
  const at = ['parameters', call.parameter];
  const path = pipelinePath(called, call.type);
  notes.ask({ asks: 'call', component: name, at, path, sets, certain: isCertain(name) });
}

/** A name that is no expression. */
function writtenOut(name: Plain | undefined): string | undefined {
  return typeof name === 'string' && name !== '' && !name.includes('${') ? name : undefined;
}

function setBy(parameters: PlainMap): CallArgument[] {
  const { setGridVariables: grids } = parameters;
  const gridNames = Array.isArray(grids)
    ? grids.flatMap((each: Plain) => {
        const variable = (each as PlainMap | null)?.variable;
        return typeof variable === 'string' ? [variable] : [];
      })
    : [];
  return [
    ...cells(parameters.setScalarVariables, 0).map((name) => ({ name, as: 'scalar' as const })),
    ...gridNames.map((name) => ({ name, as: 'grid' as const })),
  ];
}

function readUse(parameters: PlainMap) {
  try {
    return sharedPipelineUse(parameters);
  } catch (error) {
    if (error instanceof ParameterError) return undefined;
    throw error;
  }
}

/**
 * Which shared pipelines there are is known when an execution starts; here only what no start could make
 * sense of.
 */
export function checkSharedCalls(orchestration: Orchestration, report: Report): void {
  for (const component of orchestration.components.values()) checkSharedCall(component, report);
  const beyond = sharedUsesBeyond(orchestration);
  if (beyond === 0) return;
  const message = `the pipeline uses ${sharedUseLimit + beyond} versions of shared pipelines, and an execution uses at most ${sharedUseLimit}: split it`;
  report({ at: ['pipeline', 'components'], code: 'shared-pipeline-use', message, level: 'error' });
}

function checkSharedCall({ name, type, parameters }: OrchestrationComponent, report: Report): void {
  if (type !== sharedPipelineType) return;
  // That it is missing is told of every required parameter.
  if ((parameters.sharedPipelineIdPrefix ?? '') === '') return;
  try {
    sharedPipelineUse(parameters);
  } catch (error) {
    if (!(error instanceof ParameterError)) throw error;
    const at = ['parameters'];
    report({ component: name, at, code: 'shared-pipeline-use', message: error.message, level: 'error' });
  }
}

/** Pipelines of one circle that a message names. */
const shownCalls = 8;

/** A call from one pipeline to another, as it stands in its file. */
export interface CallEdge {
  to: string;
  component: string;
  line: number;
  certain: boolean;
}

/**
 * Pipelines that call themselves, over others or not. Where nothing but a failure keeps the calls from being
 * made, the run would have no end: an error. Else a condition may end it, and the depth of calls is bounded
 * when it runs: a warning.
 *
 * @param calls by the name of each pipeline, its calls
 */
export function callCycles(calls: ReadonlyMap<string, readonly CallEdge[]>): Finding[] {
  const findings: Finding[] = [];
  const broken = new Set<CallEdge>();
  for (const certain of [true, false]) {
    const left = new Map(
      [...calls].map(([path, edges]) => {
        const counted = edges.filter((edge) => (edge.certain || !certain) && !broken.has(edge));
        return [path, { edges: counted, sources: counted.map((edge) => edge.to) }] as const;
      }),
    );
    for (;;) {
      const { cycle } = topologicalOrder(left);
      if (cycle === undefined) break;
      const [path = '', next = ''] = cycle;
      const edges = left.get(path)?.edges ?? [];
      const reported = edges.find((edge) => edge.to === next);
      const { component = '', line = 1 } = reported ?? {};
      const frame = { path, line, component, code: 'pipeline-calls-itself' } as const;
      if (findings.length === callCycleLimit) {
        const message = `there are more than ${callCycleLimit} circles of pipelines that call themselves: break those that are reported first`;
        return [...findings, { ...frame, message, level: certain ? 'error' : 'warning' }];
      }
      findings.push({ ...frame, ...cycleMessage(shownCycle(cycle), certain) });
      // Without the calls that are reported the next cycle, if any, is found.
      const others = edges.filter((edge) => edge.to !== next);
      for (const edge of edges) if (edge.to === next) broken.add(edge);
      left.set(path, { edges: others, sources: others.map((edge) => edge.to) });
    }
  }
  return findings;
}

/** A long circle is cut in its middle, so that its message keeps the remedy. */
function shownCycle(cycle: readonly string[]): string {
  if (cycle.length <= shownCalls) return cycle.join(' → ');
  const last = cycle.slice(-2);
  const first = cycle.slice(0, shownCalls - last.length);
  return [...first, `… ${cycle.length - shownCalls} more …`, ...last].join(' → ');
}

function cycleMessage(cycle: string, certain: boolean): Pick<Finding, 'message' | 'level'> {
  if (certain)
    return {
      message: `the pipeline calls itself without an end: ${cycle}: let an if decide about the call`,
      level: 'error',
    };
  return {
    message: `the pipeline calls itself: ${cycle}; make sure that a condition ends it`,
    level: 'warning',
  };
}
