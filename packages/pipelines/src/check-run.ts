/**
 * The check of a whole run before its first step: the pipeline that starts and all that it can come to, those
 * of shared pipelines too.
 *
 * A pipeline whose name is an expression is not known yet; it is checked when the run comes to it.
 */
import { findingMessageLimit } from './bounds.ts';
import { type Finding, type Question, type Unreadable, unreadableFinding } from './finding.ts';
import {
  type Answers,
  type CallPlace,
  callsOf,
  createAnswers,
  type ReportFinding,
  type SharedCall,
} from './link.ts';
import { createSuggestions, type Suggestions } from './nearest.ts';
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
  readonly unreadable: ReadonlyMap<string, Unreadable>;
  /** Undefined when there is no such file. */
  outline(path: string): Promise<PipelineOutline | Unreadable | undefined>;
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
  /** Whether a check of the same run has found no error in the pipeline and in all that it calls. */
  isSound(artifact: CheckedArtifact, path: string): boolean;
  /** Called after each pipeline, so that a long check does not block its process. */
  nextTurn(): Promise<void>;
}

/** Errors that a check keeps; the others are counted. */
const errorLimit = 100;

/** The warehouses in which this version runs pipelines. */
export const supportedWarehouses: readonly string[] = ['DUCKDB'];

export interface RunCheck {
  /** Those of the pipeline that starts come first. */
  readonly errors: readonly Finding[];
  readonly errorsTotal: number;
  readonly checked: readonly CheckedPipeline[];
}

/** `path`: of a pipeline of `artifact`. The work is linear in the size of what is reached. */
export async function checkRun(artifact: CheckedArtifact, path: string, names: RunNames): Promise<RunCheck> {
  const reached = await gather({ artifact, path }, names);
  const errors: Finding[] = [];
  let errorsTotal = 0;
  const tell: ReportFinding = (finding) => {
    if (finding.level !== 'error') return;
    errorsTotal += 1;
    const message = finding.message.slice(0, findingMessageLimit);
    if (errors.length < errorLimit) errors.push({ ...finding, message });
  };
  const suggest = createSuggestions();
  const run: Run = { names, reached, answers: new Map() };
  for (const [each, pipelines] of reached)
    run.answers.set(each, answersOf(each, pipelines, names, tell, suggest));
  const unreadable = reached.get(artifact)?.unreadable.get(path);
  if (unreadable !== undefined) run.answers.get(artifact)?.report(unreadableFinding(path, unreadable));
  const calls = new Map<string, CallEdge[]>();
  const checked: CheckedPipeline[] = [];
  for (const [each, { outlines }] of reached) {
    for (const outline of outlines.values()) {
      if (names.isSound(each, outline.path)) continue;
      calls.set(`${each.prefix}${outline.path}`, checkOutline(outline, each, run));
      checked.push({ artifact: each, path: outline.path });
      await names.nextTurn();
    }
  }
  for (const finding of callCycles(calls)) tell(finding);
  return { errors, errorsTotal, checked };
}

/** The pipelines of an artifact that can be reached. */
interface Reached {
  readonly outlines: Map<string, PipelineOutline>;
  readonly unreadable: Map<string, Unreadable>;
}

interface Run {
  readonly names: RunNames;
  readonly reached: ReadonlyMap<CheckedArtifact, Reached>;
  /** One for each artifact: looking up names again for each call would cost calls times pipelines. */
  readonly answers: Map<CheckedArtifact, Answers>;
}

interface CheckedPipeline {
  artifact: CheckedArtifact;
  path: string;
}

function answersOf(
  { prefix, title, paths }: CheckedArtifact,
  { outlines, unreadable }: Reached,
  { variables }: RunNames,
  tell: ReportFinding,
  suggest: Suggestions,
): Answers {
  const files = new Set(paths);
  const known = { variables, secretReferences: undefined, files, unreadable };
  return createAnswers(
    [...outlines.values()],
    prefix === '' ? known : { ...known, title },
    (finding) => tell({ ...finding, path: `${prefix}${finding.path}` }),
    suggest,
  );
}

/** Answers the calls of the pipeline. */
function checkOutline(outline: PipelineOutline, artifact: CheckedArtifact, run: Run): CallEdge[] {
  const answers = run.answers.get(artifact);
  if (answers === undefined) return [];
  answers.reportFile(outline);
  reportWarehouse(outline, run.names, answers);
  const edges = callsOf(outline).map((edge) => ({ ...edge, to: `${artifact.prefix}${edge.to}` }));
  for (const note of reachedOf(outline)) {
    if (note.asks !== 'shared-call') continue;
    const to = reportSharedCall(outline.path, note, run, answers);
    const { component = '', line, certain } = note;
    if (to !== undefined) edges.push({ to, component, line, certain });
  }
  return edges;
}

/** Reads the pipelines that can be reached, each once. What a sound pipeline calls has been checked with it. */
async function gather(root: CheckedPipeline, names: RunNames): Promise<Map<CheckedArtifact, Reached>> {
  const reached = new Map<CheckedArtifact, Reached & { asked: Set<string> }>();
  const open: CheckedPipeline[] = [root];
  for (const { artifact, path } of open) {
    const known = reached.get(artifact) ?? {
      outlines: new Map(),
      unreadable: new Map(artifact.unreadable),
      asked: new Set(),
    };
    reached.set(artifact, known);
    if (known.asked.has(path)) continue;
    known.asked.add(path);
    const outline = await artifact.outline(path);
    if (outline === undefined) continue;
    if ('reason' in outline) {
      known.unreadable.set(path, outline);
      continue;
    }
    known.outlines.set(path, outline);
    if (names.isSound(artifact, path)) continue;
    for (const note of reachedOf(outline)) {
      if (note.asks === 'call') open.push({ artifact, path: note.path });
      else if (note.asks === 'shared-call') open.push(...sharedPlaces(note, names));
    }
  }
  return reached;
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
  { names, reached: gathered, answers }: Run,
  { report, suggest }: Answers,
): string | undefined {
  const where = { path, line, ...(component === undefined ? {} : { component }) };
  const artifact = versionFor(use, names);
  if ('fault' in artifact) {
    report({ ...where, code: 'missing-shared-pipeline', message: artifact.fault, level: 'error' });
    return undefined;
  }
  if (pipelineName === undefined) return undefined;
  const known = gathered.get(artifact);
  const paths = candidates(pipelineName);
  const called = paths.find(
    (each) => known?.outlines.has(each) === true || known?.unreadable.has(each) === true,
  );
  if (called === undefined) {
    const message = `${artifact.title} holds no pipeline "${pipelineName}": ${remedyFor(pipelineName, artifact, suggest)}`;
    report({ ...where, code: 'missing-shared-pipeline', message, level: 'error' });
    return undefined;
  }
  const place: CallPlace = { ...where, reached };
  answers.get(artifact)?.reportCall(place, called, sets, report);
  return `${artifact.prefix}${called}`;
}

function remedyFor(pipelineName: string, artifact: CheckedArtifact, suggest: Suggestions): string {
  const names = () => {
    const pipelines = artifact.paths.filter((path) => pipelineTypeOf(path) !== undefined);
    return pipelineTypeOf(pipelineName) === undefined ? pipelines.map(pipelineNameOf) : pipelines;
  };
  return suggest(pipelineName, names, 'publish it, or correct the name');
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
