/** Checks calls of other pipelines. */

import {
  countUsesBeyondLimit,
  isSharedPipelineUse,
  readSharedPipelineUse,
  sharedPipelineType,
} from '../components/definition/shared-pipeline-use.ts';
import { findCalledName } from '../components/run-pipeline.ts';
import { MissingParameterError, ParameterError } from '../expressions/parameters.ts';
import { callCycleLimit, sharedUseLimit } from '../format/bounds.ts';
import {
  type Orchestration,
  type OrchestrationComponent,
  type PipelineType,
  type Plain,
  type PlainMap,
  pipelinePath,
  pipelineTypeOf,
} from '../format/pipeline.ts';
import { pipelineUnderTestType } from '../format/tested-pipelines.ts';
import { sortTopologically } from '../plan/graph.ts';
import type { Certainty } from '../plan/reach.ts';
import type { CallArgument, Finding, Notes, Report } from './finding.ts';
import { cells } from './validate-variables.ts';

const calls: Readonly<Record<string, { parameter: string; type: PipelineType }>> = {
  'run-orchestration': { parameter: 'orchestrationJob', type: 'orchestration' },
  'run-transformation': { parameter: 'transformationJob', type: 'transformation' },
};

/** Asks the project whether the called pipeline exists and has the variables that the call sets. */
export function checkCall(component: OrchestrationComponent, isCertain: Certainty, notes: Notes): void {
  const { name, type, parameters } = component;
  const sets = listSetVariables(parameters);
  if (type === sharedPipelineType) {
    if (!isSharedPipelineUse(parameters)) return;
    const use = readSharedPipelineUse(parameters);
    const joined = (parameters.sharedPipeline ?? '') === '';
    const called = joined
      ? readJoinedName(parameters.pipelineName)
      : readPlainName(parameters.sharedPipeline);
    const named = called === undefined ? {} : { pipelineName: called };
    const at = ['parameters', joined ? 'pipelineName' : 'sharedPipeline'];
    notes.ask({ asks: 'shared-call', component: name, at, use, ...named, sets, certain: isCertain(name) });
    return;
  }
  if (type === pipelineUnderTestType) {
    askTestedCall(component, sets, isCertain, notes);
    return;
  }
  const call = Object.hasOwn(calls, type) ? calls[type] : undefined;
  const called = call && readPlainName(findCalledName(parameters, call.parameter));
  if (call === undefined || called === undefined) return;
  const at = ['parameters', call.parameter];
  const path = pipelinePath(called, call.type);
  notes.ask({ asks: 'call', component: name, at, path, sets, certain: isCertain(name) });
}

/** The name may omit the extension; then an orchestration is preferred. */
function askTestedCall(
  { name, parameters }: OrchestrationComponent,
  sets: readonly CallArgument[],
  isCertain: Certainty,
  notes: Notes,
): void {
  const called = readPlainName(parameters.pipelineName);
  if (called === undefined) return;
  const type = pipelineTypeOf(called);
  const path = pipelinePath(called, type ?? 'orchestration');
  const other = type === undefined ? { orPath: pipelinePath(called, 'transformation') } : {};
  const at = ['parameters', 'pipelineName'];
  notes.ask({ asks: 'call', component: name, at, path, ...other, sets, certain: isCertain(name) });
}

/** The name in the group. A name without a group is reported by the plan. */
function readJoinedName(joined: Plain | undefined): string | undefined {
  const name = readPlainName(joined);
  return name?.includes('#') === true ? readPlainName(name.slice(name.indexOf('#') + 1).trim()) : undefined;
}

/** A name that is not an expression. */
function readPlainName(name: Plain | undefined): string | undefined {
  return typeof name === 'string' && name !== '' && !name.includes('${') ? name : undefined;
}

function listSetVariables(parameters: PlainMap): CallArgument[] {
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

/** Reports malformed uses. Whether a shared pipeline exists is checked when an execution starts. */
export function checkSharedCalls(orchestration: Orchestration, report: Report): void {
  for (const component of orchestration.components.values()) checkSharedCall(component, report);
  const beyond = countUsesBeyondLimit(orchestration);
  if (beyond === 0) return;
  const message = `the pipeline uses ${sharedUseLimit + beyond} versions of shared pipelines; the limit of an execution is ${sharedUseLimit}: split it`;
  report({ at: ['pipeline', 'components'], code: 'shared-pipeline-use', message, level: 'error' });
}

function checkSharedCall({ name, type, parameters }: OrchestrationComponent, report: Report): void {
  if (type !== sharedPipelineType) return;
  try {
    readSharedPipelineUse(parameters);
  } catch (error) {
    if (!(error instanceof ParameterError)) throw error;
    const at = ['parameters'];
    const code = error instanceof MissingParameterError ? 'missing-parameter' : 'shared-pipeline-use';
    report({ component: name, at, code, message: error.message, level: 'error' });
  }
}

/** Pipelines of one cycle that a message lists. */
const shownCalls = 8;

/** A call from one pipeline to another, with its place in the file. */
export interface CallEdge {
  to: string;
  component: string;
  line: number;
  certain: boolean;
}

/**
 * Finds pipelines that call themselves, directly or through others. If every call is made unless a component
 * fails, the recursion is endless: an error. If a condition may stop it, it is a warning, since a run limits
 * the depth of calls.
 *
 * @param calls the calls of each pipeline, by pipeline name
 */
export function findCallCycles(calls: ReadonlyMap<string, readonly CallEdge[]>): Finding[] {
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
      const { cycle } = sortTopologically(left);
      if (cycle === undefined) break;
      const [path = '', next = ''] = cycle;
      const edges = left.get(path)?.edges ?? [];
      const reported = edges.find((edge) => edge.to === next);
      const { component = '', line = 1 } = reported ?? {};
      const frame = { path, line, component, code: 'pipeline-calls-itself' } as const;
      if (findings.length === callCycleLimit) {
        const message = `there are more than ${callCycleLimit} cycles of calls: break the reported cycles first`;
        return [...findings, { ...frame, message, level: certain ? 'error' : 'warning' }];
      }
      findings.push({ ...frame, ...describeCycle(renderCycle(cycle), certain) });
      // Remove the reported calls, so that the next round finds another cycle.
      const others = edges.filter((edge) => edge.to !== next);
      for (const edge of edges) if (edge.to === next) broken.add(edge);
      left.set(path, { edges: others, sources: others.map((edge) => edge.to) });
    }
  }
  return findings;
}

/** Shortens a long cycle in the middle, so that the message still ends with the remedy. */
function renderCycle(cycle: readonly string[]): string {
  if (cycle.length <= shownCalls) return cycle.join(' → ');
  const last = cycle.slice(-2);
  const first = cycle.slice(0, shownCalls - last.length);
  return [...first, `… ${cycle.length - shownCalls} more …`, ...last].join(' → ');
}

function describeCycle(cycle: string, certain: boolean): Pick<Finding, 'message' | 'level'> {
  if (certain)
    return {
      message: `the pipeline calls itself endlessly: ${cycle}: put the call behind an if`,
      level: 'error',
    };
  return {
    message: `the pipeline calls itself: ${cycle}: make sure that a condition stops the recursion`,
    level: 'warning',
  };
}
