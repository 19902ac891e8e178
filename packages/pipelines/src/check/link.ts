/** Answers the questions in the outlines of single files, using the outlines of all files. */

import { connectorProfilePath } from '../connectors/profile-file.ts';
import { findingMessageLimit } from '../format/bounds.ts';
import { createSuggestions, type Suggestions } from '../format/nearest.ts';
import { isMisnamedPipeline, pipelineNameOf, pipelinePath, pipelineTypeOf } from '../format/pipeline.ts';
import {
  type CallArgument,
  createUnreadableFinding,
  type Finding,
  type Question,
  type Unreadable,
} from '../validate/finding.ts';
import { type CallEdge, findCallCycles } from '../validate/validate-calls.ts';
import { findEmbeddedOnly } from './embedded-only.ts';
import {
  type EndpointFault,
  type EndpointQuestion,
  type KnownProfiles,
  listEndpointFaults,
  listKeySecrets,
  type ProfileOutline,
} from './link-endpoints.ts';
import type { PipelineOutline } from './outline.ts';

/** The names that a project, or a group of shared pipelines, defines. */
export interface ProjectNames {
  /** Its name in messages; default: "the project". */
  title?: string;
  variables: ReadonlySet<string>;
  /** Undefined if they are not known here; the run reports unknown ones. */
  secretReferences: ReadonlySet<string> | undefined;
  /** Paths of all files, including pipelines. */
  files: ReadonlySet<string>;
  /** Connector profiles, by path. Absent: they are not known here, and the run reports what is missing. */
  profiles?: ReadonlyMap<string, ProfileOutline>;
  /** Absent: it is not known here, and the run reports what it does not support. */
  warehouse?: string;
  /** Pipeline files that cannot be read, by path, with the reason. */
  unreadable?: ReadonlyMap<string, Unreadable>;
}

export type SharedCall = Extract<Question, { asks: 'shared-call' }>;
export type ReportFinding = (finding: Finding) => void;

/** Names of variables that are used but not declared in the same pipeline. The project may declare them. */
export function listAskedVariables(outlines: Iterable<PipelineOutline>): Set<string> {
  const names = new Set<string>();
  for (const { notes } of outlines) {
    for (const note of notes) {
      if (!('asks' in note)) continue;
      if (note.asks === 'variable') names.add(note.name);
      if ('sets' in note) for (const { name } of note.sets) names.add(name);
    }
  }
  return names;
}

/** Names of secret references used by pipelines. */
export function listAskedSecrets(
  outlines: Iterable<PipelineOutline>,
  profiles: KnownProfiles = { files: new Set() },
): Set<string> {
  const names = new Set<string>();
  for (const { notes } of outlines) {
    for (const note of notes) {
      if (!('asks' in note)) continue;
      if (note.asks === 'secret') names.add(note.name);
      if (note.asks === 'endpoint') for (const name of listKeySecrets(note, profiles)) names.add(name);
    }
  }
  return names;
}

/**
 * Reports all findings of a project: first the files that cannot be read, then the findings of each file in
 * the given order, then findings about several files.
 */
export function linkProject(
  outlines: readonly PipelineOutline[],
  known: ProjectNames,
  report: ReportFinding,
): void {
  const answers = createAnswers(outlines, known, report);
  for (const [path, reason] of known.unreadable ?? []) answers.report(createUnreadableFinding(path, reason));
  for (const outline of outlines) {
    answers.reportFile(outline);
    for (const finding of findEmbeddedOnly(outline, known.warehouse))
      answers.report({ ...finding, level: 'warning' });
  }
  for (const path of known.files) if (isMisnamedPipeline(path)) answers.report(createMisnamedFinding(path));
  const calls = new Map(outlines.map((outline) => [outline.path, listCalls(outline)]));
  for (const finding of findCallCycles(calls)) answers.report(finding);
}

function createMisnamedFinding(path: string): Finding {
  const message =
    'the file is not read as a pipeline: rename it so that its name ends in .orch.yaml or .tran.yaml';
  return { path, line: 1, code: 'pipeline-file-name', message, level: 'warning' };
}

export interface Answers {
  /** Cuts long messages. */
  report: ReportFinding;
  suggest: Suggestions;
  /** Reports the findings of one file and the answers to its questions. */
  reportFile(outline: PipelineOutline): void;
  /**
   * Reports faults in a call of one of these pipelines.
   *
   * @param place the calling component
   * @param report receives the findings if the caller is in another artifact
   */
  reportCall(place: CallPlace, path: string, sets: readonly CallArgument[], report?: ReportFinding): void;
}

export interface CallPlace {
  path: string;
  line: number;
  component?: string;
  reached: boolean;
}

/**
 * Answers questions about the files of one artifact.
 *
 * @param outlines the checked pipelines of the artifact
 * @param suggest shared by all artifacts of one check, so that its limits hold for the whole check
 */
export function createAnswers(
  outlines: readonly PipelineOutline[],
  known: ProjectNames,
  tell: ReportFinding,
  suggest = createSuggestions(),
): Answers {
  const byPath = new Map(outlines.map((outline) => [outline.path, outline]));
  const declarations = createDeclarationLookup(byPath);
  const reportHere: ReportFinding = (finding) =>
    tell({ ...finding, message: finding.message.slice(0, findingMessageLimit) });

  function reportCall(
    place: CallPlace,
    called: string,
    sets: readonly CallArgument[],
    report = reportHere,
  ): void {
    const declared = declarations(called);
    const { reached, ...where } = place;
    const level = reached ? 'error' : 'warning';
    if (declared === undefined) {
      const message = describeMissingPipeline(called, known, suggest);
      report({ ...where, code: 'missing-pipeline', message, level });
      return;
    }
    for (const { name, as } of sets) {
      const variable = declared.get(name);
      if (variable === undefined) reportVariable(place, name, () => declared.keys(), report);
      else if (variable.visibility === 'PRIVATE') {
        const message = `the variable "${name}" is PRIVATE in ${called} and cannot be set from ${place.path}: make it PUBLIC`;
        report({ ...where, code: 'private-variable', message, level });
      } else if ((variable.type === 'GRID') !== (as === 'grid')) {
        const message = `the variable "${name}" is ${variable.type} in ${called}: set it with ${as === 'grid' ? 'setScalarVariables' : 'setGridVariables'}`;
        report({ ...where, code: 'variable-type', message, level });
      }
    }
  }

  function reportVariable(
    place: CallPlace,
    name: string,
    declared: () => Iterable<string>,
    report = reportHere,
  ): void {
    if (known.variables.has(name)) return;
    const { reached, ...where } = place;
    const remedy = suggest(
      name,
      () => [...declared(), ...known.variables],
      'declare it in the pipeline or in the project',
    );
    const message = `the variable "${name}" is not declared: ${remedy}`;
    report({ ...where, code: 'undeclared-variable', message, level: reached ? 'error' : 'warning' });
  }

  const findCalledPath = ({ path, orPath }: { path: string; orPath?: string }): string =>
    orPath !== undefined && !byPath.has(path) && byPath.has(orPath) ? orPath : path;

  function answerQuestion(path: string, note: Question, own: () => Iterable<string>): void {
    const { line, component, reached } = note;
    const place = { path, line, ...(component === undefined ? {} : { component }), reached };
    if (note.asks === 'variable') reportVariable(place, note.name, own);
    else if (note.asks === 'secret') reportSecret(place, note.name, known, reportHere);
    else if (note.asks === 'file') reportMissingFile(place, note.path, known, reportHere);
    else if (note.asks === 'endpoint') reportEndpoint(place, note, known, suggest, reportHere);
    else if (note.asks === 'call') reportCall(place, findCalledPath(note), note.sets);
    // Calls of shared pipelines are checked when a run starts, since only then their versions are known
    // (check-run.ts).
  }

  return {
    report: reportHere,
    suggest,
    reportCall,
    reportFile({ path, notes, variables, beyond }) {
      const own = () => variables.map(({ name }) => name);
      for (const note of notes) {
        if ('asks' in note) answerQuestion(path, note, own);
        else reportHere({ path, ...note });
      }
      if (beyond === 0) return;
      const message = `${beyond} more findings or names to look up are not listed: correct the reported ones first, or split the pipeline`;
      reportHere({ path, line: 1, code: 'more-findings', message, level: 'warning' });
    },
  };
}

/** The calls that a run of the pipeline can make. */
export function listCalls({ notes }: PipelineOutline): CallEdge[] {
  return notes.flatMap((note) => {
    if (!('asks' in note) || note.asks !== 'call' || !note.reached) return [];
    const edge = { component: note.component ?? '', line: note.line, certain: note.certain };
    return [note.path, ...(note.orPath === undefined ? [] : [note.orPath])].map((to) => ({ to, ...edge }));
  });
}

function describeMissingPipeline(called: string, known: ProjectNames, suggest: Suggestions): string {
  const unreadable = known.unreadable?.get(called);
  if (unreadable !== undefined)
    return `the called pipeline ${called} cannot be read: ${unreadable.reason}: correct that file`;
  const type = pipelineTypeOf(called) ?? 'orchestration';
  const other = type === 'orchestration' ? 'transformation' : 'orchestration';
  const otherPath = pipelinePath(called, other);
  if (known.files.has(otherPath) || known.unreadable?.has(otherPath) === true)
    return `${otherPath} is ${other === 'orchestration' ? 'an orchestration' : 'a transformation'}: use run-${other}`;
  const names = () => [...known.files].filter((path) => pipelineTypeOf(path) === type).map(pipelineNameOf);
  const withExtension = (name: string) => pipelinePath(name, type);
  const remedy = suggest(pipelineNameOf(called), names, 'add it or correct the name', withExtension);
  return `the pipeline ${called} is not in ${getTitle(known)}: ${remedy}`;
}

const getTitle = ({ title = 'the project' }: ProjectNames) => title;

function reportSecret(
  { reached: _, ...where }: CallPlace,
  name: string,
  known: ProjectNames,
  report: ReportFinding,
): void {
  if (known.secretReferences?.has(name) !== false) return;
  const message = `the project has no secret reference "${name}": create it or correct the name`;
  report({ ...where, code: 'unknown-secret-reference', message, level: 'warning' });
}

/** A connection that does not fit is a warning: the run reads its secrets and values first. */
function reportEndpoint(
  place: CallPlace,
  question: EndpointQuestion,
  known: ProjectNames,
  suggest: Suggestions,
  report: ReportFinding,
): void {
  if (known.profiles === undefined) return;
  // It has an error of its own.
  if (known.unreadable?.has(connectorProfilePath(question.profile)) === true) return;
  const { reached, ...where } = place;
  for (const name of listKeySecrets(question, known)) reportSecret(place, name, known, report);
  for (const fault of listEndpointFaults(question, known, getTitle(known), suggest))
    report({ ...where, ...fault, level: reached && isMissing(fault) ? 'error' : 'warning' });
}

const isMissing = ({ code }: EndpointFault) =>
  code === 'missing-connector-profile' || code === 'missing-connector-endpoint';

function reportMissingFile(
  { reached: _, ...where }: CallPlace,
  file: string,
  known: ProjectNames,
  report: ReportFinding,
): void {
  if (known.files.has(file)) return;
  const message = `the file "${file}" is not in ${getTitle(known)}: add it, correct the name, or make sure that the agent's files folder has it`;
  report({ ...where, code: 'missing-file', message, level: 'warning' });
}

/** The variables that a pipeline declares. They are indexed only for called pipelines. */
function createDeclarationLookup(byPath: ReadonlyMap<string, PipelineOutline>) {
  type Declared = ReadonlyMap<string, PipelineOutline['variables'][number]>;
  const found = new Map<string, Declared>();
  return (path: string): Declared | undefined => {
    const outline = byPath.get(path);
    if (outline === undefined) return undefined;
    const declared =
      found.get(path) ?? new Map(outline.variables.map((variable) => [variable.name, variable]));
    found.set(path, declared);
    return declared;
  };
}
