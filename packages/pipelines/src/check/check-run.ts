/**
 * Checks a whole run before its first step: the root pipeline and every pipeline that it can call, including
 * shared pipelines.
 *
 * A pipeline that is named by an expression is checked when the run reaches the call.
 */

import type { SharedPipelineUse } from '../components/definition/shared-pipeline-use.ts';
import { findingMessageLimit } from '../format/bounds.ts';
import { createSuggestions, type Suggestions } from '../format/nearest.ts';
import { pipelineNameOf, pipelinePath, pipelineTypeOf } from '../format/pipeline.ts';
import {
  createUnreadableFinding,
  type Finding,
  type Question,
  type Unreadable,
} from '../validate/finding.ts';
import { type CallEdge, findCallCycles } from '../validate/validate-calls.ts';
import { findEmbeddedOnly } from './embedded-only.ts';
import {
  type Answers,
  type CallPlace,
  createAnswers,
  listCalls,
  type ReportFinding,
  type SharedCall,
} from './link.ts';
import type { ProfileOutline } from './link-endpoints.ts';
import type { PipelineOutline } from './outline.ts';
import type { PlacedExpression } from './pipeline-expressions.ts';

/** The run's artifact, or a version of shared pipelines. */
export interface CheckedArtifact {
  /** Precedes the paths of its pipelines in messages; '' for the run's own artifact. */
  readonly prefix: string;
  /** Its name in messages. */
  readonly title: string;
  readonly paths: readonly string[];
  /** Pipeline files that cannot be read, by path, with the reason. */
  readonly unreadable: ReadonlyMap<string, Unreadable>;
  /** Undefined if the file does not exist. */
  outline(path: string): Promise<PipelineOutline | Unreadable | undefined>;
  /** Its connector profiles that can be read, by path. */
  profiles(): Promise<ReadonlyMap<string, ProfileOutline>>;
  /** The expressions of a pipeline that a run may evaluate. */
  expressions(path: string): Promise<readonly PlacedExpression[]>;
}

export interface RunNames {
  /** Variables of the project. */
  readonly variables: ReadonlySet<string>;
  /** The type of the project's warehouse, such as `DUCKDB`. */
  readonly warehouse: string;
  /** Why nothing can run in it. */
  readonly warehouseFault?: string | undefined;
  /** @throws Error if no version matches; the message gives the reason */
  shared(use: SharedPipelineUse): CheckedArtifact;
  /**
   * Whether an earlier check of the same run found no error in the pipeline and in the pipelines it calls.
   */
  isSound(artifact: CheckedArtifact, path: string): boolean;
  /** Called after each pipeline, so that a long check does not block the event loop. */
  nextTurn(): Promise<void>;
}

/** Errors kept by one check. The rest is counted. */
const errorLimit = 100;

/** The types of warehouse that this version supports. */
export const supportedWarehouses: readonly string[] = ['DUCKDB', 'POSTGRES', 'SNOWFLAKE'];

export interface RunCheck {
  /** Errors of the root pipeline come first. */
  readonly errors: readonly Finding[];
  readonly errorsTotal: number;
  readonly checked: readonly CheckedPipeline[];
}

/** Checks the pipeline at `path` of `artifact`. The time is linear in the size of the reachable pipelines. */
export async function checkRun(artifact: CheckedArtifact, path: string, names: RunNames): Promise<RunCheck> {
  const reached = await gatherReached({ artifact, path }, names);
  const errors: Finding[] = [];
  let errorsTotal = 0;
  const reportError: ReportFinding = (finding) => {
    if (finding.level !== 'error') return;
    errorsTotal += 1;
    const message = finding.message.slice(0, findingMessageLimit);
    if (errors.length < errorLimit) errors.push({ ...finding, message });
  };
  const suggest = createSuggestions();
  const run: Run = { names, reached, answers: new Map() };
  for (const [each, pipelines] of reached)
    run.answers.set(each, await createAnswersOf(each, pipelines, names, reportError, suggest));
  const unreadable = reached.get(artifact)?.unreadable.get(path);
  if (unreadable !== undefined) run.answers.get(artifact)?.report(createUnreadableFinding(path, unreadable));
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
  for (const finding of findCallCycles(calls)) reportError(finding);
  return { errors, errorsTotal, checked };
}

/** The reachable pipelines of an artifact. */
interface Reached {
  readonly outlines: Map<string, PipelineOutline>;
  readonly unreadable: Map<string, Unreadable>;
}

interface Run {
  readonly names: RunNames;
  readonly reached: ReadonlyMap<CheckedArtifact, Reached>;
  /** One for each artifact. Building them for each call would take time proportional to calls × pipelines. */
  readonly answers: Map<CheckedArtifact, Answers>;
}

interface CheckedPipeline {
  artifact: CheckedArtifact;
  path: string;
}

async function createAnswersOf(
  artifact: CheckedArtifact,
  { outlines, unreadable }: Reached,
  { variables }: RunNames,
  tell: ReportFinding,
  suggest: Suggestions,
): Promise<Answers> {
  const { prefix, title, paths } = artifact;
  const files = new Set(paths);
  const asksEndpoint = [...outlines.values()].some((outline) =>
    listReachedQuestions(outline).some(({ asks }) => asks === 'endpoint'),
  );
  const known = {
    variables,
    secretReferences: undefined,
    files,
    unreadable,
    ...(asksEndpoint ? { profiles: await artifact.profiles() } : {}),
  };
  return createAnswers(
    [...outlines.values()],
    prefix === '' ? known : { ...known, title },
    (finding) => tell({ ...finding, path: `${prefix}${finding.path}` }),
    suggest,
  );
}

/** Returns the calls of the pipeline. */
function checkOutline(outline: PipelineOutline, artifact: CheckedArtifact, run: Run): CallEdge[] {
  const answers = run.answers.get(artifact);
  if (answers === undefined) return [];
  answers.reportFile(outline);
  reportWarehouse(outline, run.names, answers);
  const edges = listCalls(outline).map((edge) => ({ ...edge, to: `${artifact.prefix}${edge.to}` }));
  for (const note of listReachedQuestions(outline)) {
    if (note.asks !== 'shared-call') continue;
    const to = reportSharedCall(outline.path, note, run, answers);
    const { component = '', line, certain } = note;
    if (to !== undefined) edges.push({ to, component, line, certain });
  }
  return edges;
}

/** Reads each reachable pipeline once. Calls of a sound pipeline are skipped: they were checked with it. */
async function gatherReached(root: CheckedPipeline, names: RunNames): Promise<Map<CheckedArtifact, Reached>> {
  const reached = new Map<CheckedArtifact, Reached & { checkedPaths: Set<string> }>();
  const open: CheckedPipeline[] = [root];
  for (const { artifact, path } of open) {
    const known = reached.get(artifact) ?? {
      outlines: new Map(),
      unreadable: new Map(artifact.unreadable),
      checkedPaths: new Set(),
    };
    reached.set(artifact, known);
    if (known.checkedPaths.has(path)) continue;
    known.checkedPaths.add(path);
    const outline = await artifact.outline(path);
    if (outline === undefined) continue;
    if ('reason' in outline) {
      known.unreadable.set(path, outline);
      continue;
    }
    known.outlines.set(path, outline);
    if (names.isSound(artifact, path)) continue;
    for (const note of listReachedQuestions(outline)) {
      if (note.asks === 'call') open.push(...listCalledPaths(note).map((each) => ({ artifact, path: each })));
      else if (note.asks === 'shared-call') open.push(...findSharedCalled(note, names));
    }
  }
  return reached;
}

function listCalledPaths({ path, orPath }: { path: string; orPath?: string }): string[] {
  return orPath === undefined ? [path] : [path, orPath];
}

function listReachedQuestions({ notes }: PipelineOutline): Question[] {
  return notes.filter((note): note is Question => 'asks' in note && note.reached);
}

function findSharedCalled({ use, pipelineName }: SharedCall, names: RunNames): CheckedPipeline[] {
  const artifact = findVersion(use, names);
  if ('fault' in artifact || pipelineName === undefined) return [];
  return listCandidatePaths(pipelineName).map((path) => ({ artifact, path }));
}

function findVersion(use: SharedPipelineUse, names: RunNames): CheckedArtifact | { fault: string } {
  try {
    return names.shared(use);
  } catch (error) {
    return { fault: error instanceof Error ? error.message : String(error) };
  }
}

/** The paths that a pipeline's name may refer to; an orchestration comes first. */
export function listCandidatePaths(name: string): string[] {
  const type = pipelineTypeOf(name);
  const types = type === undefined ? (['orchestration', 'transformation'] as const) : [type];
  return types.map((each) => pipelinePath(name, each));
}

/** Returns the called pipeline's path with its artifact's prefix. */
function reportSharedCall(
  path: string,
  { use, pipelineName, sets, line, component, reached }: SharedCall & Question,
  { names, reached: gathered, answers }: Run,
  { report, suggest }: Answers,
): string | undefined {
  const where = { path, line, ...(component === undefined ? {} : { component }) };
  const artifact = findVersion(use, names);
  if ('fault' in artifact) {
    report({ ...where, code: 'missing-shared-pipeline', message: artifact.fault, level: 'error' });
    return undefined;
  }
  if (pipelineName === undefined) return undefined;
  const known = gathered.get(artifact);
  const paths = listCandidatePaths(pipelineName);
  const called = paths.find(
    (each) => known?.outlines.has(each) === true || known?.unreadable.has(each) === true,
  );
  if (called === undefined) {
    const message = `${artifact.title} has no pipeline "${pipelineName}": ${suggestRemedy(pipelineName, artifact, suggest)}`;
    report({ ...where, code: 'missing-shared-pipeline', message, level: 'error' });
    return undefined;
  }
  const place: CallPlace = { ...where, reached };
  answers.get(artifact)?.reportCall(place, called, sets, report);
  return `${artifact.prefix}${called}`;
}

function suggestRemedy(pipelineName: string, artifact: CheckedArtifact, suggest: Suggestions): string {
  const names = () => {
    const pipelines = artifact.paths.filter((path) => pipelineTypeOf(path) !== undefined);
    return pipelineTypeOf(pipelineName) === undefined ? pipelines.map(pipelineNameOf) : pipelines;
  };
  return suggest(pipelineName, names, 'publish it or correct the name');
}

function reportWarehouse(outline: PipelineOutline, names: RunNames, { report }: Answers): void {
  const { path, warehouse: needing } = outline;
  const { warehouse } = names;
  for (const finding of findEmbeddedOnly(outline, warehouse)) report(finding);
  if (needing === undefined) return;
  const isSupported = supportedWarehouses.includes(warehouse);
  if (isSupported && names.warehouseFault === undefined) return;
  const { component, type, line } = needing;
  const message = isSupported
    ? `${type} needs the project's warehouse, ${warehouse}, but ${names.warehouseFault}`
    : `${type} needs a warehouse of type ${supportedWarehouses.join(', ')}, but the project's warehouse is ${warehouse}: run it in a project with a supported warehouse`;
  report({ path, line, component, code: 'warehouse-not-supported', message, level: 'error' });
}

/** `p.orch.yaml, line 7, component "Load": …` */
export function describeFinding({ path, line, component, message }: Finding): string {
  const named = component === undefined ? '' : `, component "${component}"`;
  return `${path}, line ${line}${named}: ${message}`;
}
