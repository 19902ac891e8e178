/**
 * The check of a whole run before its first step: the pipeline that starts and all that it can come to, those of shared pipelines too.
 *
 * A pipeline whose name is an expression is not known yet; it is checked when the run comes to it.
 */
import type { Finding, Question } from './finding.ts';
import { type Answers, type CallPlace, callsOf, createAnswers, type SharedCall } from './link.ts';
import { createSuggestions } from './nearest.ts';
import type { PipelineOutline } from './outline.ts';
import { pipelineNameOf, pipelinePath, pipelineTypeOf } from './pipeline.ts';
import type { PlacedExpression } from './pipeline-expressions.ts';
import type { SharedPipelineUse } from './shared-pipeline-use.ts';
import { type CallEdge, callCycles } from './validate-calls.ts';

/** The artifact of the run, or a version of shared pipelines. */
export interface CheckedArtifact {
  /** Stands before the paths of its pipelines in messages; '' for the run's own. */
  readonly prefix: string;
  /** How messages name it. */
  readonly title: string;
  readonly paths: readonly string[];
  /** Why pipeline files were left out of it, by their paths. */
  readonly unreadable: ReadonlyMap<string, string>;
  /** Undefined when there is no such file; `fault` when it cannot be read. */
  outline(path: string): Promise<PipelineOutline | { fault: string } | undefined>;
  /** The expressions of a pipeline that a run may come to. */
  expressions(path: string): Promise<readonly PlacedExpression[]>;
}

export interface RunNames {
  /** Of the project. */
  readonly variables: ReadonlySet<string>;
  /** The kind of the project's warehouse, in the words of the interface. */
  readonly warehouse: string;
  /** @throws Error that says why there is no version for the use */
  shared(use: SharedPipelineUse): CheckedArtifact;
}

/** The warehouses in which this version runs pipelines. */
export const supportedWarehouses: readonly string[] = ['DUCKDB'];

export interface RunCheck {
  /** Those of the pipeline that starts come first. */
  readonly errors: readonly Finding[];
  readonly checked: readonly CheckedPipeline[];
}

/** `path`: of a pipeline of `artifact`. */
export async function checkRun(artifact: CheckedArtifact, path: string, names: RunNames): Promise<RunCheck> {
  const gathered = new Map<CheckedArtifact, Gathered>();
  await gather({ artifact, path }, names, gathered);
  const findings: Finding[] = [];
  const fault = gathered.get(artifact)?.unreadable.get(path);
  if (fault !== undefined) {
    const message = `the pipeline cannot be read: ${fault}: correct the file`;
    const line = Number(/\bline (\d+)/.exec(fault)?.[1] ?? 1);
    findings.push({ path: `${artifact.prefix}${path}`, line, code: 'syntax-error', message, level: 'error' });
  }
  const calls = new Map<string, CallEdge[]>();
  for (const [each, { outlines, unreadable }] of gathered) {
    const report = (finding: Finding) => {
      if (finding.level === 'error') findings.push({ ...finding, path: `${each.prefix}${finding.path}` });
    };
    const known = {
      variables: names.variables,
      secretReferences: undefined,
      files: new Set(each.paths),
      unreadable,
    };
    const answers = createAnswers([...outlines.values()], known, report);
    for (const outline of outlines.values()) {
      answers.reportFile(outline);
      reportWarehouse(outline, names, answers);
      const edges = callsOf(outline).map((edge) => ({ ...edge, to: `${each.prefix}${edge.to}` }));
      for (const note of reachedOf(outline)) {
        if (note.asks !== 'shared-call') continue;
        const to = reportSharedCall(outline.path, note, names, gathered, answers);
        const { component = '', line, certain } = note;
        if (to !== undefined) edges.push({ to, component, line, certain });
      }
      calls.set(`${each.prefix}${outline.path}`, edges);
    }
  }
  findings.push(...callCycles(calls).filter(({ level }) => level === 'error'));
  const checked = [...gathered].flatMap(([each, { outlines }]) =>
    [...outlines.keys()].map((outlined) => ({ artifact: each, path: outlined })),
  );
  return { errors: findings, checked };
}

interface Gathered {
  readonly outlines: Map<string, PipelineOutline>;
  readonly unreadable: Map<string, string>;
}

interface CheckedPipeline {
  artifact: CheckedArtifact;
  path: string;
}

/** Reads the pipelines that can be reached. */
async function gather(
  root: CheckedPipeline,
  names: RunNames,
  gathered: Map<CheckedArtifact, Gathered>,
): Promise<void> {
  const open: CheckedPipeline[] = [root];
  for (const { artifact, path } of open) {
    const known = gathered.get(artifact) ?? { outlines: new Map(), unreadable: new Map(artifact.unreadable) };
    gathered.set(artifact, known);
    if (known.outlines.has(path)) continue;
    const outline = await artifact.outline(path);
    if (outline === undefined) continue;
    if ('fault' in outline) {
      known.unreadable.set(path, outline.fault);
      continue;
    }
    known.outlines.set(path, outline);
    for (const note of reachedOf(outline)) {
      if (note.asks === 'call') open.push({ artifact, path: note.path });
      else if (note.asks === 'shared-call') open.push(...sharedPlaces(note, names));
    }
  }
}

function reachedOf({ notes }: PipelineOutline): Question[] {
  return notes.filter((note): note is Question => 'asks' in note && note.reached);
}

function sharedPlaces({ use, pipelineName }: SharedCall, names: RunNames): CheckedPipeline[] {
  const artifact = versionFor(use, names);
  if ('fault' in artifact || pipelineName === undefined) return [];
  return candidates(pipelineName).map((path) => ({ artifact, path }));
}

function versionFor(use: SharedPipelineUse, names: RunNames): CheckedArtifact | { fault: string } {
  try {
    return names.shared(use);
  } catch (error) {
    return { fault: error instanceof Error ? error.message : String(error) };
  }
}

/** The paths that a pipeline's name may stand for; an orchestration comes first. */
export function candidates(name: string): string[] {
  const type = pipelineTypeOf(name);
  const types = type === undefined ? (['orchestration', 'transformation'] as const) : [type];
  return types.map((each) => pipelinePath(name, each));
}

/** Answers the called pipeline, as messages name it. */
function reportSharedCall(
  path: string,
  { use, pipelineName, sets, line, component, reached }: SharedCall & Question,
  names: RunNames,
  gathered: ReadonlyMap<CheckedArtifact, Gathered>,
  { report }: Answers,
): string | undefined {
  const where = { path, line, ...(component === undefined ? {} : { component }) };
  const artifact = versionFor(use, names);
  if ('fault' in artifact) {
    report({ ...where, code: 'missing-shared-pipeline', message: artifact.fault, level: 'error' });
    return undefined;
  }
  if (pipelineName === undefined) return undefined;
  const { outlines, unreadable } = gathered.get(artifact) ?? { outlines: new Map(), unreadable: new Map() };
  const paths = candidates(pipelineName);
  const called = paths.find((each) => outlines.has(each) || unreadable.has(each));
  if (called === undefined) {
    const message = `${artifact.title} holds no pipeline "${pipelineName}": ${remedyFor(pipelineName, artifact)}`;
    report({ ...where, code: 'missing-shared-pipeline', message, level: 'error' });
    return undefined;
  }
  const known = {
    variables: names.variables,
    secretReferences: undefined,
    files: new Set<string>(),
    unreadable,
  };
  const place: CallPlace = { ...where, reached };
  createAnswers([...outlines.values()], known, report).reportCall(place, called, sets);
  return `${artifact.prefix}${called}`;
}

function remedyFor(pipelineName: string, { paths }: CheckedArtifact): string {
  const pipelines = paths.filter((path) => pipelineTypeOf(path) !== undefined);
  const names = pipelineTypeOf(pipelineName) === undefined ? pipelines.map(pipelineNameOf) : pipelines;
  return createSuggestions()(pipelineName, names, 'publish it, or correct the name');
}

function reportWarehouse(
  { path, warehouse: needing }: PipelineOutline,
  names: RunNames,
  { report }: Answers,
): void {
  const { warehouse } = names;
  if (needing === undefined || supportedWarehouses.includes(warehouse)) return;
  const { component, type, line } = needing;
  const message = `${type} needs the project's warehouse, which is ${warehouse}; this version runs pipelines in ${supportedWarehouses.join(', ')} only: use a project of that warehouse`;
  report({ path, line, component, code: 'warehouse-not-supported', message, level: 'error' });
}

/** `p.orch.yaml, line 7, component "Load": …` */
export function describeFinding({ path, line, component, message }: Finding): string {
  const named = component === undefined ? '' : `, component "${component}"`;
  return `${path}, line ${line}${named}: ${message}`;
}
